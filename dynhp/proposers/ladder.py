"""The way down: the value in force, and the next lower ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dynhp._checks import is_number, require_count
from dynhp.errors import SettingsError, shown
from dynhp.proposers.contract import Known, Waves
from dynhp.records import Candidate, Value
from dynhp.spaces import Axis, Space

__all__ = ["Ladder"]


@dataclass(frozen=True, slots=True)
class Ladder:
    """The value in force and the next ``down`` lower ones on every axis; at the bottom, itself.

    >>> known = Known(space=Space({"lr": [1, 2, 4, 8]}), current=Candidate({"lr": 8}))
    >>> Ladder(down=2).propose(known, np.random.default_rng(0))
    [Candidate(lr=8), Candidate(lr=4), Candidate(lr=2)]
    """

    down: int = 3

    def __post_init__(self) -> None:
        object.__setattr__(self, "down", require_count("Ladder: down", self.down))

    def propose(self, known: Known, rng: np.random.Generator) -> list[Candidate]:
        """One wave, the nearest first."""
        if known.tries:
            return []
        steps = [
            known.current.but({name: value})
            for name, axis in known.space.items()
            for value in self._lower(axis, known.current[name])
        ]
        return [known.current, *steps]

    def waves(self, space: Space, current: Candidate) -> Waves:
        """Between one, at the bottom of all axes, and all that lie below the values at the top."""
        for name, axis in space.items():
            words = [value for value in axis.grid() if not is_number(value)]
            if words:
                raise SettingsError(
                    f"{self!r} goes down, so {name} needs numbers, got {shown(words[0])}; use "
                    "Neighbors() or FullGrid()"
                )
        most = (
            max(len(self._lower(axis, value)) for value in (*axis.grid(), current[name]))
            for name, axis in space.items()
        )
        return Waves((1,), (1 + sum(most),))

    def _lower(self, axis: Axis, value: Value) -> list[Value]:
        near = axis.neighbors(value, self.down)
        return sorted((each for each in near if each < value), reverse=True)  # type: ignore[operator,type-var]
