"""Which AdaGrid stands in a row of the paper's tables, and what it gains: on the same seeds."""

from __future__ import annotations

from collections.abc import Sequence

from dynhp_pyg.paper.arms import COMPLETE, RANDOM, Arm, Column, adagrid
from dynhp_pyg.paper.protocol import CRITERIA
from dynhp_pyg.paper.published import Row
from dynhp_pyg.paper.results import Found, average, common
from dynhp_pyg.runs.intervals import Mean, mean_of

__all__ = ["Pair", "better", "gain_of", "ours", "pairs_in"]

Pair = tuple[int, int]
"""Adapt epochs and try epochs."""


def better(found: Found, column: Column, pair: Pair) -> tuple[str, Mean] | None:
    """The criterion with the higher mean AUC, the first of equals, and its mean.

    Compared over the seeds that both have; where there are none the one with more seeds is taken,
    so that none wins by a seed that the other has not met.
    """
    there = {name: each for name in CRITERIA if (each := found.of(column, adagrid(pair, name)))}
    if not there:
        return None
    seeds = common(there.values())
    best = max(there, key=lambda name: average(there[name], seeds) if seeds else len(there[name]))
    return best, mean_of([each.auc for each in there[best].values()])


def ours(found: Found, column: Column, row: Row) -> tuple[str, Mean | None]:
    """What stands in a row of the paper's tables, and the criterion where one was chosen."""
    if isinstance(row, str):
        return "", found.mean(column, Arm(method=row))
    return better(found, column, row) or ("", None)


def pairs_in(found: Found) -> list[Pair]:
    """The pairs of epochs that the campaign has AdaGrid with."""
    arms = [arm for arm in found.arms if arm.method == "adagrid"]
    return list(dict.fromkeys(arm.pair for arm in arms if arm.pair is not None))


def gain_of(found: Found, column: Column, pairs: Sequence[Pair]) -> Mean | None:
    """The best of these AdaGrids less the better search, over the seeds that all have, if any."""
    chosen = [better(found, column, pair) for pair in pairs]
    adapted = [
        found.of(column, adagrid(pair, each[0])) if each is not None else {}
        for pair, each in zip(pairs, chosen, strict=True)
    ]
    searches = [found.of(column, arm) for arm in (COMPLETE, RANDOM)]
    seeds = common([*searches, *adapted])
    if not seeds or not adapted:
        return None
    best, rival = (max(average(each, seeds) for each in group) for group in (adapted, searches))
    return Mean(mean=best - rival, half_width=None, count=len(seeds))
