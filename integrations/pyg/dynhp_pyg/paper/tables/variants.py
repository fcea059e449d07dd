"""Other proposers and other hyperparameters, against leaving everything alone."""

from __future__ import annotations

import math
from dataclasses import replace
from statistics import fmean

from dynhp_pyg.paper.arms import ALONE, Arm, Column, adapted
from dynhp_pyg.paper.differences import paired
from dynhp_pyg.paper.document import Cell, Table
from dynhp_pyg.paper.glossary import PLACEBO
from dynhp_pyg.paper.results import Found
from dynhp_pyg.paper.tables.cells import EMPTY, difference, measured, number, words
from dynhp_pyg.runs.spec import ADAPTABLE

__all__ = ["recommended_table", "variants_table"]

_CONSTANT = replace(ALONE, schedule="constant")
_RECOMMENDED = Arm(method="recommended", adapts=("learning_rate_scale",), schedule="constant")


def variants_table(found: Found, column: Column) -> Table:
    """Every variant on one graph: its AUC, its cost, and its rivals with the same seeds."""
    return Table(
        name=f"variants_{column.graph}",
        title=f"Variants: {column} negatives",
        heads=(
            "method",
            "adapts",
            "schedule",
            "AUC",
            "relative epochs",
            "− fixed 0.5",
            "− placebo",
            "− full grid",
        ),
        rows=tuple(_row(found, column, arm) for arm in found.arms),
        note="Differences are paired by seed. Fixed 0.5: nothing adapted, cosine schedule. "
        "Placebo: as many tries as the full grid of the hyperparameter has, all of one value; "
        "beside a method with fewer tries, which has less luck to choose from, the cell is empty. "
        f"{PLACEBO} Full grid: AdaGrid of the same hyperparameters. Bold: the interval does not "
        "hold zero.",
    )


def recommended_table(found: Found) -> Table:
    """The recommended way to adapt a learning rate, against schedules that adapt nothing."""
    return Table(
        name="recommended",
        title="Recommended: racing by averaged weights from a constant learning rate",
        heads=("column", "AUC", "relative epochs", "− fixed, cosine", "− fixed, constant"),
        rows=tuple(
            (
                words(str(column)),
                measured(found.mean(column, _RECOMMENDED), of=found.seeds),
                _relative(found, column, _RECOMMENDED),
                _less(found, column, _RECOMMENDED, ALONE),
                _less(found, column, _RECOMMENDED, _CONSTANT),
            )
            for column in found.columns
        ),
    )


def _row(found: Found, column: Column, arm: Arm) -> tuple[Cell, ...]:
    return (
        words(arm.short),
        words("nothing" if arm.method == "fixed" else adapted(arm)),
        words(arm.schedule),
        measured(found.mean(column, arm), of=found.seeds),
        _relative(found, column, arm),
        _less(found, column, arm, ALONE),
        _less(found, column, arm, _placebo(found, arm)),
        _less(found, column, arm, _full_grid(found, arm)),
    )


def _placebo(found: Found, arm: Arm) -> Arm | None:
    """The placebo with as many tries as this full grid; others try fewer and have no fair one.

    A placebo holds the value, so that hyperparameters with as many values share one.
    """
    if arm.method != "adagrid":
        return None
    tries = _tries(arm)
    same = (
        each
        for each in found.arms
        if each.method == "placebo" and each.pair == arm.pair and _tries(each) == tries
    )
    return next(same, None)


def _tries(arm: Arm) -> int:
    return math.prod(len(ADAPTABLE[name]) for name in arm.adapts)


def _full_grid(found: Found, arm: Arm) -> Arm | None:
    grid = replace(arm, method="adagrid")
    return grid if arm.method != "placebo" and arm.pair and grid in found.arms else None


def _less(found: Found, column: Column, arm: Arm, rival: Arm | None) -> Cell:
    if rival is None or rival == arm:
        return EMPTY
    return difference(paired(found, arm, rival, column), of=found.seeds)


def _relative(found: Found, column: Column, arm: Arm) -> Cell:
    spent = [each.relative for each in found.of(column, arm).values()]
    return number(fmean(spent) if spent else None)
