"""Paired differences: the same seed and column, one method less another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from benchmarks.paper.compared import (
    COMPLETE,
    GRAPHS,
    NEGATIVES,
    RANDOM,
    SPLITS,
    UNADAPTED,
    Column,
    ComparedMethod,
    placebo,
)
from benchmarks.paper.results import Results, mean_or_none, shared_seeds
from dynhp_pyg.runs.intervals import Mean

__all__ = ["LUCK", "PLACEBO_NOTE", "PooledDifference", "Side", "count_columns"]
__all__ += ["differences_by_seed", "paired_difference", "pooled_difference", "rivals_of", "side_of"]

Side = Literal["", "above", "below"]

LUCK = 0.05
"""The share of 95 % intervals that leave out zero where there is no difference at all."""

PLACEBO_NOTE = (
    "The placebo's copies draw random numbers of their own, while AdaGrid's tries share theirs; "
    "and the placebo chooses its luckiest copy by validation, also where it is the rival of the "
    "gap criterion."
)
"""How far a placebo is a fair rival."""

_MANY = len(GRAPHS) * len(SPLITS) * len(NEGATIVES)  # columns, enough to be units themselves
_FEW = 5  # seeds: with fewer an interval over them says little


@dataclass(frozen=True, slots=True, kw_only=True)
class PooledDifference:
    """A difference over columns: with seeds as units, and with columns where that makes sense."""

    by_seed: Mean | None
    by_column: Mean | None
    columns: int


def rivals_of(method: ComparedMethod) -> dict[str, ComparedMethod]:
    """What a method is compared with; a placebo has the same adapt epochs and try epochs.

    >>> from benchmarks.paper.compared import adagrid
    >>> print(*rivals_of(adagrid((10, 1), "gap")).values(), sep=", ")
    Complete search, Random search, Placebo 10/1, Fixed 0.5
    """
    placebos = {} if method.pair is None else {"placebo": placebo(method.pair)}
    return {"complete": COMPLETE, "random": RANDOM, **placebos, "fixed": UNADAPTED}


def side_of(difference: Mean) -> Side:
    """On which side of zero an interval lies, "" where it holds zero or there is none.

    >>> side_of(Mean(mean=0.5, half_width=0.25, count=3))
    'above'
    """
    if difference.half_width is None or abs(difference.mean) <= difference.half_width:
        return ""
    return "above" if difference.mean > 0 else "below"


def paired_difference(
    results: Results, method: ComparedMethod, rival: ComparedMethod, column: Column
) -> Mean | None:
    """The mean difference over the seeds that both have."""
    return mean_or_none(differences_by_seed(results, method, rival, column).values())


def pooled_difference(
    results: Results, method: ComparedMethod, rival: ComparedMethod, columns: Sequence[Column]
) -> PooledDifference:
    """Average over the columns seed by seed, over the seeds that all of them have.

    Columns without any difference are left out. With all columns of the paper, and too few seeds
    for a useful interval, the columns are taken as units too, each by its mean over its seeds.
    """
    each = (differences_by_seed(results, method, rival, column) for column in columns)
    there = [by_seed for by_seed in each if by_seed]
    seeds = shared_seeds(there)
    units = len(there) >= _MANY and len(seeds) < _FEW
    return PooledDifference(
        by_seed=mean_or_none(fmean(by_seed[seed] for by_seed in there) for seed in seeds),
        by_column=mean_or_none(fmean(by_seed.values()) for by_seed in there) if units else None,
        columns=len(there),
    )


def count_columns(
    results: Results, method: ComparedMethod, rival: ComparedMethod
) -> tuple[int, int, int, int]:
    """In how many columns: a difference, above zero, interval above zero, interval below it."""
    each = (paired_difference(results, method, rival, column) for column in results.columns)
    there = [difference for difference in each if difference is not None]
    sides = [side_of(difference) for difference in there]
    above = sum(difference.mean > 0 for difference in there)
    return len(there), above, sides.count("above"), sides.count("below")


def differences_by_seed(
    results: Results, method: ComparedMethod, rival: ComparedMethod, column: Column
) -> dict[int, float]:
    """The difference of each seed that both have."""
    first, second = results.by_seed(column, method), results.by_seed(column, rival)
    return {seed: first[seed].auc - second[seed].auc for seed in shared_seeds([first, second])}
