"""A climb of the golden runs' own, so that both versions climb alike: ``Climb`` has changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from names import public

Waves = public("Waves")
require_numbers, sides_of_value = public("require_numbers"), public("sides_of_value")


@dataclass(frozen=True, slots=True)
class Climb:
    """The value in force and one two steps up, then neighbours of the best until both are worse.

    Args:
        rungs: the most steps on one side.
    """

    rungs: int = 8

    def propose(self, known: Any, rng: np.random.Generator) -> list[Any]:
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
        return []

    def waves(self, space: Any, current: Any) -> Any:
        """Two (one where there is nothing else), then one at a time."""
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


def _wanted(tried: Mapping[int, Any]) -> list[int]:
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
    """How many tries follow the first two at least, with so many steps on each side."""
    if up < 2 or not down:
        return 0  # as where both have failed, and nothing is below
    return 2 if down > 1 and up > 3 else 1


def _most_further(down: int, up: int) -> int:
    """How many tries can follow the first two, with so many steps on each side."""
    if not up:
        return max(0, down - 1)
    worse = min(2, up - 1)  # a third step up and the first one, before it goes down
    return max(up - 2, worse + down)
