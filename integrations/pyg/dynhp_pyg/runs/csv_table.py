"""Tables as CSV, for programs."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable

__all__ = ["csv_table"]


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
