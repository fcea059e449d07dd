"""Paired differences: the same seed and column, one method less another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from dynhp_pyg.paper.arms import ALONE, COMPLETE, RANDOM, Arm, Column, placebo
from dynhp_pyg.paper.protocol import GRAPHS, NEGATIVES, SPLITS
from dynhp_pyg.paper.results import Found, mean
from dynhp_pyg.paper.tables.cells import side_of
from dynhp_pyg.runs.intervals import Mean

__all__ = ["LUCK", "RIVALS", "Pool", "paired", "pooled", "rival_of", "sides"]

RIVALS = ("complete", "random", "placebo", "fixed")

LUCK = 0.05
"""The share of 95 % intervals that leave out zero where there is no difference at all."""

_MANY = len(GRAPHS) * len(SPLITS) * len(NEGATIVES)  # columns, enough to be units themselves
_FEW = 5  # seeds: with fewer an interval over them tells little


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """A difference over columns: with seeds as units, and with columns where that makes sense."""

    by_seed: Mean | None
    by_column: Mean | None
    columns: int


def rival_of(arm: Arm, rival: str) -> Arm | None:
    """Whom a method is compared with; a placebo has the same adapt epochs and try epochs.

    >>> print(rival_of(Arm(method="adagrid", pair=(10, 1), criterion="gap"), "placebo"))
    Placebo 10/1
    """
    if rival == "placebo":
        return None if arm.pair is None else placebo(arm.pair)
    return {"complete": COMPLETE, "random": RANDOM, "fixed": ALONE}[rival]


def paired(found: Found, arm: Arm, rival: Arm, column: Column) -> Mean | None:
    """The mean difference over the seeds that both have."""
    return mean(_by_seed(found, arm, rival, column).values())


def pooled(found: Found, arm: Arm, rival: Arm, columns: Sequence[Column]) -> Pool:
    """Average over the columns seed by seed, over the seeds that all of them have.

    Columns without any difference are left aside. With all columns of the paper, and too few
    seeds to tell much, the columns are taken as units too, each by its mean over its seeds.
    """
    each = [_by_seed(found, arm, rival, column) for column in columns]
    there = [seeds for seeds in each if seeds]
    common = sorted(set.intersection(*map(set, there))) if there else []
    by_seed = mean(fmean(seeds[seed] for seeds in there) for seed in common)
    units = len(there) >= _MANY and len(common) < _FEW
    return Pool(
        by_seed=by_seed,
        by_column=mean(fmean(seeds.values()) for seeds in there) if units else None,
        columns=len(there),
    )


def sides(found: Found, arm: Arm, rival: Arm, columns: Sequence[Column]) -> tuple[int, ...]:
    """In how many columns: a difference, above zero, interval above zero, interval below it."""
    each = (paired(found, arm, rival, column) for column in columns)
    there = [difference for difference in each if difference is not None]
    return (
        len(there),
        sum(each.mean > 0 for each in there),
        sum(side_of(each) == "above" for each in there),
        sum(side_of(each) == "below" for each in there),
    )


def _by_seed(found: Found, arm: Arm, rival: Arm, column: Column) -> dict[int, float]:
    ours, theirs = found.of(column, arm), found.of(column, rival)
    common = sorted(ours.keys() & theirs.keys())
    return {seed: ours[seed].auc - theirs[seed].auc for seed in common}
