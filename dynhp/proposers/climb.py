"""A climb along an axis: the value in force and both sides, then on in the better direction."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dynhp._checks import require_count
from dynhp.errors import advise
from dynhp.proposers.contract import Known, Waves
from dynhp.proposers.ladder import require_numbers, sides_of_value
from dynhp.records import Candidate, Value
from dynhp.spaces import Around, Axis, Space

__all__ = ["Climb"]


@dataclass(frozen=True, slots=True)
class Climb:
    """The value in force and its two neighbours, then one step at a time until it gets worse.

    On an axis without ends (``Around``) this is a ladder whose rungs are a factor apart: wherever
    it starts, it comes to the best rung, unless scores rise and fall on the way. A try that fails
    counts as worse. Where all have failed, it goes down. A step that is only as good is not taken.
    Several axes take turns.

    Args:
        rungs: the most steps on one side; where the last of them is the best, a hint says so.

    >>> from dynhp.spaces import Around
    >>> known = Known(space=Space({"lr": Around(0.1)}), current=Candidate({"lr": 0.1}))
    >>> Climb().propose(known, np.random.default_rng(0))
    [Candidate(lr=0.1), Candidate(lr=0.0316228), Candidate(lr=0.316228)]
    """

    rungs: int = 8

    def __post_init__(self) -> None:
        object.__setattr__(self, "rungs", require_count("Climb: rungs", self.rungs))

    def propose(self, known: Known, rng: np.random.Generator) -> list[Candidate]:
        """The first wave has three; each further one has the next step, until that is worse."""
        names = list(known.space)
        name = names[len(known.history) % len(names)]
        down, up = sides_of_value(known.space[name], known.current[name], self.rungs)
        if not known.tries:
            values = [known.current[name], *down[:1], *up[:1]]
            return [known.current.but({name: value}) for value in values]
        best = max(known.tries, key=lambda try_: try_.rank_key)  # the first of equals
        lost = best.rank_key == -math.inf and all(try_.error is not None for try_ in known.tries)
        tried = [try_.candidate[name] for try_ in known.tries]
        side = down if lost or best.candidate[name] in down else up
        steps = [value for value in side if value in tried]
        if not lost and best.candidate[name] not in steps[-1:]:
            return []  # the value in force, or one that the next step was not better than
        if len(steps) < len(side):
            return [known.current.but({name: side[len(steps)]})]
        if not lost:
            advise(
                f"{name} was best at {best.candidate[name]!r}, the last of {len(side)} steps from "
                f"{known.current[name]!r}; start nearer to it, or allow more with Climb(rungs=...)",
                about=(name, best.candidate[name]),
            )
        return []

    def waves(self, space: Space, current: Candidate) -> Waves:
        """Three at most (two at an end of the axis), then one at a time."""
        sides = []
        for name, axis in space.items():
            require_numbers(f"{self!r} goes up and down", name, axis)
            starts = (*axis.grid(), current[name])
            sides += [sides_of_value(axis, value, self.rungs) for value in starts]
        first = [1 + len(down[:1]) + len(up[:1]) for down, up in sides]
        further = max(len(side) for both in sides for side in both) - 1
        return Waves((min(first),), (max(first), *[1] * max(0, further)))

    def searched(self, axis: Axis, value: Value) -> str | None:
        """The start, the factor and the rungs on an axis without ends; elsewhere it is the grid."""
        if not isinstance(axis, Around):
            return None
        rungs = "1 rung" if self.rungs == 1 else f"{self.rungs} rungs"
        return (
            f"from {value} up or down by a factor of {axis.factor:.4g} at a time, at most {rungs} "
            "each way"
        )
