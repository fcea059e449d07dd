"""What each method cost: epochs, which are exact, and seconds, which are not."""

from __future__ import annotations

from statistics import fmean

from dynhp_pyg.paper.arms import COMPLETE, Arm
from dynhp_pyg.paper.document import Cell, Table
from dynhp_pyg.paper.results import Found, Outcome
from dynhp_pyg.paper.tables.cells import count, number, words

__all__ = ["cost_table", "seconds_table"]


def cost_table(found: Found) -> Table:
    """The epochs of each method, in all and against one plain run."""
    return Table(
        name="cost",
        title="Epochs trained",
        heads=("method", "runs", "relative epochs", "epochs in all"),
        rows=tuple(
            (
                words(str(arm)),
                count(len(found.all_of(arm))),
                _average([each.relative for each in found.all_of(arm)]),
                count(sum(each.trained for each in found.all_of(arm))),
            )
            for arm in _listed(found)
        ),
        note="Relative epochs: against one plain run; they are exact and the measure of cost. "
        + ("Complete search is nine runs, counted as one." if COMPLETE in found.arms else ""),
    )


def seconds_table(found: Found) -> Table:
    """The seconds of each method by graph, and the milliseconds of an epoch."""
    graphs = list(dict.fromkeys(column.graph for column in found.columns))
    return Table(
        name="seconds",
        title="Seconds of computing",
        heads=(
            "method",
            *(f"{graph}, each" for graph in graphs),
            "in all",
            *(f"{graph}, ms per epoch" for graph in graphs),
        ),
        rows=tuple(
            (
                words(str(arm)),
                *(
                    _average([each.seconds for each in _of(found, arm, graph)], 1)
                    for graph in graphs
                ),
                number(sum(each.seconds for each in found.all_of(arm)), 0),
                *(_per_epoch(_of(found, arm, graph)) for graph in graphs),
            )
            for arm in _listed(found)
        ),
        note="By the clock, while the campaign's workers ran side by side: seconds depend on the "
        "machine and on what else it did at the time. Where the same epoch took different times, "
        "that is not the method's doing: compare methods by relative epochs.",
    )


def _listed(found: Found) -> list[Arm]:
    """The methods; the fixed ratios only where they are not part of complete search."""
    whole = COMPLETE in found.arms
    return [arm for arm in found.arms if not (whole and arm.method == "fixed")]


def _of(found: Found, arm: Arm, graph: str) -> list[Outcome]:
    columns = [column for column in found.columns if column.graph == graph]
    return [each for column in columns for each in found.of(column, arm).values()]


def _per_epoch(outcomes: list[Outcome]) -> Cell:
    epochs = sum(each.trained for each in outcomes)
    return number(1000 * sum(each.seconds for each in outcomes) / epochs if epochs else None, 1)


def _average(values: list[float], digits: int = 2) -> Cell:
    return number(fmean(values) if values else None, digits)
