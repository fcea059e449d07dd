"""Other proposers and other hyperparameters, against leaving everything alone."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace

from benchmarks.paper.compared import UNADAPTED, Column, ComparedMethod
from benchmarks.paper.differences import PLACEBO_NOTE
from benchmarks.paper.document import Cell, Table
from benchmarks.paper.results import Results
from benchmarks.paper.tables.cells import EMPTY, auc_cell, average_cell, paired_cell, row_of
from dynhp_pyg.runs.spec import ADAPTABLE

__all__ = ["recommended_table", "variants_table"]

_AGAINST = ("− fixed 0.5", "− placebo", "− full grid")
_CONSTANT = replace(UNADAPTED, schedule="constant")
_RECOMMENDED = ComparedMethod(
    name="recommended", adapts=("learning_rate_scale",), schedule="constant"
)


def variants_table(results: Results, column: Column) -> Table:
    """Every variant on one graph: its AUC, its cost, and its rivals with the same seeds."""

    def row(method: ComparedMethod) -> tuple[Cell, ...]:
        rivals = (UNADAPTED, _placebo(results, method), _full_grid(results, method))
        adapts = "nothing" if method.name == "fixed" else method.adapted
        cells = _cells(results, column, method, rivals)
        return row_of(method.plain_name, adapts, method.schedule, *cells)

    return Table(
        name=f"variants_{column.graph}",
        title=f"Variants: {column} negatives",
        headings=("method", "adapts", "schedule", "AUC", "relative epochs", *_AGAINST),
        rows=tuple(map(row, results.methods)),
        note="Differences are paired by seed. Fixed 0.5: nothing adapted, cosine schedule. "
        "Placebo: as many tries as the full grid of the hyperparameter has, all of one value; "
        "beside a method with fewer tries, which has less luck to choose from, the cell is empty. "
        f"{PLACEBO_NOTE} Full grid: AdaGrid of the same hyperparameters. Bold: the interval does "
        "not hold zero.",
    )


def recommended_table(results: Results) -> Table:
    """The recommended way to adapt a learning rate, against schedules that adapt nothing."""
    return Table(
        name="recommended",
        title="Recommended: racing by averaged weights from a constant learning rate",
        headings=("column", "AUC", "relative epochs", "− fixed, cosine", "− fixed, constant"),
        rows=tuple(
            row_of(str(column), *_cells(results, column, _RECOMMENDED, (UNADAPTED, _CONSTANT)))
            for column in results.columns
        ),
    )


def _cells(
    results: Results,
    column: Column,
    method: ComparedMethod,
    rivals: Iterable[ComparedMethod | None],
) -> Iterator[Cell]:
    """The mean AUC, the relative epochs, and the difference from each rival that there is."""
    yield auc_cell(results, method, column)
    yield average_cell(result.relative for result in results.by_seed(column, method).values())
    for rival in rivals:
        if rival is None or rival == method:
            yield EMPTY
        else:
            yield paired_cell(results, method, rival, column)


def _placebo(results: Results, method: ComparedMethod) -> ComparedMethod | None:
    """The placebo with as many tries as this full grid; other methods try fewer and have none.

    A placebo never changes the value, so hyperparameters with as many values share a placebo.
    """
    if method.name != "adagrid":
        return None
    tries = _tries(method)
    placebos = (each for each in results.methods if each.name == "placebo")
    fair = (each for each in placebos if each.pair == method.pair and _tries(each) == tries)
    return next(fair, None)


def _tries(method: ComparedMethod) -> int:
    return math.prod(len(ADAPTABLE[name]) for name in method.adapts)


def _full_grid(results: Results, method: ComparedMethod) -> ComparedMethod | None:
    grid = replace(method, name="adagrid")
    is_rival = method.name != "placebo" and method.pair and grid in results.methods
    return grid if is_rival else None
