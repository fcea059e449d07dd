"""An axis without ends: all positive numbers, in steps of a factor around a start."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dynhp._checks import is_number, require_number
from dynhp.spaces.axis import short_float

_LEAST, _MOST = 1e-300, 1e300


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Around:
    """All positive numbers on a logarithmic scale, in steps of a factor around a start value.

    For a rate whose right size is not known. Its grid is the start and one step either
    side; neighbours go on without end. Steps are rounded to six digits.

    Args:
        value: where to start.
        factor: how far apart adjacent values are; by default a half decade.
        anchor: a value that is on the grid. Steps are counted from it, so that the grid is the same
            wherever the start is; by default they are counted from the start.

    >>> axis = Around(0.01)
    >>> axis.grid(), axis.neighbors(0.1)
    ((0.00316228, 0.01, 0.0316228), (0.0316228, 0.316228))
    >>> fixed = Around(0.015, anchor=1.0)
    >>> fixed.grid(), fixed.nearest(0.015), fixed.neighbors(0.015)
    ((0.00316228, 0.01, 0.0316228), 0.01, (0.01, 0.0316228))
    """

    value: float
    factor: float
    anchor: float | None

    def __init__(
        self, value: float, factor: float = math.sqrt(10), *, anchor: float | None = None
    ) -> None:
        given = {"value": value} if anchor is None else {"value": value, "anchor": anchor}
        for name, number in given.items():
            rule = "be a positive number"
            require_number(f"Around: {name}", number, rule, lambda each: 0 < each < math.inf)
        rule = "be a number of 1.001 or more"  # or steps of six digits would be one
        require_number("Around: factor", factor, rule, lambda number: 1.001 <= number < math.inf)
        object.__setattr__(self, "value", float(value))
        object.__setattr__(self, "factor", float(factor))
        object.__setattr__(self, "anchor", None if anchor is None else float(anchor))

    def __repr__(self) -> str:
        factor = "" if self.factor == math.sqrt(10) else f", {self.factor!r}"
        anchor = "" if self.anchor is None else f", anchor={self.anchor!r}"
        return f"Around({self.value!r}{factor}{anchor})"

    def grid(self) -> tuple[float, ...]:
        """The start (or the step next to it, if there is an anchor), and one step either side."""
        start = self.nearest(self.value)
        return tuple(sorted((*self.neighbors(start), start)))

    def start(self) -> float:
        """The start."""
        return self.value

    def nearest(self, value: Any) -> float:
        """The step next to a value; without an anchor each value is a step of its own."""
        if self.anchor is None:
            return float(value)
        place, _ = self._place(value)
        return self._step(self.anchor, round(place))

    def neighbors(self, value: Any, radius: int = 1) -> tuple[float, ...]:
        """The values up to ``radius`` steps below and above, of which there are always more."""
        place, on_grid = self._place(value)
        base = self.value if self.anchor is None else self.anchor
        if not on_grid and self.anchor is None:  # from elsewhere, from there
            base, place, on_grid = float(value), 0.0, True
        below, above = (round(place),) * 2 if on_grid else (math.ceil(place), math.floor(place))
        steps = [*range(below - radius, below), *range(above + 1, above + radius + 1)]
        sizes = {step: math.log(base) + step * math.log(self.factor) for step in steps}
        within = [step for step in steps if math.log(_LEAST) < sizes[step] < math.log(_MOST)]
        return tuple(self._step(base, step) for step in within)

    def _place(self, value: Any) -> tuple[float, bool]:
        """How many steps a value is above the start or anchor, and whether it is on the grid."""
        base = self.value if self.anchor is None else self.anchor
        place = (math.log(value) - math.log(base)) / math.log(self.factor)
        return place, abs(place - round(place)) * math.log(self.factor) < 1e-5

    def _step(self, base: float, step: int) -> float:
        """The value so many steps above the base, which itself stays as it is to the last digit."""
        return base if step == 0 else short_float(base * self.factor**step)

    def admits(self, value: Any) -> bool:
        """Whether it is a positive number."""
        return is_number(value) and 0 < value < math.inf

    def cast(self, value: Any) -> float:
        """The value as a float."""
        return float(value)

    def draw(self, rng: np.random.Generator) -> float:
        """A value at random within a step of the start, uniform on the scale."""
        return short_float(self.value * self.factor ** float(rng.uniform(-1, 1)))
