"""What a report is made of: tables, figures and sections, made once and shown in several forms."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

__all__ = ["Cell", "Figure", "Plain", "Section", "Side", "Table", "csv_text"]

Plain = str | float | int | None
Side = Literal["", "above", "below"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """What people read, with a smaller second line, and what programs read, by name.

    ``side`` tells where an interval lies that does not hold zero.
    """

    text: str
    values: Mapping[str, Plain]
    small: str = ""
    side: Side = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows of cells under heads; ``name`` is the CSV's, "" for none; ``folded`` hides it at first.

    >>> row = (Cell(text="Fixed", values={"": "fixed"}), Cell(text="97.50", values={"": 97.5}))
    >>> csv_text(Table(name="demo", title="Demo", heads=("method", "AUC"), rows=(row,)))
    'method,AUC\\nfixed,97.5\\n'
    """

    name: str
    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    folded: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A picture as SVG text, and the name of its file."""

    name: str
    title: str
    svg: str
    note: str = ""
    folded: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A heading, what is said under it, and the tables and figures that it holds.

    ``warnings`` come first and stand out; ``points`` are a list after the text.
    """

    title: str
    warnings: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    points: tuple[str, ...] = ()
    parts: tuple[Table | Figure, ...] = ()


def csv_text(table: Table) -> str:
    """Write a table with a column for every value of its cells, empty where there is none."""
    names = [
        list(dict.fromkeys(name for row in table.rows for name in row[place].values))
        for place in range(len(table.heads))
    ]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(
        f"{head} {name}".strip()
        for head, each in zip(table.heads, names, strict=True)
        for name in each
    )
    writer.writerows(_flat(row, names) for row in table.rows)
    return text.getvalue()


def _flat(row: Sequence[Cell], names: Sequence[Sequence[str]]) -> list[Plain]:
    return [cell.values.get(name) for cell, each in zip(row, names, strict=True) for name in each]
