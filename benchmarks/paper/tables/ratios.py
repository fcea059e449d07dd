"""How much the edge message ratio matters at all, and how often adaptation changes it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import pairwise
from statistics import fmean

from benchmarks.paper.compared import RATIO, Column, fixed
from benchmarks.paper.document import Cell, Table
from benchmarks.paper.results import Results, ScheduleSteps, SeedResult, mean_auc, shared_seeds
from benchmarks.paper.tables.cells import auc_cell, average_cell, column_table, number_cell, row_of
from dynhp_pyg.runs.spec import RATIOS

__all__ = ["changes_table", "count_changes", "fixed_table", "spread"]


def fixed_table(results: Results, negatives: str) -> Table:
    """The AUC of every fixed ratio, and how far the best and the worst are apart."""

    def spread_cell(column: Column) -> Cell:
        cell = number_cell(spread(results, column))
        return replace(cell, values={"mean": cell.values[""]})  # in the CSV's column of means

    return column_table(
        results.columns_with(negatives),
        {f"{ratio:g}": partial(auc_cell, results, fixed(ratio)) for ratio in RATIOS}
        | {"highest − lowest": spread_cell},
        name=f"fixed_{negatives}",
        title=f"Fixed edge message ratios: {negatives} negatives",
        first="ratio",
        note="The runs that complete search chooses from, by validation. The last row compares "
        "means over the seeds that all nine have; even equal ratios would differ there by luck.",
    )


def spread(results: Results, column: Column) -> float | None:
    """How far the means of the nine fixed ratios lie apart, over the seeds that all have."""
    nine = [results.by_seed(column, fixed(ratio)) for ratio in RATIOS]
    seeds = shared_seeds(nine)
    means = [mean_auc(by_seed, seeds) for by_seed in nine] if seeds else []
    return max(means) - min(means) if means else None


def changes_table(results: Results) -> Table:
    """How often the chosen ratio differs from the one before, by pair of epochs and criterion."""
    methods = [method for method in results.methods if method.name == "adagrid"]
    blind = 1 - 1 / len(RATIOS)
    return Table(
        name="changes",
        title="How often AdaGrid changed the ratio, over all columns and seeds",
        headings=("method", "changed, %", "mean ratio, first half", "mean ratio, second half"),
        rows=tuple(
            row_of(str(method), *_changes_cells(results.in_all_columns(method)))
            for method in methods
        ),
        note="Changed: in this share of the rounds after the first the ratio was not that of the "
        f"round before. Values drawn blindly from the {len(RATIOS)} would change in {blind:.1%}.",
    )


def count_changes(schedule: ScheduleSteps) -> int:
    """How often a value differs from the one before.

    >>> count_changes([(10, {"ratio": 0.1}), (10, {"ratio": 0.2}), (10, {"ratio": 0.2})])
    1
    """
    return sum(before[1] != after[1] for before, after in pairwise(schedule))


def _changes_cells(results: list[SeedResult]) -> Iterator[Cell]:
    schedules = [each.schedule for each in results if len(each.schedule) > 1]
    yield average_cell((100 * count_changes(each) / (len(each) - 1) for each in schedules), 1)
    for half in (0, 1):
        yield average_cell(_halves(each)[half] for each in schedules)


def _halves(schedule: ScheduleSteps) -> tuple[float, float]:
    """The mean ratio over the first half of the epochs, and over the second."""
    line = [values[RATIO] for epochs, values in schedule for _ in range(epochs)]
    middle = len(line) // 2
    return fmean(line[:middle]), fmean(line[middle:])
