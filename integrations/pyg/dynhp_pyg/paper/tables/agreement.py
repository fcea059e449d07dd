"""In how many columns our result lies near the published one, and where it does not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dynhp_pyg.paper.arms import Column
from dynhp_pyg.paper.chosen import ours, pairs_in
from dynhp_pyg.paper.document import Cell, Table
from dynhp_pyg.paper.published import AUC, Row, printed
from dynhp_pyg.paper.results import Found
from dynhp_pyg.paper.tables.cells import DASH, count, signed, words

__all__ = ["TOLERANCE", "Agreement", "agreement", "agreement_table", "comparable"]

TOLERANCE = 0.8
"""Points of AUC within which a result counts as reproduced."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """How many cells of the paper's tables there are, were measured and agree; which do not.

    ``inside`` of the ``intervals`` of ours hold the published value.
    """

    cells: int
    measured: int
    within: int
    inside: int
    intervals: int
    outside: tuple[str, ...]


def comparable(found: Found) -> bool:
    """Tell whether agreement means anything: the protocol and the model are the paper's."""
    return found.about.get("protocol") == "paper" and printed(found.about)


def agreement(found: Found, rows: Sequence[Row]) -> Agreement:
    """Compare these rows of the paper's tables with ours in every column."""
    apart = list(_differences(found, rows))
    outside = [(name, value) for name, value, _ in apart if abs(value) > TOLERANCE + 1e-9]
    known = [(value, half_width) for _, value, half_width in apart if half_width is not None]
    return Agreement(
        cells=len(rows) * len(found.columns),
        measured=len(apart),
        within=len(apart) - len(outside),
        inside=sum(abs(value) <= half_width for value, half_width in known),
        intervals=len(known),
        outside=tuple(f"{name} ({signed(value)})" for name, value in outside),
    )


def agreement_table(found: Found) -> Table:
    """Complete search, random search, and all pairs of AdaGrid together."""
    groups: dict[str, Sequence[Row]] = {
        "Complete search": ["complete"],
        "Random search": ["random"],
        "AdaGrid, all pairs, better criterion": pairs_in(found),
    }
    counted = {name: agreement(found, rows) for name, rows in groups.items()}
    return Table(
        name="agreement",
        title=f"Within {TOLERANCE} points of the published value",
        heads=(
            "method",
            "cells of the paper",
            "measured",
            "within",
            "published inside our interval",
            "outside, ours − published",
        ),
        rows=tuple(
            (
                words(name),
                count(each.cells),
                count(each.measured),
                count(each.within),
                _inside(each),
                words("; ".join(each.outside) or DASH),
            )
            for name, each in counted.items()
        ),
        note="Inside our interval: the published value lies within our 95 % interval over seeds; "
        "of few seeds the interval is wide and holds much, and the published value, a mean of "
        "three runs, has luck of its own.",
    )


def _inside(counted: Agreement) -> Cell:
    if not counted.intervals:
        return Cell(text=DASH, values={"": None, "of": 0})
    text = f"{counted.inside} of {counted.intervals}"
    return Cell(text=text, values={"": counted.inside, "of": counted.intervals})


def _differences(found: Found, rows: Sequence[Row]) -> Iterable[tuple[str, float, float | None]]:
    for row in rows:
        for column in found.columns:
            _, auc = ours(found, column, row)
            if auc is not None and column in AUC[row]:
                yield _name(row, column), auc.mean - AUC[row][column], auc.half_width


def _name(row: Row, column: Column) -> str:
    return str(column) if isinstance(row, str) else f"{row[0]}/{row[1]} {column}"
