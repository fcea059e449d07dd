"""A table as lines of plain text, for a terminal."""

from __future__ import annotations

from dynhp_pyg.paper.document import Table

__all__ = ["text_table"]


def text_table(table: Table) -> str:
    """Draw a table, its columns as lines, two where cells have a second one: so it is narrower.

    >>> from dynhp_pyg.paper.tables.cells import number_cell, text_cell
    >>> print(text_table(Table(name="", title="Demo", headings=("method", "AUC"),
    ...                        rows=((text_cell("Fixed 0.5"), number_cell(97.5)),))))
    Demo
    method  Fixed 0.5
    AUC     97.50
    """
    lines: list[list[str]] = []
    for heading, cells in zip(table.headings, zip(*table.rows, strict=True), strict=True):
        lines.append([heading, *(cell.text for cell in cells)])
        if any(cell.second_line for cell in cells):
            lines.append(["", *(cell.second_line for cell in cells)])
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    drawn = (
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )
    return "\n".join([table.title, *drawn])
