"""Cells of tables: means, published values, differences; and tables with a cell per column."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import fmean

from benchmarks.paper.compared import Column, ComparedMethod
from benchmarks.paper.differences import paired_difference, side_of
from benchmarks.paper.document import Cell, CellValue, Table, grouped
from benchmarks.paper.results import Results
from dynhp_pyg.runs.intervals import Mean

__all__ = ["DASH", "EMPTY", "auc_cell", "average_cell", "column_table", "compared_cell"]
__all__ += ["difference_cell", "mean_cell", "number_cell", "paired_cell", "rounded", "row_of"]
__all__ += ["signed"]

DASH = "–"
EMPTY = Cell(text="", values={})
"""Where there is nothing to compare; a dash is for what is missing."""


def column_table(
    columns: Sequence[Column],
    rows: Mapping[str, Callable[[Column], Cell]],
    *,
    name: str,
    title: str,
    first: str = "method",
    note: str = "",
    folded: bool = False,
) -> Table:
    """A table with a row for each name, and in it one cell for each column.

    >>> cora = Column(graph="cora", split="80/10/10", negatives="uniform")
    >>> column_table([cora], {}, name="demo", title="Demo").headings
    ('method', 'Cora 80/10/10')
    """
    return Table(
        name=name,
        title=title,
        headings=(first, *(column.graph_and_split for column in columns)),
        rows=tuple(row_of(row, *map(make, columns)) for row, make in rows.items()),
        note=note,
        folded=folded,
    )


def row_of(*values: Cell | str | int) -> tuple[Cell, ...]:
    """A row of cells, in which texts and whole numbers stand for cells of their own.

    >>> [cell.text for cell in row_of("Fixed", 1200, number_cell(0.5))]
    ['Fixed', '1 200', '0.50']
    """
    return tuple(value if isinstance(value, Cell) else _plain_cell(value) for value in values)


def _plain_cell(value: str | int) -> Cell:
    return Cell(text=value if isinstance(value, str) else grouped(value), values={"": value})


def number_cell(value: float | None, digits: int = 2) -> Cell:
    """A number by itself.

    >>> number_cell(1.8).text, number_cell(None).text
    ('1.80', '–')
    """
    text = DASH if value is None else f"{value:.{digits}f}"
    return Cell(text=text, values={"": rounded(value)})


def average_cell(values: Iterable[float], digits: int = 2) -> Cell:
    """The average of numbers, a dash where there are none.

    >>> average_cell([1.0, 2.0]).text, average_cell([]).text
    ('1.50', '–')
    """
    there = list(values)
    return number_cell(fmean(there) if there else None, digits)


def auc_cell(results: Results, method: ComparedMethod, column: Column) -> Cell:
    """The mean AUC of a method in a column."""
    return mean_cell(results.mean(column, method), of=results.seeds)


def paired_cell(
    results: Results,
    method: ComparedMethod,
    rival: ComparedMethod,
    column: Column,
    *,
    of: int | None = None,
) -> Cell:
    """The paired difference of two methods in a column, in which there are ``of`` seeds."""
    seeds = results.seeds if of is None else of
    return difference_cell(paired_difference(results, method, rival, column), of=seeds)


def mean_cell(mean: Mean | None, *, of: int) -> Cell:
    """A mean over seeds with its interval; their number is given where it is not ``of``.

    >>> mean_cell(Mean(mean=97.5, half_width=0.25, count=2), of=3).text
    '97.50 ± 0.25 (2 seeds)'
    """
    text = DASH if mean is None else f"{mean.mean:.2f}{_interval(mean, of)}"
    return Cell(text=text, values=_values(mean, "mean"))


def compared_cell(
    published: float | None, mean: Mean | None, *, of: int, criterion: str = ""
) -> Cell:
    """Our mean, and under it the published value and, in brackets, how far ours is from it.

    >>> compared_cell(97.17, Mean(mean=97.5, half_width=None, count=1), of=1).second_line
    'paper 97.17 (+0.33)'
    """
    values, second_line = _values(mean, "ours"), [criterion] if criterion else []
    if published is not None:
        apart = None if mean is None else mean.mean - published
        values = {"published": published, **values, "difference": rounded(apart)}
        brackets = "" if apart is None else f" ({signed(apart)})"
        second_line.append(f"paper {published:.2f}{brackets}")
    return replace(mean_cell(mean, of=of), values=values, second_line=", ".join(second_line))


def difference_cell(difference: Mean | None, *, of: int) -> Cell:
    """A mean difference, marked where its interval lies wholly above or below zero.

    >>> difference_cell(Mean(mean=-0.5, half_width=0.25, count=3), of=3).side
    'below'
    """
    values = _values(difference, "difference")
    if difference is None:
        return Cell(text=DASH, values=values)
    text = f"{signed(difference.mean)}{_interval(difference, of)}"
    return Cell(text=text, values=values, side=side_of(difference))


def signed(value: float) -> str:
    """A number with its sign.

    >>> signed(0.5), signed(-0.5), signed(-0.001)
    ('+0.50', '−0.50', '+0.00')
    """
    return f"{round(value, 2) + 0.0:+.2f}".replace("-", "−")


def rounded(value: float | None) -> float | None:
    """What a CSV has of a number: six digits, and never -0.0."""
    return None if value is None else round(value, 6) + 0.0


def _interval(mean: Mean, of: int) -> str:
    interval = "" if mean.half_width is None else f" ± {mean.half_width:.2f}"
    if mean.count == of:
        return interval
    return f"{interval} ({mean.count} seed{'' if mean.count == 1 else 's'})"


def _values(mean: Mean | None, name: str) -> dict[str, CellValue]:
    if mean is None:
        return {name: None, "half_width_95": None, "seeds": 0}
    half_width = rounded(mean.half_width)
    return {name: rounded(mean.mean), "half_width_95": half_width, "seeds": mean.count}
