"""A climb along an axis: from the value in force on in the better direction, until worse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dynhp._checks import require_count
from dynhp.errors import advise
from dynhp.proposers.contract import Known, Waves
from dynhp.proposers.ladder import require_numbers, sides_of_value
from dynhp.records import Candidate, Try, Value
from dynhp.spaces import Around, Axis, Space

__all__ = ["Climb"]


@dataclass(frozen=True, slots=True)
class Climb:
    """The value in force and the next higher one, then on in the better direction until worse.

    The next lower one is tried as well, unless two steps up were better, each than the one before:
    a single one may be luck. On an axis without ends (``Around``) this is a ladder whose rungs are
    a factor apart: wherever it starts, it comes to the best rung, unless scores rise and fall on
    the way. A try that fails counts as worse. Where all have failed, it goes down. A step that is
    only as good is not taken. Several axes take turns.

    Args:
        rungs: the most steps on one side; where the last of them is the best, a hint says so.

    >>> from dynhp.spaces import Around
    >>> known = Known(space=Space({"lr": Around(0.1)}), current=Candidate({"lr": 0.1}))
    >>> Climb().propose(known, np.random.default_rng(0))
    [Candidate(lr=0.1), Candidate(lr=0.316228)]
    """

    rungs: int = 8

    def __post_init__(self) -> None:
        object.__setattr__(self, "rungs", require_count("Climb: rungs", self.rungs))

    def propose(self, known: Known, rng: np.random.Generator) -> list[Candidate]:
        """The first wave has two; each further one has the next step of the better side."""
        names = list(known.space)
        name = names[len(known.history) % len(names)]
        down, up = sides_of_value(known.space[name], known.current[name], self.rungs)
        if not known.tries:
            values = [known.current[name], *(up or down)[:1]]
            return [known.current.but({name: value}) for value in values]
        side = _side_to_go(name, known.tries, down, up)
        tried = [try_.candidate[name] for try_ in known.tries]
        steps = [value for value in side if value not in tried]
        if steps:
            return [known.current.but({name: steps[0]})]
        if side and any(try_.error is None for try_ in known.tries):
            advise(
                f"{name} was best at {side[-1]!r}, the last of {len(side)} steps from "
                f"{known.current[name]!r}; start nearer to it, or allow more with Climb(rungs=...)",
                about=(name, side[-1]),
            )
        return []

    def waves(self, space: Space, current: Candidate) -> Waves:
        """Two (one where there is nothing else), then one at a time."""
        sides = []
        for name, axis in space.items():
            require_numbers(f"{self!r} goes up and down", name, axis)
            starts = (*axis.grid(), current[name])
            sides += [sides_of_value(axis, value, self.rungs) for value in starts]
        first = [2 if down or up else 1 for down, up in sides]
        third = [1] if all(down and up for down, up in sides) else []
        further = max(_most_further(len(down), len(up)) for down, up in sides)
        return Waves((min(first), *third), (max(first), *[1] * further))

    def searched(self, axis: Axis, value: Value) -> str | None:
        """The start, the factor and the rungs on an axis without ends; elsewhere it is the grid."""
        if not isinstance(axis, Around):
            return None
        rungs = "1 rung" if self.rungs == 1 else f"{self.rungs} rungs"
        return (
            f"from {value} up or down by a factor of {axis.factor:.4g} at a time, at most {rungs} "
            "each way"
        )


def _side_to_go(
    name: str, tries: Sequence[Try], down: Sequence[Value], up: Sequence[Value]
) -> Sequence[Value]:
    """The side whose next step is to be tried; where the best is its last one, there is none."""
    if all(try_.error is not None for try_ in tries):
        return down
    best = max(tries, key=lambda try_: try_.rank_key).candidate[name]  # the first of equals
    tried = {try_.candidate[name] for try_ in tries}
    higher, lower = ([value for value in side if value in tried] for side in (up, down))
    if best in higher[-1:] and len(higher) < len(up):
        return up
    if best not in up[1:] and not lower and down:
        return down  # a single step up may be luck
    if best in lower[-1:]:
        return down
    return up if best in up[-1:] else ()


def _most_further(down: int, up: int) -> int:
    """How many tries can follow the first two, with so many steps on each side."""
    all_the_way_up = up - 1
    all_the_way_down = down if up else down - 1  # where there is no step up, the first two have one
    return max(0, all_the_way_up, all_the_way_down + (up > 1))  # a second step up that was worse
