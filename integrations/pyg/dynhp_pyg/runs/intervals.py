"""Means over seeds with Student's interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import fmean, stdev

__all__ = ["Mean", "mean_of", "student"]


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


@lru_cache
def student(degrees: int) -> float:
    """The value that Student's |t| stays below with a probability of 95 %.

    >>> round(student(4), 4)
    2.7764
    """
    from scipy.special import stdtrit  # takes a third of a second, which --help should not wait for

    return float(stdtrit(degrees, 0.975))
