"""Student's t distribution: its tail, and how often a test with it misses an effect."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["missed_share", "t_quantile", "t_tail"]

_erfc = np.frompyfunc(math.erfc, 1, 1)  # numpy has none


def t_tail(t: float, freedom: int) -> float:
    """The chance that a variable with Student's t distribution is above ``t``, of 0 or more.

    >>> round(t_tail(2.015, 5), 4), round(t_tail(12.706, 1), 4), round(t_tail(1.96, 10**6), 4)
    (0.05, 0.025, 0.025)
    """
    if freedom > 1000:  # the normal distribution, to three digits
        return math.erfc(t / math.sqrt(2)) / 2
    angle = math.atan2(t, math.sqrt(freedom))
    cosine = math.cos(angle)
    odd = freedom % 2
    term = cosine if odd else 1.0
    series = 0.0 if freedom == 1 else term
    for i in range(2 + odd, freedom - 1, 2):
        term *= cosine**2 * (i - 1) / i
        series += term
    inside = math.sin(angle) * series
    # Of a chance of 1e-16 rounding can leave a bit less than nothing.
    return max(0.0, 1 - ((angle + inside) * 2 / math.pi if odd else inside)) / 2


def t_quantile(chance: float, freedom: int) -> float:
    """The value that a variable with Student's t distribution is above with this chance, up to 0.5.

    >>> round(t_quantile(0.05, 5), 3), round(t_quantile(0.025, 1), 3), t_quantile(0.5, 3)
    (2.015, 12.706, 0.0)
    """
    low, high = 0.0, 1.0
    while t_tail(high, freedom) > chance:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if t_tail(middle, freedom) > chance else (low, middle)
    return low


def missed_share(shifts: ArrayLike, freedom: int, *, chance: float) -> float:
    """How often a t-test with this chance of error misses effects, given in standard errors.

    For several effects, any of which may be the true one, it is the mean. The estimate is normal;
    the noise it is divided by is itself estimated, and with few degrees of freedom it may come out
    far too large.

    >>> [round(missed_share(5.0, freedom, chance=0.01), 3) for freedom in (1, 3, 10, 100_000)]
    [0.875, 0.328, 0.025, 0.004]
    """
    limit = t_quantile(chance, freedom)
    width = 1 / math.sqrt(2 * freedom)
    # The estimated noise, for a true noise of 1: the root of chi-square / freedom.
    ratio = np.linspace(max(1e-9, 1 - 8 * width), 1 + 12 * width, 2001)
    density = np.exp((freedom - 1) * np.log(ratio) - freedom * (ratio**2 - 1) / 2)
    density[[0, -1]] /= 2  # the trapezoidal rule
    distinct, times = np.unique(np.atleast_1d(shifts), return_counts=True)
    above = (distinct - limit * ratio[:, np.newaxis]) / math.sqrt(2)
    below = np.asarray(_erfc(above), dtype=np.float64) / 2
    return float(np.average(density @ below / density.sum(), weights=times))
