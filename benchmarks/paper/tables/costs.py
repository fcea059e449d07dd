"""What each method cost: epochs, which are exact, and seconds, which are not."""

from __future__ import annotations

from benchmarks.paper.compared import COMPLETE, ComparedMethod
from benchmarks.paper.document import Cell, Table
from benchmarks.paper.results import Results, SeedResult
from benchmarks.paper.tables.cells import average_cell, number_cell, row_of

__all__ = ["cost_table", "seconds_table"]


def cost_table(results: Results) -> Table:
    """The epochs of each method, in all and relative to one plain run."""
    each = {method: results.in_all_columns(method) for method in _listed(results)}
    return Table(
        name="cost",
        title="Epochs trained",
        headings=("method", "runs", "relative epochs", "epochs in all"),
        rows=tuple(
            row_of(
                str(method),
                len(runs),
                average_cell(run.relative for run in runs),
                sum(run.trained for run in runs),
            )
            for method, runs in each.items()
        ),
        note="Relative epochs: against one plain run; they are exact and the measure of cost. "
        + ("Complete search is nine runs, counted as one." if COMPLETE in results.methods else ""),
    )


def seconds_table(results: Results) -> Table:
    """The seconds of each method by graph, and the milliseconds of an epoch."""
    graphs = list(dict.fromkeys(column.graph for column in results.columns))
    rows = []
    for method in _listed(results):
        by_graph = [results.in_all_columns(method, graph) for graph in graphs]
        rows.append(
            row_of(
                str(method),
                *(average_cell([run.seconds for run in runs], 1) for runs in by_graph),
                number_cell(sum(run.seconds for run in results.in_all_columns(method)), 0),
                *map(_per_epoch, by_graph),
            )
        )
    return Table(
        name="seconds",
        title="Seconds of computing",
        headings=(
            "method",
            *(f"{graph}, each" for graph in graphs),
            "in all",
            *(f"{graph}, ms per epoch" for graph in graphs),
        ),
        rows=tuple(rows),
        note="By the clock, while the campaign's workers ran side by side: seconds depend on the "
        "machine and on what else it did at the time. Where the same epoch took different times, "
        "that is not the method's doing: compare methods by relative epochs.",
    )


def _listed(results: Results) -> list[ComparedMethod]:
    """The methods; the fixed ratios only where they are not part of complete search."""
    searched = {each.rate_restarts for each in results.methods if each.name == COMPLETE.name}
    return [
        method
        for method in results.methods
        if method.name != "fixed"
        or method.schedule != COMPLETE.schedule
        or method.rate_restarts not in searched
    ]


def _per_epoch(runs: list[SeedResult]) -> Cell:
    epochs = sum(run.trained for run in runs)
    return number_cell(1000 * sum(run.seconds for run in runs) / epochs if epochs else None, 1)
