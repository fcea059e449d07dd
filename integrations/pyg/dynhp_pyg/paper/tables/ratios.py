"""How much the edge message ratio matters at all, and how often adaptation changes it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise
from statistics import fmean

from dynhp_pyg.paper.arms import RATIO, Arm, Column, adagrid, fixed
from dynhp_pyg.paper.document import Cell, Figure, Table
from dynhp_pyg.paper.figures.stairs import stairs
from dynhp_pyg.paper.protocol import CRITERIA
from dynhp_pyg.paper.results import Found, Outcome, Schedule, average, common
from dynhp_pyg.paper.tables.cells import measured, number, words
from dynhp_pyg.runs.spec import RATIOS

__all__ = ["changes_table", "fixed_table", "ratio_figures", "spread"]


def fixed_table(found: Found, negatives: str) -> Table:
    """The AUC of every fixed ratio, and how far the best and the worst are apart."""
    columns = found.with_sampler(negatives)
    rows = [
        (
            words(f"{ratio:g}"),
            *(measured(found.mean(column, fixed(ratio)), of=found.seeds) for column in columns),
        )
        for ratio in RATIOS
    ]
    apart = (words("highest − lowest"), *(_apart(spread(found, column)) for column in columns))
    return Table(
        name=f"fixed_{negatives}",
        title=f"Fixed edge message ratios: {negatives} negatives",
        heads=("ratio", *(column.short for column in columns)),
        rows=(*rows, apart),
        note="The runs that complete search chooses from, by validation. The last row compares "
        "means over the seeds that all nine have; even equal ratios would differ there by luck.",
    )


def _apart(value: float | None) -> Cell:
    cell = number(value)
    return replace(cell, values={"mean": cell.values[""]})  # in the CSV's column of means


def spread(found: Found, column: Column) -> float | None:
    """How far the means of the nine fixed ratios lie apart, over the seeds that all have."""
    nine = [found.of(column, fixed(ratio)) for ratio in RATIOS]
    seeds = common(nine)
    means = [average(each, seeds) for each in nine] if seeds else []
    return max(means) - min(means) if means else None


def changes_table(found: Found) -> Table:
    """How often the chosen ratio differs from the one before, by pair of epochs and criterion."""
    arms = [arm for arm in found.arms if arm.method == "adagrid"]
    blind = 1 - 1 / len(RATIOS)
    return Table(
        name="changes",
        title="How often AdaGrid changed the ratio, over all columns and seeds",
        heads=("method", "changed, %", "mean ratio, first half", "mean ratio, second half"),
        rows=tuple((words(str(arm)), *_changes_cells(found.all_of(arm))) for arm in arms),
        note="Changed: in this share of the rounds after the first the ratio was not that of the "
        f"round before. Values drawn blindly from the {len(RATIOS)} would change in {blind:.1%}.",
    )


def ratio_figures(found: Found) -> tuple[Figure, ...]:
    """The ratio during training by each criterion, as in the paper's figure."""
    column, pair = _shown(found)
    drawn = []
    for criterion in CRITERIA:
        arm = adagrid(pair, criterion)
        for seed, outcome in list(found.of(column, arm).items())[:1]:
            drawn.append(_figure(arm, column, seed, outcome.schedule))
    return tuple(drawn)


def _shown(found: Found) -> tuple[Column, tuple[int, int]]:
    """Cora 80/10/10 with uniform negatives, every 10 trying for 1."""
    return Column(graph="cora", split="80/10/10", negatives="uniform"), (10, 1)


def _figure(arm: Arm, column: Column, seed: int, schedule: Schedule) -> Figure:
    steps = [(epochs, values[RATIO]) for epochs, values in schedule]
    title = f"Edge message ratio during training: {arm}; {column} negatives, seed {seed}"
    changed, rounds = _changed(schedule), len(schedule)
    return Figure(
        name=f"ratio_{arm.criterion}",
        title=title,
        svg=stairs(steps, axis=RATIOS, title=title),
        note=f"The ratio changed {changed} times in {rounds} rounds.",
    )


def _changes_cells(outcomes: list[Outcome]) -> Iterable[Cell]:
    schedules = [each.schedule for each in outcomes if len(each.schedule) > 1]
    if not schedules:
        return number(None), number(None), number(None)
    changed = fmean(_changed(each) / (len(each) - 1) for each in schedules)
    first, second = zip(*map(_halves, schedules), strict=True)
    return number(100 * changed, 1), number(fmean(first)), number(fmean(second))


def _changed(schedule: Schedule) -> int:
    return sum(before[1] != after[1] for before, after in pairwise(schedule))


def _halves(schedule: Schedule) -> tuple[float, float]:
    """The mean ratio over the first half of the epochs, and over the second."""
    line = [values[RATIO] for epochs, values in schedule for _ in range(epochs)]
    middle = len(line) // 2
    return fmean(line[:middle]), fmean(line[middle:])
