"""In how many columns our result lies near the published one, and where it does not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchmarks.paper.compared import Column
from benchmarks.paper.document import Cell, Table
from benchmarks.paper.published import AUC, Row
from benchmarks.paper.results import Results
from benchmarks.paper.tables.cells import DASH, row_of, signed
from benchmarks.paper.tables.rows import adagrid_pairs, result_in_row

__all__ = ["TOLERANCE", "Agreement", "agreement", "agreement_table", "is_comparable"]

TOLERANCE = 0.8
"""Points of AUC within which a result counts as reproduced."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """How many cells of the paper's tables there are, were measured and agree; which do not.

    Of our ``intervals`` as many as ``inside`` hold the published value.
    """

    cells: int
    measured: int
    within: int
    inside: int
    intervals: int
    outside: tuple[str, ...]


def is_comparable(results: Results) -> bool:
    """Say whether agreement means anything: the protocol and the model are the paper's."""
    return results.shared.get("protocol") == "paper" and results.of_published_model


def agreement(
    results: Results,
    rows: Sequence[Row],
    *,
    columns: Sequence[Column] | None = None,
    published: bool = False,
) -> Agreement:
    """Compare these rows of the paper's tables with ours in every column, or in these.

    ``published`` compares AdaGrid as the published code trains it.
    """
    columns = results.columns if columns is None else columns
    differences = list(_differences(results, rows, columns, published))
    outside = [(name, value) for name, value, _ in differences if abs(value) > TOLERANCE + 1e-9]
    inside = [abs(value) <= half for _, value, half in differences if half is not None]
    return Agreement(
        cells=len(rows) * len(columns),
        measured=len(differences),
        within=len(differences) - len(outside),
        inside=sum(inside),
        intervals=len(inside),
        outside=tuple(f"{name} ({signed(value)})" for name, value in outside),
    )


def agreement_table(results: Results) -> Table:
    """Complete search, random search, and all pairs of AdaGrid together."""
    groups: dict[str, Sequence[Row]] = {
        "Complete search": ["complete"],
        "Random search": ["random"],
        "AdaGrid, all pairs, better criterion": adagrid_pairs(results),
    }
    counted = {name: agreement(results, rows) for name, rows in groups.items()}
    return Table(
        name="agreement",
        title=f"Within {TOLERANCE} points of the published value",
        headings=(
            "method",
            "cells of the paper",
            "measured",
            "within",
            "published inside our interval",
            "outside, ours − published",
        ),
        rows=tuple(
            row_of(
                name,
                *(each.cells, each.measured, each.within),
                _inside_cell(each),
                "; ".join(each.outside) or DASH,
            )
            for name, each in counted.items()
        ),
        note="Inside our interval: the published value lies within our 95 % interval over seeds; "
        "of few seeds the interval is wide and holds much, and the published value, a mean of "
        "three runs, has luck of its own.",
    )


def _inside_cell(counted: Agreement) -> Cell:
    if not counted.intervals:
        return Cell(text=DASH, values={"": None, "of": 0})
    text = f"{counted.inside} of {counted.intervals}"
    return Cell(text=text, values={"": counted.inside, "of": counted.intervals})


def _differences(
    results: Results, rows: Sequence[Row], columns: Sequence[Column], published: bool
) -> Iterable[tuple[str, float, float | None]]:
    for row in rows:
        for column in columns:
            _, auc = result_in_row(results, column, row, published=published)
            if auc is not None and column in AUC[row]:
                yield _name(row, column), auc.mean - AUC[row][column], auc.half_width


def _name(row: Row, column: Column) -> str:
    return str(column) if isinstance(row, str) else f"{row[0]}/{row[1]} {column}"
