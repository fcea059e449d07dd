"""Neighbours only: the value in force and those next to it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dynhp._checks import require_count
from dynhp.proposers.contract import Known, Waves
from dynhp.records import Candidate, Value
from dynhp.spaces import Around, Axis, Space


@dataclass(frozen=True, slots=True)
class Neighbors:
    """The value in force and those adjacent to it on every axis; at the ends only what exists.

    >>> known = Known(space=Space({"lr": [1, 2, 4]}), current=Candidate({"lr": 4}))
    >>> Neighbors().propose(known, np.random.default_rng(0))
    [Candidate(lr=4), Candidate(lr=2)]
    """

    radius: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", require_count("Neighbors: radius", self.radius))

    def propose(self, known: Known, rng: np.random.Generator) -> list[Candidate]:
        """One wave around the value in force."""
        if known.tries:
            return []
        return [known.current, *known.space.neighbors(known.current, self.radius)]

    def waves(self, space: Space, current: Candidate) -> Waves:
        """Bounded by what lies at the ends and what lies in the middle of the axes."""
        least = most = 1
        for name, axis in space.items():
            grid = axis.grid()
            sizes = [len(axis.neighbors(known, self.radius)) for known in grid]
            if current[name] not in grid:
                # Neighbours of grid values are grid values, but a run can start between them; there
                # up to ``radius`` lie on either side, and no more than the grid has in all.
                sizes.append(min(2 * self.radius, len(grid)))
            least += min(sizes)
            most += max(sizes)
        return Waves((least,), (most,))

    def searched(self, axis: Axis, value: Value) -> str | None:
        """How far it looks around the value in force on an axis without ends; else the grid."""
        if not isinstance(axis, Around):
            return None
        steps = "1 step" if self.radius == 1 else f"{self.radius} steps"
        return f"from {value}, {steps} of a factor of {axis.factor:.4g} either way in each round"
