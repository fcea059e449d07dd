"""The tables of paired differences, and how to read them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial

from benchmarks.paper.compared import ComparedMethod
from benchmarks.paper.differences import (
    LUCK,
    PLACEBO_NOTE,
    PooledDifference,
    count_columns,
    pooled_difference,
    rivals_of,
)
from benchmarks.paper.document import Cell, CellValue, Table, paragraphs
from benchmarks.paper.results import Results
from benchmarks.paper.tables.cells import (
    DASH,
    column_table,
    difference_cell,
    paired_cell,
    rounded,
    row_of,
    signed,
)

__all__ = ["paired_notes", "paired_tables", "pooled_cell"]

_BOLD = 6  # columns that a pool must have
_TITLES = {
    "complete": "AdaGrid − complete search",
    "random": "AdaGrid − random search",
    "placebo": "AdaGrid − placebo",
    "fixed": "Every method − fixed 0.5",
}
_Rivals = Mapping[ComparedMethod, ComparedMethod]


def paired_notes(results: Results, tables: Iterable[Table]) -> tuple[str, ...]:
    """Say what the differences and intervals of these tables are, and how many are luck."""
    cells = [cell.values for table in tables for row in table.rows for cell in row]
    shown = [values for values in cells if values.get("half_width_95") is not None]
    return paragraphs(
        "paired.txt.j2",
        several_columns=len(results.columns) > 1,
        columns_are_units=any("columns_as_units" in values for values in cells),
        intervals=len(shown),
        outside=sum(map(_excludes_zero, shown)),
        luck=LUCK,
    )


def paired_tables(results: Results) -> tuple[Table, ...]:
    """For each rival: over columns and column by column, folded where these are many."""
    tables: list[Table] = []
    for name in _TITLES:
        rivals = {
            method: rival
            for method in results.methods
            if method.name in _compared(name)
            and (rival := rivals_of(method).get(name)) is not None
            and rival in results.methods
        }
        if rivals and len(results.columns) > 1:
            tables.append(_pooled_table(results, name, rivals))
        if rivals:
            tables += (_column_table(results, name, rivals, each) for each in results.samplers)
    return tuple(tables)


def pooled_cell(pooled: PooledDifference, *, of: int, columns: int) -> Cell:
    """A difference over columns; under it how many there are, where some lack, and their interval.

    >>> pooled_cell(PooledDifference(by_seed=None, by_column=None, columns=2), of=3,
    ...             columns=4).second_line
    '2 of 4 columns'
    """
    cell, units = difference_cell(pooled.by_seed, of=of), pooled.by_column
    notes = [f"{pooled.columns} of {columns} columns"] if 0 < pooled.columns < columns else []
    values = {**cell.values, "columns": pooled.columns}
    if units is not None and units.half_width is not None:
        notes.append(f"columns as units {signed(units.mean)} ± {units.half_width:.2f}")
        values |= {
            "columns_as_units": rounded(units.mean),
            "columns_as_units_half_width_95": rounded(units.half_width),
        }
    side = cell.side if pooled.columns >= _BOLD else ""
    return replace(cell, values=values, second_line="; ".join(notes), side=side)


def _excludes_zero(values: Mapping[str, CellValue]) -> bool:
    mean, half_width = values.get("difference"), values.get("half_width_95")
    return isinstance(mean, float) and isinstance(half_width, float) and abs(mean) > half_width


def _compared(rival: str) -> tuple[str, ...]:
    return ("adagrid", "complete", "random", "placebo") if rival == "fixed" else ("adagrid",)


def _pooled_table(results: Results, name: str, rivals: _Rivals) -> Table:
    groups = {"all columns": results.columns}
    groups |= {f"{each} only": results.columns_with(each) for each in results.samplers}
    groups = {name: group for name, group in groups.items() if len(group) > 1}
    rows = []
    for method, rival in rivals.items():
        cells = []
        for group in groups.values():
            pooled = pooled_difference(results, method, rival, group)
            cells.append(pooled_cell(pooled, of=results.seeds, columns=len(group)))
        cells += _count_cells(*count_columns(results, method, rival))
        rows.append(row_of(str(method), *cells))
    return Table(
        name=f"paired_{name}",
        title=f"{_TITLES[name]}, over columns",
        headings=("method", *groups, "above zero", "interval above zero", "interval below zero"),
        rows=tuple(rows),
        note="Points of AUC, averaged over the columns seed by seed; the last three are numbers of "
        "columns, by the intervals over seeds. " + _note(name),
    )


def _column_table(results: Results, name: str, rivals: _Rivals, negatives: str) -> Table:
    return column_table(
        results.columns_with(negatives),
        {str(each): partial(paired_cell, results, each, rivals[each]) for each in rivals},
        name=f"paired_{name}_{negatives}",
        title=f"{_TITLES[name]}, column by column: {negatives} negatives",
        note=_note(name),
        folded=len(results.columns) > 4,
    )


def _note(rival: str) -> str:
    return PLACEBO_NOTE if rival == "placebo" else ""


def _count_cells(of: int, *numbers: int) -> list[Cell]:
    return [
        Cell(text=f"{number} of {of}" if of else DASH, values={"": number, "of": of})
        for number in numbers
    ]
