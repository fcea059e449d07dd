"""What every axis of a space can do, and the arithmetic of scales."""

from __future__ import annotations

import math
from typing import Protocol, runtime_checkable

import numpy as np

from dynhp.records import Value


@runtime_checkable
class Axis(Protocol):
    """Where one hyperparameter's values lie. Every value it gives out is one that it admits.

    >>> from dynhp import Neighbors, Space
    >>> class EvenSizes:
    ...     def grid(self): return (2, 4, 6, 8)
    ...     def start(self): return 4
    ...     def neighbors(self, value, radius=1):
    ...         return tuple(near for near in self.grid() if 0 < abs(near - value) <= 2 * radius)
    ...     def admits(self, value): return value in self.grid()
    ...     def cast(self, value): return int(value)
    ...     def draw(self, rng): return int(rng.choice(self.grid()))
    >>> space = Space({"heads": EvenSizes()})
    >>> space.neighbors(space.start())
    (Candidate(heads=2), Candidate(heads=6))
    """

    def grid(self) -> tuple[Value, ...]:
        """The values that a full grid tries, in order, without repeats."""
        ...

    def start(self) -> Value:
        """The value to start from when no other is given."""
        ...

    def neighbors(self, value: Value, radius: int = 1) -> tuple[Value, ...]:
        """The values up to ``radius`` steps away on either side, those that exist, in order."""
        ...

    def admits(self, value: Value) -> bool:
        """Whether the value has the axis' type and lies inside its bounds."""
        ...

    def cast(self, value: Value) -> Value:
        """The same value in the axis' own type (an admitted 1 on a float axis is 1.0)."""
        ...

    def draw(self, rng: np.random.Generator) -> Value:
        """A value at random, uniform on the axis' own scale."""
        ...


@runtime_checkable
class ScaledAxis(Axis, Protocol):
    """An axis of numbers with a scale, 0 at one end and 1 at the other, to move along freely.

    ``Interpolation`` needs one, because its candidates can lie between grid values.

    >>> from dynhp import Float
    >>> axis = Float(0.01, 1.0, log=True, points=3)
    >>> axis.grid(), axis.step(), axis.position(0.1), axis.at(0.5)
    ((0.01, 0.1, 1.0), 0.5, 0.5, 0.1)
    """

    @property
    def scaled(self) -> bool:
        """Whether the scale is there (a list of words has none)."""
        ...

    def position(self, value: Value) -> float:
        """Where the value lies on the scale."""
        ...

    def at(self, position: float) -> Value:
        """The value at a position; positions outside [0, 1] mean the nearer end."""
        ...

    def step(self) -> float:
        """The distance of adjacent grid values on the scale."""
        ...


def position_of(value: float, low: float, high: float, *, log: bool) -> float:
    """Where ``value`` lies between the bounds, from 0 to 1, on a linear or log scale."""
    if log:  # not the log of a ratio, which can be too large for a float
        return (math.log(value) - math.log(low)) / (math.log(high) - math.log(low))
    return (value - low) / (high - low)


def value_at(position: float, low: float, high: float, *, log: bool) -> float:
    """The value at a position from 0 to 1, exact at both ends, never beyond them."""
    if position <= 0 or position >= 1:
        return low if position <= 0 else high
    value = low ** (1 - position) * high**position if log else low + position * (high - low)
    return min(max(low, high), max(min(low, high), value))


def rounded(value: float, low: float, high: float, *, log: bool) -> float:
    """The value between the bounds without rounding error: 0.2, not 0.20000000000000004."""
    if value in (low, high):
        return value
    size = value if log else max(abs(low), abs(high))
    value = round(value, 14 - math.ceil(math.log10(size)))
    return min(max(low, high), max(min(low, high), value))


def short_float(value: float) -> float:
    """The value with six digits: 0.0316228, not 0.03162277660168379.

    >>> short_float(0.1 * 0.1)
    0.01
    """
    return float(f"{value:.6g}")
