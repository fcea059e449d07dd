"""The numbers that the AdaGrid paper prints, and nothing computed from them."""

from __future__ import annotations

from collections.abc import Mapping
from csv import DictReader
from importlib.resources import files
from types import MappingProxyType
from typing import Any

from benchmarks.paper.compared import PAIRS, Column, Pair

__all__ = ["AUC", "EPOCHS", "GAIN", "GAIN_OF_ALL", "MODEL", "Row"]
__all__ += ["is_published_model"]

Row = Pair | str
"""A row of a table: "complete", "random", or AdaGrid's adapt epochs and try epochs."""

_TEXT = (files("benchmarks.paper") / "published.csv").read_text(encoding="utf-8")
_COLUMNS = {Column.of(cells): cells for cells in DictReader(_TEXT.splitlines())}


def _row(name: str) -> dict[Column, float]:
    return {column: float(cells[name]) for column, cells in _COLUMNS.items()}


MODEL: Mapping[str, int] = MappingProxyType({"layers": 2, "width": 64, "epochs": 500})
"""The only model that the paper's tables have results of."""


def is_published_model(settings: Mapping[str, Any]) -> bool:
    """Say whether the paper prints results of this model: compared with another they mean nothing.

    >>> is_published_model({**MODEL, "seed": 3}), is_published_model({**MODEL, "layers": 3})
    (True, False)
    """
    return all(settings.get(name) == value for name, value in MODEL.items())


AUC: Mapping[Row, Mapping[Column, float]] = MappingProxyType(
    {
        "complete": _row("complete"),
        "random": _row("random"),
        **{pair: _row(f"{pair[0]}/{pair[1]}") for pair in PAIRS},
    }
)
"""The two complete tables of the appendix, in percent; the tables of the text are rows of them."""

GAIN: Mapping[Column, float] = MappingProxyType(_row("gain"))
"""The last rows of the two tables of the text: one pair of AdaGrid less the better baseline."""

GAIN_OF_ALL: Mapping[Column, float] = MappingProxyType(_row("gain of all"))
"""The last rows of the two complete tables: the best pair of AdaGrid less the better baseline."""

EPOCHS: Mapping[Row, float] = MappingProxyType(
    {"random": 1.00, "complete": 9.00}
    | dict(zip(PAIRS, (1.08, 1.40, 9.00, 1.16, 1.80, 9.00, 1.80, 5.00, 9.00), strict=True))
)
"""The epochs of the table of costs, against one plain run, in the order of that table."""
