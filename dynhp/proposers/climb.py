"""A climb along an axis: from the value in force to one whose neighbours are both worse."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dynhp._checks import require_count
from dynhp.errors import advise
from dynhp.proposers.contract import Known, Waves
from dynhp.proposers.ladder import require_numbers, sides_of_value
from dynhp.records import Candidate, Try, Value
from dynhp.spaces import Around, Axis, Space


@dataclass(frozen=True, slots=True)
class Climb:
    """The value in force and one two steps up, then neighbours of the best until both are worse.

    One at a time, first the neighbour that leads away from the start. On an axis without ends
    (``Around``) this is a ladder whose rungs are a factor apart: wherever it starts, it comes to
    the best rung, unless scores rise and fall on the way. A try that fails counts as worse. If all
    have failed, it goes down. A step that is only as good is not taken. Several axes take
    turns.

    Args:
        rungs: the most steps on one side; if the last of them is the best, a hint says so.

    >>> from dynhp.spaces import Around
    >>> known = Known(space=Space({"lr": Around(0.1)}), current=Candidate({"lr": 0.1}))
    >>> Climb().propose(known, np.random.default_rng(0))
    [Candidate(lr=0.1), Candidate(lr=1.0)]
    """

    rungs: int = 8

    def __post_init__(self) -> None:
        object.__setattr__(self, "rungs", require_count("Climb: rungs", self.rungs))

    def propose(self, known: Known, rng: np.random.Generator) -> list[Candidate]:
        """The first wave has two; each further one has a neighbour of the best."""
        names = list(known.space)
        name = names[len(known.history) % len(names)]
        down, up = sides_of_value(known.space[name], known.current[name], self.rungs)
        values = dict(zip(range(-len(down), 0), reversed(down), strict=True))
        values |= dict(enumerate([known.current[name], *up]))  # by their steps from the start
        if not known.tries:
            first = dict.fromkeys((0, min(2, max(values)) or max(-1, min(values))))
            return [known.current.but({name: values[step]}) for step in first]
        steps = {value: step for step, value in values.items()}
        tried = {steps[try_.candidate[name]]: try_ for try_ in known.tries}
        for step in _wanted(tried):
            if step in values and step not in tried:
                return [known.current.but({name: values[step]})]
        best = max(tried, key=lambda step: tried[step].rank_key)
        if tried[best].error is None:
            self._advise(name, values, tried, best)
        return []

    def _advise(
        self, name: str, values: Mapping[int, Value], tried: Mapping[int, Try], best: int
    ) -> None:
        """Say so if the search is over and its end is no answer."""
        if len(tried) > 2 and all(try_.score == tried[best].score for try_ in tried.values()):
            advise(
                f"{name}: all {len(tried)} tries scored {tried[best].score!r}, so they do not say "
                "which value is better; is what judges them measured anew in each try?",
                about=(name, "level", tried[best].score),
            )
        if abs(best) == self.rungs:
            advise(
                f"{name} was best at {values[best]!r}, the last of {self.rungs} steps from "
                f"{values[0]!r}; start nearer to it, or allow more with Climb(rungs=...)",
                about=(name, values[best]),
            )

    def waves(self, space: Space, current: Candidate) -> Waves:
        """Two (one if there is nothing else), then one at a time."""
        sides = []
        for name, axis in space.items():
            require_numbers(f"{self!r} goes up and down", name, axis)
            starts = (*axis.grid(), current[name])
            both = (sides_of_value(axis, value, self.rungs) for value in starts)
            sides += [(len(down), len(up)) for down, up in both]
        first = [2 if down or up else 1 for down, up in sides]
        least = min(_least_further(down, up) for down, up in sides)
        most = max(_most_further(down, up) for down, up in sides)
        return Waves((min(first), *[1] * least), (max(first), *[1] * most))

    def searched(self, axis: Axis, value: Value) -> str | None:
        """The start, the factor and the rungs on an axis without ends; elsewhere it is the grid."""
        if not isinstance(axis, Around):
            return None
        rungs = "1 rung" if self.rungs == 1 else f"{self.rungs} rungs"
        return (
            f"from {value} up or down by a factor of {axis.factor:.4g} at a time, at most {rungs} "
            "each way"
        )


def _wanted(tried: Mapping[int, Try]) -> list[int]:
    """The steps from the start that must be known, the first one first, also beyond the ends."""
    if all(try_.error is not None for try_ in tried.values()):
        return [min(0, *tried) - 1]
    best = max(tried, key=lambda step: tried[step].rank_key)  # the first of equals
    away = 1 if best > 0 else -1
    wanted = [best + away, best - away]
    if best == 2 and 1 in tried and tried[1].rank_key < tried[0].rank_key:
        wanted.append(-1)  # lower between two higher ones is luck: what is below is not known yet
    return wanted


def _least_further(down: int, up: int) -> int:
    """How many tries follow the first two at least, with ``down`` and ``up`` steps on the sides."""
    if up < 2 or not down:
        return 0  # both may have failed, and nothing is below
    return 2 if down > 1 and up > 3 else 1


def _most_further(down: int, up: int) -> int:
    """How many tries can follow the first two, with ``down`` and ``up`` steps on the sides."""
    if not up:
        return max(0, down - 1)
    worse = min(2, up - 1)  # a third step up and the first one, before it goes down
    return max(up - 2, worse + down)
