"""The way down: the value in force, and the next lower ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dynhp._checks import is_number, require_count
from dynhp.errors import SettingsError, shown
from dynhp.proposers.contract import Known, Waves
from dynhp.records import Candidate, Value
from dynhp.spaces import Axis, Space


@dataclass(frozen=True, slots=True)
class Ladder:
    """The value in force and the next ``down`` lower ones on every axis; at the bottom, itself.

    If all of these fail, the next lower ones are tried, and so on to the bottom.

    >>> known = Known(space=Space({"lr": [1, 2, 4, 8]}), current=Candidate({"lr": 8}))
    >>> Ladder(down=2).propose(known, np.random.default_rng(0))
    [Candidate(lr=8), Candidate(lr=4), Candidate(lr=2)]
    """

    down: int = 3

    def __post_init__(self) -> None:
        object.__setattr__(self, "down", require_count("Ladder: down", self.down))

    def propose(self, known: Known, rng: np.random.Generator) -> list[Candidate]:
        """The nearest first; a further wave only if no try has succeeded yet."""
        if any(try_.error is None for try_ in known.tries):
            return []
        tried = [try_.candidate for try_ in known.tries]
        wave = [] if tried else [known.current]
        for name, axis in known.space.items():
            # So far down that all that were tried, and as many as are wanted, lie above.
            lower, _ = sides_of_value(axis, known.current[name], self.down + len(tried))
            steps = (known.current.but({name: value}) for value in lower)
            wave += [step for step in steps if step not in tried][: self.down]
        return wave

    def waves(self, space: Space, current: Candidate) -> Waves:
        """Between one, at the bottom of all axes, and all that lie below, in waves that failed."""
        rungs = []  # of each axis, below its highest value or the one in force
        for name, axis in space.items():
            require_numbers(f"{self!r} goes down", name, axis)
            grid: Any = axis.grid()
            tops = (max(grid), current[name])
            rungs.append(max(len(sides_of_value(axis, top, len(grid))[0]) for top in tops))
        further = range(0, max(rungs) or 1, self.down)  # a wave takes ``down`` of each axis
        most = [sum(min(self.down, max(0, count - begun)) for count in rungs) for begun in further]
        return Waves((1,), (1 + most[0], *most[1:]))


def require_numbers(what: str, name: str, axis: Axis) -> None:
    """Refuse an axis with words, on which nothing is lower or higher."""
    words = [value for value in axis.grid() if not is_number(value)]
    if words:
        raise SettingsError(
            f"{what}, so {name} needs numbers, got {shown(words[0])}; use Neighbors() or FullGrid()"
        )


def sides_of_value(axis: Axis, value: Value, radius: int) -> tuple[list[Value], list[Value]]:
    """The values below this one and those above it, up to ``radius`` steps away, the nearest first.

    >>> from dynhp import Ordered
    >>> sides_of_value(Ordered(1, 2, 4, 8), 4, 2)
    ([2, 1], [8])
    """
    near: Any = axis.neighbors(value, radius)
    below = sorted((each for each in near if each < value), reverse=True)
    return below, sorted(each for each in near if each > value)
