"""The numbers that the AdaGrid paper prints, and nothing computed from them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from dynhp_pyg.paper.compared import Column, Pair
from dynhp_pyg.paper.protocol import GRAPHS, PAIRS, SPLITS

__all__ = ["AUC", "EPOCHS", "GAIN", "GAIN_OF_ALL", "MAIN_PAIR", "MODEL", "Row"]
__all__ += ["is_published_model"]

Row = Pair | str
"""A row of a table: "complete", "random", or AdaGrid's adapt epochs and try epochs."""

# Columns of every table: Cora 20/40/40, 50/25/25, 80/10/10, then CiteSeer.
_UNIFORM: dict[Row, tuple[float, ...]] = {
    "complete": (94.85, 96.65, 97.17, 95.84, 97.78, 98.46),
    "random": (94.71, 96.40, 97.02, 95.88, 97.67, 98.45),
    (100, 1): (95.03, 96.89, 97.54, 95.96, 97.82, 98.69),
    (100, 5): (95.03, 96.87, 97.63, 95.91, 97.80, 98.64),
    (100, 100): (94.93, 96.98, 97.59, 95.97, 97.79, 98.67),
    (50, 1): (95.01, 96.98, 97.68, 95.94, 97.81, 98.72),
    (50, 5): (95.05, 97.04, 97.75, 95.87, 97.81, 98.68),
    (50, 50): (95.03, 97.06, 97.76, 95.97, 97.83, 98.71),
    (10, 1): (95.01, 97.07, 97.90, 95.79, 97.89, 98.70),
    (10, 5): (95.14, 97.10, 97.83, 95.81, 97.83, 98.71),
    (10, 10): (95.10, 97.09, 97.86, 95.94, 97.88, 98.71),
}
_COMMUNITY: dict[Row, tuple[float, ...]] = {
    "complete": (84.01, 82.98, 84.62, 83.87, 82.22, 83.96),
    "random": (84.00, 82.05, 83.82, 83.87, 82.61, 83.65),
    (100, 1): (84.35, 83.05, 85.27, 84.01, 83.20, 84.58),
    (100, 5): (84.52, 82.88, 85.43, 83.92, 82.86, 84.34),
    (100, 100): (84.49, 83.61, 85.57, 84.00, 83.12, 84.75),
    (50, 1): (84.51, 83.48, 86.02, 83.88, 83.11, 84.79),
    (50, 5): (84.59, 83.56, 85.98, 83.90, 82.94, 84.84),
    (50, 50): (84.59, 83.74, 85.74, 84.00, 82.99, 84.81),
    (10, 1): (84.49, 83.69, 86.27, 83.65, 83.11, 84.90),
    (10, 5): (84.65, 83.82, 86.54, 83.75, 83.37, 84.89),
    (10, 10): (84.59, 84.07, 86.56, 83.94, 83.04, 84.83),
}


def _by_column(negatives: str, values: tuple[float, ...]) -> dict[Column, float]:
    columns = (
        Column(graph=graph, split=split, negatives=negatives)
        for graph in GRAPHS
        for split in SPLITS
    )
    return dict(zip(columns, values, strict=True))


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
        row: {**_by_column("uniform", _UNIFORM[row]), **_by_column("community", _COMMUNITY[row])}
        for row in _UNIFORM
    }
)
"""The two complete tables of the appendix, in percent; the tables of the text are rows of them."""

GAIN: Mapping[Column, float] = MappingProxyType(
    {
        **_by_column("uniform", (0.16, 0.42, 0.73, -0.09, 0.11, 0.24)),
        **_by_column("community", (0.64, 0.84, 1.92, -0.12, 0.76, 0.93)),
    }
)
"""The last rows of the two tables of the text: one pair of AdaGrid less the better baseline."""

GAIN_OF_ALL: Mapping[Column, float] = MappingProxyType(
    {
        **_by_column("uniform", (0.29, 0.45, 0.73, 0.09, 0.11, 0.26)),
        **_by_column("community", (0.64, 1.09, 1.94, 0.14, 0.76, 0.94)),
    }
)
"""The last rows of the two complete tables: the best pair of AdaGrid less the better baseline."""

MAIN_PAIR: Mapping[str, Pair] = MappingProxyType({"uniform": (10, 1), "community": (10, 5)})
"""The pair of adapt epochs and try epochs that the text's table of each sampler shows."""

EPOCHS: Mapping[Row, float] = MappingProxyType(
    {
        "random": 1.00,
        "complete": 9.00,
        **dict(zip(PAIRS, (1.08, 1.40, 9.00, 1.16, 1.80, 9.00, 1.80, 5.00, 9.00), strict=True)),
    }
)
"""The epochs of the table of costs, against one plain run, in the order of that table."""
