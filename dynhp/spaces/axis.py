"""What every axis of a space can do, and the arithmetic of scales."""

from __future__ import annotations

import math
from typing import Any, Protocol, runtime_checkable

import numpy as np

from dynhp.errors import SettingsError
from dynhp.records import Value

MOST_POINTS = 10_000
"""The grid values of an axis are listed often: more of them is a slip, not a grid."""


@runtime_checkable
class Axis(Protocol):
    """Where one hyperparameter's values lie. Every value it gives out is one that it admits."""

    def grid(self) -> tuple[Value, ...]:
        """The values that a full grid tries, in order, without repeats."""
        ...

    def start(self) -> Value:
        """The value to start from when nobody says otherwise."""
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
    """An axis of numbers with a scale, 0 at one end and 1 at the other, to move along freely."""

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


def is_number(value: object) -> bool:
    """Whether this is an int or a float proper: True is not a number here."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def plain(kind: str, value: Any) -> Value:
    """The value as a plain Python one, or an error where JSON could not carry it."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float) and not math.isfinite(value):
        raise SettingsError(f"{kind}: values must be finite, got {value!r}")
    if isinstance(value, int) and value.bit_length() > 63:
        raise SettingsError(f"{kind}: whole numbers must fit into 64 bits, got {value!r}")
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise SettingsError(
        f"{kind}: values must be numbers, strings, booleans or None, got {value!r}; "
        "name the thing with a string and look it up in the trainer"
    )


def check_range(kind: str, low: Any, high: Any, *, log: bool) -> None:
    """Refuse bounds that are no numbers, are reversed, or have no logarithm."""
    low, high = plain(kind, low), plain(kind, high)
    for bound in (low, high):
        if not is_number(bound):
            raise SettingsError(f"{kind}: bounds must be numbers, got {bound!r}")
        if abs(bound) > 1e300:
            raise SettingsError(f"{kind}: bounds must stay within 1e300 of 0, got {bound!r}")
    if not isinstance(log, bool):
        raise SettingsError(f"{kind}: log must be True or False, got {log!r}")
    if not low < high:
        raise SettingsError(f"{kind}: low must be below high, got low={low!r}, high={high!r}")
    if log and low <= 0:
        raise SettingsError(f"{kind}: a log scale needs low > 0, got low={low!r}")


def check_points(kind: str, points: Any) -> None:
    """Refuse a number of grid points that makes no grid."""
    if not isinstance(points, int) or isinstance(points, bool) or not 2 <= points <= MOST_POINTS:
        raise SettingsError(
            f"{kind}: points must be a whole number from 2 to {MOST_POINTS}, got {points!r}"
        )


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


def dusted(value: float, low: float, high: float, *, log: bool) -> float:
    """The value between the bounds without binary dust: 0.2, not 0.20000000000000004."""
    if value in (low, high):
        return value
    size = value if log else max(abs(low), abs(high))
    value = round(value, 14 - math.ceil(math.log10(size)))
    return min(max(low, high), max(min(low, high), value))
