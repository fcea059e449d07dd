"""Means over seeds with Student's interval, and tests of many differences at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import fmean, stdev

__all__ = ["Mean", "holm", "mean_of", "p_value", "student"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mean:
    """A mean and half the width of its 95 % interval (None for a single seed)."""

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


def p_value(differences: Sequence[float]) -> float:
    """How often luck alone gives a mean as far from zero as this one, by Student's t.

    >>> round(p_value([0.25, 0.75]), 4), p_value([0.0, 0.0]), p_value([1.0, 1.0])
    (0.2952, 1.0, 0.0)
    """
    from scipy.special import stdtr  # late, as below

    mean, error = fmean(differences), stdev(differences) / math.sqrt(len(differences))
    if error == 0:
        return float(mean == 0)
    return float(2 * stdtr(len(differences) - 1, -abs(mean) / error))


def holm(p_values: Sequence[float]) -> list[float]:
    """Correct for testing several differences at once: below 0.05 none is luck, 19 times of 20.

    >>> [round(p, 4) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    corrected, largest = [0.0] * len(p_values), 0.0
    for place, index in enumerate(sorted(range(len(p_values)), key=lambda at: p_values[at])):
        largest = max(largest, min(1.0, (len(p_values) - place) * p_values[index]))
        corrected[index] = largest
    return corrected


@lru_cache
def student(degrees: int, *, share: float = 0.95) -> float:
    """The value that Student's |t| stays below with this probability.

    >>> round(student(4), 4)
    2.7764
    """
    from scipy.special import stdtrit  # takes a third of a second, which --help should not wait for

    return float(stdtrit(degrees, (1 + share) / 2))
