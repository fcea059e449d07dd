"""The proposer's contract: which candidates a round tries, as a pure function of what is known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from dynhp.records import Candidate, Round, Try, Value
from dynhp.spaces import Axis, Space


class Known(NamedTuple):
    """All that a proposer may look at: never a state, never the trainer.

    Attributes:
        space: the hyperparameters and their values.
        current: the values in force.
        history: the rounds so far that had tries, and no others. Look at a few of them, the newest
            say: it may be long, and ``OneAxis`` makes each of them anew for whoever looks. What
            won a round is ``round_.winner.candidate``; with ``then=`` the main line may have gone
            on with other values, ``round_.candidate``, which no try had.
        tries: the tries of this round so far: none when its first wave is asked for.

    >>> from dynhp import Neighbors
    >>> known = Known(space=Space({"lr": [1, 2, 4]}), current=Candidate({"lr": 2}))
    >>> Neighbors().propose(known, np.random.default_rng(0))
    [Candidate(lr=2), Candidate(lr=1), Candidate(lr=4)]
    """

    space: Space
    current: Candidate
    history: Sequence[Round] = ()
    tries: Sequence[Try] = ()


class Waves(NamedTuple):
    """The sizes of a round's waves of candidates, at least and at most; the cost follows.

    They hold wave by wave (one that is not there has size 0), in every round of a run, and a
    larger wave never costs less: so what they cost bounds what a round costs.

    >>> from dynhp import Neighbors
    >>> Neighbors().waves(Space({"lr": [1, 2, 4]}), Candidate({"lr": 2}))
    Waves(least=(2,), most=(3,))
    """

    least: tuple[int, ...]
    most: tuple[int, ...]


@runtime_checkable
class Proposer(Protocol):
    """Says which candidates to try. The value in force comes first, so that ties never move it.

    It may have an attribute ``randomness`` ("common" or "independent") if it only makes sense with
    one of them, and a method ``searched(axis, value)`` that says in words what it searches along an
    axis if that is not its grid, else None: ``print`` shows it.

    >>> from dynhp import DynamicGridAdapter, lowest
    >>> from dynhp.testing import Quadratic
    >>> class AlsoTheLast:  # the value in force, and the last of the grid
    ...     def propose(self, known, rng):
    ...         both = [known.current, known.space.grid()[-1]]
    ...         return [] if known.tries else list(dict.fromkeys(both))
    ...     def waves(self, space, current): return Waves(least=(1,), most=(2,))
    >>> adapter = DynamicGridAdapter(Quadratic(), {"lr": [0.1, 0.2, 0.5]}, criterion=lowest("loss"),
    ...                              adapt_every=2, try_for=1, proposer=AlsoTheLast())
    >>> [len(round_.tries) for round_ in adapter.run(4)]
    [2, 1]
    """

    def propose(self, known: Known, rng: np.random.Generator) -> Sequence[Candidate]:
        """The next wave of candidates, all from the round's origin; empty ends the tries."""
        ...

    def waves(self, space: Space, current: Candidate) -> Waves:
        """How many candidates a round has; raises if the space does not suit."""
        ...


def searched_text(proposer: Proposer, axis: Axis, value: Value) -> str | None:
    """What a proposer searches along an axis from a value on, in words; None: the axis' grid.

    >>> from dynhp import FullGrid
    >>> from dynhp.proposers import Climb
    >>> from dynhp.spaces import Around
    >>> searched_text(Climb(rungs=4), Around(0.1, 2), 0.1)
    'from 0.1 up or down by a factor of 2 at a time, at most 4 rungs each way'
    >>> searched_text(FullGrid(), Around(0.1, 2), 0.1) is None
    True
    """
    inner = getattr(proposer, "along", proposer)  # of OneAxis, which takes the axes in turn
    words = getattr(inner, "searched", None)
    return None if words is None else words(axis, value)
