"""Axes that are lists of values: ``Ordered`` and ``Categorical``."""

from __future__ import annotations

import bisect
import math
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dynhp._checks import distinct_values, is_number
from dynhp.records import Value
from dynhp.spaces.axis import rounded, value_at


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Ordered:
    """Values in an order of your own; neighbours are the ones listed next to each other.

    Numbers that only rise or only fall can also be moved along between the listed ones, never
    beyond them. A list of whole numbers and floats is a list of floats.

    >>> axis = Ordered(0.1, 0.3, 0.5)
    >>> axis.neighbors(0.3), axis.neighbors(0.5), axis.at(0.25)
    ((0.1, 0.5), (0.3,), 0.2)
    >>> Ordered("small", "medium", "large").neighbors("small")
    ('medium',)
    """

    values: tuple[Any, ...]
    _places: dict[Any, int] = field(init=False, compare=False)  # thousands are looked up at once

    def __init__(self, *values: Value) -> None:
        distinct = distinct_values("Ordered", values)
        if all(map(is_number, distinct)) and any(isinstance(value, float) for value in distinct):
            distinct = tuple(float(value) for value in distinct)  # type: ignore[arg-type]
        object.__setattr__(self, "values", distinct)
        object.__setattr__(self, "_places", {value: place for place, value in enumerate(distinct)})

    def __repr__(self) -> str:
        return f"Ordered({', '.join(map(repr, self.values))})"

    @property
    def scaled(self) -> bool:
        """Whether the values are numbers that only rise or only fall."""
        if not all(map(is_number, self.values)):
            return False
        return list(self.values) in (sorted(self.values), sorted(self.values, reverse=True))

    def step(self) -> float:
        """The distance of adjacent values on the scale."""
        return 1 / max(1, len(self.values) - 1)

    def grid(self) -> tuple[Value, ...]:
        """All values, as listed."""
        return self.values

    def start(self) -> Value:
        """The value in the middle of the list."""
        return self.values[(len(self.values) - 1) // 2]  # type: ignore[no-any-return]

    def neighbors(self, value: Value, radius: int = 1) -> tuple[Value, ...]:
        """The values listed up to ``radius`` places before and after; there is no wrap-around."""
        index = self.position(value) / self.step()
        low, high = math.ceil(index - 1e-9), math.floor(index + 1e-9) + 1
        return self.values[max(0, low - radius) : low] + self.values[high : high + radius]

    def admits(self, value: Any) -> bool:
        """Whether it is listed, or a number of the list's type between listed ones."""
        place = self._places.get(value) if isinstance(value, Hashable) else None
        if place is not None and _both_or_no_bool(value, self.values[place]):
            return True
        if not (self.scaled and is_number(value)):
            return False
        whole = isinstance(self.values[0], int)
        inside = min(self.values) <= value <= max(self.values)
        return bool(inside) and (isinstance(value, int) or not whole)

    def cast(self, value: Any) -> Value:
        """The value in the list's type."""
        place = self._places.get(value)
        if place is not None:
            return self.values[place]  # type: ignore[no-any-return]
        return type(self.values[0])(value)  # type: ignore[no-any-return]

    def draw(self, rng: np.random.Generator) -> Value:
        """One of the values at random."""
        return self.values[int(rng.integers(len(self.values)))]  # type: ignore[no-any-return]

    def including(self, value: Any) -> Ordered | None:
        """The list with this value too, in its place or at the end; None if it is no such value.

        >>> Ordered(0.1, 0.01).including(0.03), Ordered(16, 32).including(0.5)
        (Ordered(0.1, 0.03, 0.01), None)
        """
        if not _alike(value, self.values):
            return None
        if not self.scaled:
            return Ordered(*self.values, value)
        rising = self.values[0] <= self.values[-1]
        return Ordered(*sorted((*self.values, value), reverse=not rising))

    def position(self, value: Any) -> float:
        """Where the value lies on the scale, from 0 to 1; listed values are evenly spaced."""
        place = self._places.get(value)
        if place is not None:
            return place * self.step()
        sign = 1 if self.values[0] < self.values[-1] else -1
        rising = [known * sign for known in self.values]
        right = bisect.bisect(rising, value * sign)
        share = (value * sign - rising[right - 1]) / (rising[right] - rising[right - 1])
        return float(right - 1 + share) * self.step()

    def at(self, position: float) -> Value:
        """The value at a position of the scale, interpolated between the listed ones."""
        index = min(1.0, max(0.0, position)) / self.step()
        left = min(math.floor(index + 1e-9), len(self.values) - 1)
        share = index - left
        if abs(share) < 1e-9 or left == len(self.values) - 1:
            return self.values[left]  # type: ignore[no-any-return]
        low, high = self.values[left], self.values[left + 1]
        value = value_at(share, low, high, log=False)
        return rounded(value, low, high, log=False) if isinstance(low, float) else round(value)


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Categorical:
    """Values without an order: each is next to every other one.

    >>> Categorical("relu", "tanh", "gelu").neighbors("tanh")
    ('relu', 'gelu')
    """

    values: tuple[Value, ...]

    def __init__(self, *values: Value) -> None:
        object.__setattr__(self, "values", distinct_values("Categorical", values))

    def __repr__(self) -> str:
        return f"Categorical({', '.join(map(repr, self.values))})"

    def grid(self) -> tuple[Value, ...]:
        """All values, as listed."""
        return self.values

    def start(self) -> Value:
        """The first value."""
        return self.values[0]

    def neighbors(self, value: Value, radius: int = 1) -> tuple[Value, ...]:
        """All other values, for every radius except 0."""
        return tuple(other for other in self.values if other != value) if radius else ()

    def admits(self, value: Value) -> bool:
        """Whether it is listed."""
        return listed(value, self.values)

    def including(self, value: Value) -> Categorical | None:
        """The list with this value too, at the end; None if it is no such value."""
        return Categorical(*self.values, value) if _alike(value, self.values) else None

    def cast(self, value: Value) -> Value:
        """The value as it is listed."""
        return self.values[self.values.index(value)]

    def draw(self, rng: np.random.Generator) -> Value:
        """One of the values at random."""
        return self.values[int(rng.integers(len(self.values)))]


def listed(value: Value, values: tuple[Value, ...]) -> bool:
    """Whether the value is in the list; True is not 1 here, though 1 may stand for 1.0."""
    return any(value == known and _both_or_no_bool(value, known) for known in values)


def _both_or_no_bool(value: Value, known: Value) -> bool:
    return isinstance(value, bool) == isinstance(known, bool)


def _alike(value: Value, values: tuple[Value, ...]) -> bool:
    """Whether the value is of the kind of those listed: a number, a whole number, or a word."""
    others = [known for known in values if known is not None]
    if all(map(is_number, others)):
        return is_number(value) and (
            isinstance(value, int) or any(isinstance(known, float) for known in others)
        )
    return type(value) in map(type, others)
