"""Axes that are ranges of numbers: ``Float`` and ``Int``."""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from dynhp._checks import is_number, require_bounds, require_whole
from dynhp.errors import SettingsError, shown
from dynhp.records import Value
from dynhp.spaces.axis import position_of, rounded, value_at

Range = TypeVar("Range", "Float", "Int")

MOST_POINTS = 10_000
"""The grid values of an axis are listed often: more of them is a mistake, not a grid."""


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Float:
    """The real numbers from ``low`` to ``high``, on a linear scale or a logarithmic one.

    Args:
        low: the smallest value.
        high: the largest value.
        log: whether grid values differ by a constant factor, not by a constant difference.
        points: how many grid values there are, both bounds included.

    >>> axis = Float(0.001, 10.0, log=True, points=5)
    >>> axis.grid()
    (0.001, 0.01, 0.1, 1.0, 10.0)
    >>> axis.neighbors(0.1), axis.neighbors(10.0)
    ((0.01, 1.0), (1.0,))
    """

    low: float
    high: float
    log: bool
    points: int
    also: tuple[float, ...]  # values that joined the grid

    def __init__(self, low: float, high: float, *, log: bool = False, points: int = 9) -> None:
        require_bounds("Float", low, high, log=log)
        points = require_whole("Float: points", points, least=2, most=MOST_POINTS)
        _fill(self, float(low), float(high), log, points)
        if any(self._index(value) != i for i, value in enumerate(self.grid())):
            raise SettingsError(
                f"Float: {shown(low)} and {shown(high)} are too close for {points} points"
            )

    def __repr__(self) -> str:
        return f"Float({_text(self)})"

    def including(self, value: Any) -> Float | None:
        """The same range with this value on its grid too; None if it lies outside."""
        return _with(self, float(value)) if self.admits(value) else None

    @property
    def scaled(self) -> bool:
        """A range always has a scale."""
        return True

    def step(self) -> float:
        """The distance of adjacent grid values on the scale."""
        return 1 / (self.points - 1)

    def grid(self) -> tuple[float, ...]:
        """The ``points`` values that divide the range evenly on its scale."""
        return _joined(map(self._point, range(self.points)), self.also)

    def start(self) -> float:
        """The grid value in the middle."""
        return self._point((self.points - 1) // 2)

    def neighbors(self, value: Value, radius: int = 1) -> tuple[float, ...]:
        """The values one to ``radius`` steps away; the bounds cut the last step short."""
        here = self._index(value)
        steps = (here + i for i in range(-radius, radius + 1))
        inside = (min(self.points - 1, max(0, index)) for index in steps)
        return tuple(dict.fromkeys(self._point(index) for index in inside if index != here))

    def _index(self, value: Value) -> float:
        # Grid values have whole indices, whatever rounding does to their positions, so that
        # steps from one grid value lead to others, to the last digit.
        index = self.position(value) * (self.points - 1)
        whole = round(index)
        return whole if abs(index - whole) < 1e-9 or self._point(whole) == value else index

    def _point(self, index: float) -> float:
        value = value_at(index / (self.points - 1), self.low, self.high, log=self.log)
        return rounded(value, self.low, self.high, log=self.log)

    def admits(self, value: Any) -> bool:
        """Whether it is a number inside the bounds."""
        return is_number(value) and self.low <= value <= self.high

    def cast(self, value: Any) -> float:
        """The value as a float."""
        return float(value)

    def draw(self, rng: np.random.Generator) -> float:
        """A value at random, uniform on the scale."""
        return self.at(rng.random())

    def position(self, value: Any) -> float:
        """Where the value lies on the scale, from 0 to 1."""
        return position_of(value, self.low, self.high, log=self.log)

    def at(self, position: float) -> float:
        """The value at a position of the scale; grid values are exact."""
        index = position * (self.points - 1)
        whole = round(index)
        return self._point(whole if abs(index - whole) < 1e-9 else index)


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Int:
    """The whole numbers from ``low`` to ``high``, on a linear scale or a logarithmic one.

    Args:
        low: the smallest value.
        high: the largest value.
        log: whether grid values differ by a constant factor, not by a constant difference.
        points: how many grid values there are at most; all whole numbers where it is left out,
            or 9 on a logarithmic scale.

    >>> Int(1, 4).grid(), Int(1, 4).neighbors(1)
    ((1, 2, 3, 4), (2,))
    >>> Int(16, 256, log=True, points=5).grid()
    (16, 32, 64, 128, 256)
    """

    low: int
    high: int
    log: bool
    points: int
    also: tuple[int, ...]  # values that joined the grid

    def __init__(
        self, low: int, high: int, *, log: bool = False, points: int | None = None
    ) -> None:
        for bound in (low, high):
            if not isinstance(bound, int | np.integer) or isinstance(bound, bool):
                raise SettingsError(
                    f"Int: bounds must be whole numbers, got {shown(bound)}; use Float"
                )
        require_bounds("Int", low, high, log=log)
        every = int(high) - int(low) + 1
        points = points if points is not None else min(9, every) if log else every
        points = require_whole("Int: points", points, least=2, most=MOST_POINTS)
        if points > every:
            raise SettingsError(
                f"Int: {points} points do not fit between {shown(low)} and {shown(high)}"
            )
        _fill(self, int(low), int(high), log, points)

    def __repr__(self) -> str:
        return f"Int({_text(self)})"

    def including(self, value: Any) -> Int | None:
        """The same range with this value on its grid too; None if it lies outside."""
        return _with(self, value) if self.admits(value) else None

    @property
    def scaled(self) -> bool:
        """A range always has a scale."""
        return True

    def step(self) -> float:
        """The distance of adjacent grid values on the scale."""
        return 1 / (self.points - 1)

    def grid(self) -> tuple[int, ...]:
        """The whole numbers nearest to ``points`` even divisions of the scale, without repeats."""
        return _joined(self._points(range(self.points)), self.also)

    def start(self) -> int:
        """The grid value in the middle."""
        return next(iter(self._points([(self.points - 1) // 2])))

    def neighbors(self, value: Any, radius: int = 1) -> tuple[int, ...]:
        """The grid values up to ``radius`` places below and above."""
        index = self.position(value) * (self.points - 1)
        down = self._points(range(math.ceil(index), -1, -1))
        up = self._points(range(math.floor(index), self.points))
        below = itertools.islice((near for near in down if near < value), radius)
        above = itertools.islice((near for near in up if near > value), radius)
        return (*reversed(tuple(below)), *above)

    def _points(self, indices: Iterable[int]) -> Iterable[int]:
        # Close divisions of a log scale can round to one whole number: it counts once.
        nearest = (self.at(index / (self.points - 1)) for index in indices)
        return (value for value, _ in itertools.groupby(nearest))

    def admits(self, value: Any) -> bool:
        """Whether it is a whole number inside the bounds."""
        return isinstance(value, int) and is_number(value) and self.low <= value <= self.high

    def cast(self, value: Any) -> int:
        """The value as an int."""
        return int(value)

    def draw(self, rng: np.random.Generator) -> int:
        """A whole number at random, uniform on the scale."""
        if self.log:
            return self.at(rng.random())
        return int(rng.integers(self.low, self.high, endpoint=True))

    def position(self, value: Any) -> float:
        """Where the value lies on the scale, from 0 to 1."""
        return position_of(value, self.low, self.high, log=self.log)

    def at(self, position: float) -> int:
        """The whole number nearest to a position of the scale."""
        return round(value_at(position, self.low, self.high, log=self.log))


def _fill(axis: Float | Int, low: float, high: float, log: bool, points: int) -> None:
    # Frozen dataclasses with an __init__ of their own are filled through object.
    values = {"low": low, "high": high, "log": log, "points": points, "also": ()}
    for name, value in values.items():
        object.__setattr__(axis, name, value)


def _with(axis: Range, value: float) -> Range:
    joined = copy.copy(axis)
    object.__setattr__(joined, "also", (*axis.also, value))
    return joined


def _joined(grid: Iterable[Any], also: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(sorted({*grid, *also})) if also else tuple(grid)


def _text(axis: Float | Int) -> str:
    also = f", also={axis.also}" if axis.also else ""
    return f"{axis.low!r}, {axis.high!r}, log={axis.log}, points={axis.points}{also}"
