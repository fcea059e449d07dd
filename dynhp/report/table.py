"""Tables of plain text, for a terminal, and as CSV, for programs."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

__all__ = ["csv_table", "text_table"]


def text_table(rows: Sequence[Sequence[str]], *, right: bool = False) -> str:
    """Write rows of cells as lines: columns as wide as their widest cell, two spaces between.

    Args:
        rows: the cells of each row; all rows have the same number of them.
        right: whether cells are set at the right of their column, as suits numbers.

    >>> print(text_table([("seed", "AUC"), ("10", "0.97")]))
    seed  AUC
    10    0.97
    >>> print(text_table([("seed", "AUC"), ("10", "0.97")], right=True))
    seed   AUC
      10  0.97
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    side = ">" if right else "<"
    lines = (
        "  ".join(f"{cell:{side}{width}}" for cell, width in zip(row, widths, strict=True))
        for row in rows
    )
    return "\n".join(line.rstrip() for line in lines)


def csv_table(rows: Iterable[Iterable[object]]) -> str:
    r"""Write rows of values as CSV with plain line ends; None is an empty cell.

    Args:
        rows: the headings, then the values of each row.

    >>> csv_table([("seed", "AUC"), (10, 0.97), (11, None)])
    'seed,AUC\n10,0.97\n11,\n'
    """
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()
