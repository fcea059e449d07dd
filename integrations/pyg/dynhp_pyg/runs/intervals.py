"""Means over seeds with Student's interval, without a statistics package."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import fmean, stdev

__all__ = ["Mean", "mean_of", "student"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mean:
    """A mean and half the width of its 95 % interval (None where one seed tells nothing)."""

    mean: float
    half_width: float | None
    count: int


def mean_of(values: Sequence[float]) -> Mean:
    """Give the mean with its 95 % interval: mean ± t · s / √n, t of n - 1 degrees of freedom.

    >>> mean_of([0.25, 0.75]).mean, round(mean_of([0.25, 0.75]).half_width, 4)
    (0.5, 3.1766)
    """
    count = len(values)
    if count < 2:
        return Mean(mean=values[0], half_width=None, count=count)
    half_width = student(count - 1) * stdev(values) / math.sqrt(count)
    return Mean(mean=fmean(values), half_width=half_width, count=count)


@lru_cache
def student(degrees: int, *, share: float = 0.95) -> float:
    """The point that Student's t stays within, on either side of 0, with this probability.

    >>> round(student(4), 4)
    2.7764
    """
    low, high = 0.0, math.pi / 2  # the angle atan(t / sqrt(degrees)) of the point
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if _within(middle, degrees) < share else (low, middle)
    return math.sqrt(degrees) * math.tan(low)


def _within(angle: float, degrees: int) -> float:
    """The probability of ±t at this angle: Abramowitz and Stegun, 26.7.3 and 26.7.4."""
    sine, cosine = math.sin(angle), math.cos(angle)
    odd = degrees % 2
    term, total = (cosine if odd else 1.0), 0.0
    for power in range(odd, degrees - 1, 2):
        total += term
        term *= cosine**2 * (power + 1) / (power + 2)
    return 2 / math.pi * (angle + sine * total) if odd else sine * total
