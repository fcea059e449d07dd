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

    >>> axis = Around(0.01)
    >>> axis.grid(), axis.neighbors(0.1)
    ((0.00316228, 0.01, 0.0316228), (0.0316228, 0.316228))
    """

    value: float
    factor: float

    def __init__(self, value: float, factor: float = math.sqrt(10)) -> None:
        rule = "be a positive number"
        require_number("Around: value", value, rule, lambda number: 0 < number < math.inf)
        rule = "be a number of 1.001 or more"  # or steps of six digits would be one
        require_number("Around: factor", factor, rule, lambda number: 1.001 <= number < math.inf)
        object.__setattr__(self, "value", float(value))
        object.__setattr__(self, "factor", float(factor))

    def __repr__(self) -> str:
        usual = self.factor == math.sqrt(10)
        return f"Around({self.value!r}{'' if usual else f', {self.factor!r}'})"

    def grid(self) -> tuple[float, ...]:
        """The start, and one step either side."""
        near = (*self.neighbors(self.value), self.value)
        return tuple(sorted(near))

    def start(self) -> float:
        """The start."""
        return self.value

    def neighbors(self, value: Any, radius: int = 1) -> tuple[float, ...]:
        """The values up to ``radius`` steps below and above, of which there are always more."""
        away = (math.log(value) - math.log(self.value)) / math.log(self.factor)
        whole = round(away)
        # From a step of the axis to others of it, to the last digit; from elsewhere, from there.
        on_axis = abs(away - whole) * math.log(self.factor) < 1e-5
        base, first = (self.value, whole) if on_axis else (float(value), 0)
        found = []
        for way in range(-radius, radius + 1):
            steps = first + way
            size = math.log(base) + steps * math.log(self.factor)
            if way and math.log(_LEAST) < size < math.log(_MOST):
                found.append(base if steps == 0 else short_float(base * self.factor**steps))
        return tuple(found)

    def admits(self, value: Any) -> bool:
        """Whether it is a positive number."""
        return is_number(value) and 0 < value < math.inf

    def cast(self, value: Any) -> float:
        """The value as a float."""
        return float(value)

    def draw(self, rng: np.random.Generator) -> float:
        """A value at random within a step of the start, uniform on the scale."""
        return short_float(self.value * self.factor ** float(rng.uniform(-1, 1)))
