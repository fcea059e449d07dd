"""In how many columns our result lies near the published one, and where it does not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dynhp_pyg.reproduction.arms import Column
from dynhp_pyg.reproduction.beside import ours
from dynhp_pyg.reproduction.cells import DASH, count, signed, words
from dynhp_pyg.reproduction.found import Found
from dynhp_pyg.reproduction.plan import PAIRS
from dynhp_pyg.reproduction.published import AUC, Row
from dynhp_pyg.reproduction.table import Table

__all__ = ["TOLERANCE", "Agreement", "agreement", "agreement_table"]

TOLERANCE = 0.8
"""Points of AUC within which a result counts as reproduced."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """How many cells of the paper's tables there are, were measured and agree; which do not."""

    cells: int
    measured: int
    within: int
    outside: tuple[str, ...]


def agreement(found: Found, rows: Sequence[Row]) -> Agreement:
    """Compare these rows of the paper's tables with ours in every column."""
    apart = list(_differences(found, rows))
    outside = [(name, value) for name, value in apart if abs(value) > TOLERANCE + 1e-9]
    return Agreement(
        cells=len(rows) * len(found.columns),
        measured=len(apart),
        within=len(apart) - len(outside),
        outside=tuple(f"{name} ({signed(value)})" for name, value in outside),
    )


def agreement_table(found: Found) -> Table:
    """Complete search, random search, and all pairs of AdaGrid together."""
    groups: dict[str, Sequence[Row]] = {
        "Complete search": ["complete"],
        "Random search": ["random"],
        "AdaGrid, all pairs, better criterion": PAIRS,
    }
    counted = {name: agreement(found, rows) for name, rows in groups.items()}
    return Table(
        name="agreement",
        title=f"Within {TOLERANCE} points of the published value",
        heads=("method", "cells of the paper", "measured", "within", "outside, ours − published"),
        rows=tuple(
            (
                words(name),
                count(each.cells),
                count(each.measured),
                count(each.within),
                words("; ".join(each.outside) or DASH),
            )
            for name, each in counted.items()
        ),
    )


def _differences(found: Found, rows: Sequence[Row]) -> Iterable[tuple[str, float]]:
    for row in rows:
        for column in found.columns:
            _, auc = ours(found, column, row)
            if auc is not None and column in AUC[row]:
                yield _name(row, column), auc.mean - AUC[row][column]


def _name(row: Row, column: Column) -> str:
    return str(column) if isinstance(row, str) else f"{row[0]}/{row[1]} {column}"
