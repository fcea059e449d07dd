"""The proposer's contract: which candidates a round tries, as a pure function of what is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from dynhp.records import Candidate, Round, Try
from dynhp.spaces import Space

__all__ = ["Known", "Proposer", "Waves"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """All that a proposer may look at: never a state, never the trainer.

    ``tries`` are the tries of this round so far: none when its first wave is asked for.
    """

    space: Space
    current: Candidate
    history: Sequence[Round] = ()
    tries: Sequence[Try] = ()


class Waves(NamedTuple):
    """The sizes of a round's waves of candidates, at least and at most; the cost follows.

    They hold wave by wave (one that is not there has size 0), in every round of a run, and a
    larger wave never costs less: so what they cost bounds what a round costs.
    """

    least: tuple[int, ...]
    most: tuple[int, ...]


@runtime_checkable
class Proposer(Protocol):
    """Says which candidates to try. The value in force comes first, so that ties never move it.

    It may have an attribute ``randomness`` ("common" or "independent") where it only makes sense
    with one of them.
    """

    def propose(self, known: Known, rng: np.random.Generator) -> Sequence[Candidate]:
        """The next wave of candidates, all from the round's origin; empty ends the tries."""
        ...

    def waves(self, space: Space, current: Candidate) -> Waves:
        """How many candidates a round has; raises where the space does not suit."""
        ...
