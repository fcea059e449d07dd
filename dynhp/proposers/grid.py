"""The whole grid in one wave, and what it is compared with: a placebo, and a random draw."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dynhp._checks import require_count
from dynhp.errors import SettingsError, shown
from dynhp.proposers.contract import Known, Waves
from dynhp.records import Candidate
from dynhp.spaces import Space


@dataclass(frozen=True, slots=True)
class FullGrid:
    """All combinations of the grid values, as in the paper; the value in force first.

    >>> known = Known(space=Space({"lr": [1, 2, 4]}), current=Candidate({"lr": 2}))
    >>> FullGrid().propose(known, np.random.default_rng(0))
    [Candidate(lr=2), Candidate(lr=1), Candidate(lr=4)]
    """

    def propose(self, known: Known, rng: np.random.Generator) -> list[Candidate]:
        """The whole grid, in one wave."""
        if known.tries:
            return []
        current = known.current
        return [current, *[each for each in known.space.grid() if each != current]]

    def waves(self, space: Space, current: Candidate) -> Waves:
        """One wave, the size of the grid."""
        size = space.size  # the grid itself is made when it is tried: a large one takes memory
        if any(current[name] not in axis.grid() for name, axis in space.items()):
            raise SettingsError(
                f"FullGrid: the initial value {shown(dict(current))} is not on the grid of "
                f"{shown(space)}; "
                "start from a grid value, or use Neighbors or Interpolation"
            )
        return Waves((size,), (size,))


@dataclass(frozen=True, slots=True)
class Placebo:
    """The value in force, ``k`` times: what merely choosing the luckiest copy is worth.

    >>> known = Known(space=Space({"lr": [1, 2, 4]}), current=Candidate({"lr": 4}))
    >>> Placebo(2).propose(known, np.random.default_rng(0))
    [Candidate(lr=4), Candidate(lr=4)]
    """

    k: int
    randomness: ClassVar[str] = "independent"  # under common random numbers all copies are one

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", require_count("Placebo: k", self.k))

    def propose(self, known: Known, rng: np.random.Generator) -> list[Candidate]:
        """The same candidate again and again."""
        return [] if known.tries else [known.current] * self.k

    def waves(self, space: Space, current: Candidate) -> Waves:
        """One wave of ``k``."""
        return Waves((self.k,), (self.k,))


@dataclass(frozen=True, slots=True)
class Drawn:
    """One candidate drawn at random: with rounds of one epoch this is random search.

    It does not try the value in force: it is there to compare with, not to adapt with.

    >>> from dynhp import Float
    >>> known = Known(space=Space({"ratio": Float(0.1, 0.9)}), current=Candidate({"ratio": 0.5}))
    >>> [round(each["ratio"], 3) for each in Drawn().propose(known, np.random.default_rng(0))]
    [0.61]
    """

    def propose(self, known: Known, rng: np.random.Generator) -> list[Candidate]:
        """One draw."""
        return [] if known.tries else [known.space.draw(rng)]

    def waves(self, space: Space, current: Candidate) -> Waves:
        """One wave of one."""
        return Waves((1,), (1,))
