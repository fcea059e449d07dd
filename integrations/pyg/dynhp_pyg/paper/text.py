"""A table as lines of plain text, for a terminal."""

from __future__ import annotations

from dynhp.report.table import text_table
from dynhp_pyg.paper.document import Table

__all__ = ["table_as_text"]


def table_as_text(table: Table) -> str:
    """Draw a table, its columns as lines, two where cells have a second one: so it is narrower.

    >>> from dynhp_pyg.paper.tables.cells import number, words
    >>> print(table_as_text(Table(name="", title="Demo", heads=("method", "AUC"),
    ...                           rows=((words("Fixed 0.5"), number(97.5)),))))
    Demo
    method  Fixed 0.5
    AUC     97.50
    """
    lines: list[list[str]] = []
    for head, cells in zip(table.heads, zip(*table.rows, strict=True), strict=True):
        lines.append([head, *(cell.text for cell in cells)])
        if any(cell.small for cell in cells):
            lines.append(["", *(cell.small for cell in cells)])
    return f"{table.title}\n{text_table(lines)}"
