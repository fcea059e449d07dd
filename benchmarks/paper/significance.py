"""Tests of many differences at once: Student's t, corrected by Holm's method."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, stdev

from scipy.special import stdtr

__all__ = ["holm", "p_value"]


def p_value(differences: Sequence[float]) -> float:
    """How often luck alone gives a mean as far from zero as this one, by Student's t.

    >>> round(p_value([0.25, 0.75]), 4), p_value([0.0, 0.0]), p_value([1.0, 1.0])
    (0.2952, 1.0, 0.0)
    """
    mean = fmean(differences)
    error = stdev(differences) / math.sqrt(len(differences))
    if error == 0:
        return float(mean == 0)
    return float(2 * stdtr(len(differences) - 1, -abs(mean) / error))


def holm(p_values: Sequence[float]) -> list[float]:
    """Correct for testing several differences at once: below 0.05 none is luck, 19 times of 20.

    >>> [round(p, 4) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    corrected = [0.0] * len(p_values)
    largest = 0.0
    for place, index in enumerate(sorted(range(len(p_values)), key=lambda at: p_values[at])):
        largest = max(largest, min(1.0, (len(p_values) - place) * p_values[index]))
        corrected[index] = largest
    return corrected
