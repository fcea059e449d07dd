"""What stands in a row of the paper's tables: the better of two criteria, and what it gains."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.paper.compared import (
    COMPLETE,
    CRITERIA,
    RANDOM,
    Column,
    ComparedMethod,
    Pair,
    adagrid,
    as_published,
)
from benchmarks.paper.published import Row
from benchmarks.paper.results import Results, mean_auc, shared_seeds
from dynhp_pyg.runs.intervals import Mean

__all__ = ["adagrid_pairs", "gain", "gain_of", "methods_in_row", "result_in_row"]


def methods_in_row(row: Row, *, published: bool = False) -> dict[str, ComparedMethod]:
    """The methods that a row of the paper's tables stands for, by criterion where there are two.

    ``published`` asks for AdaGrid as the published code trains it.

    >>> print(*methods_in_row((10, 1)).values(), *methods_in_row("random").values(), sep=", ")
    AdaGrid 10/1 (validation), AdaGrid 10/1 (gap), Random search
    """
    if isinstance(row, str):
        return {"": ComparedMethod(name=row)}
    methods = {criterion: adagrid(row, criterion) for criterion in CRITERIA}
    return {name: as_published(each) if published else each for name, each in methods.items()}


def result_in_row(
    results: Results, column: Column, row: Row, *, published: bool = False
) -> tuple[str, Mean | None]:
    """What stands in a row of the paper's tables, and the criterion where one was chosen.

    For AdaGrid it is the criterion with the higher mean AUC, the first of equals. They are
    compared over the seeds that both have; where there are none the one with more seeds is
    taken, so that none wins by a seed that the other lacks.
    """
    methods = methods_in_row(row, published=published)
    each = {name: results.by_seed(column, method) for name, method in methods.items()}
    there = {name: by_seed for name, by_seed in each.items() if by_seed}
    if not there:
        return "", None
    seeds = shared_seeds(there.values())
    best = max(there, key=lambda name: mean_auc(there[name], seeds) if seeds else len(there[name]))
    return best, results.mean(column, methods[best])


def adagrid_pairs(results: Results) -> list[Pair]:
    """The pairs of epochs that the campaign has AdaGrid with."""
    pairs = (method.pair for method in results.methods if method.name == "adagrid")
    return list(dict.fromkeys(pair for pair in pairs if pair is not None))


def gain(
    results: Results, column: Column, pairs: Sequence[Pair], *, published: bool = False
) -> Mean | None:
    """The best of these AdaGrids less the better search, over the seeds that all have, if any."""
    rows = [methods_in_row(pair, published=published) for pair in pairs]
    names = [result_in_row(results, column, pair, published=published)[0] for pair in pairs]
    chosen = [row[name] for row, name in zip(rows, names, strict=True) if name]
    return gain_of(results, column, chosen) if len(chosen) == len(pairs) else None


def gain_of(results: Results, column: Column, chosen: Sequence[ComparedMethod]) -> Mean | None:
    """The best of these methods less the better search, over the seeds that all have, if any."""
    adapted = [results.by_seed(column, method) for method in chosen]
    searches = [results.by_seed(column, method) for method in (COMPLETE, RANDOM)]
    seeds = shared_seeds([*searches, *adapted])
    if not seeds or not adapted:
        return None
    best, rival = (max(mean_auc(each, seeds) for each in group) for group in (adapted, searches))
    return Mean(mean=best - rival, half_width=None, count=len(seeds))
