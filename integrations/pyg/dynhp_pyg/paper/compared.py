"""What is compared: the columns of the paper's tables, and the methods in their rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["COMPLETE", "RANDOM", "RATIO", "UNADAPTED", "Column", "ComparedMethod", "Pair"]
__all__ += ["adagrid", "fixed", "placebo"]

RATIO = "edge_message_ratio"

Pair = tuple[int, int]
"""Adapt epochs and try epochs."""

_GRAPHS = {"cora": "Cora", "citeseer": "CiteSeer"}
_METHODS = {
    "complete": "Complete search",
    "random": "Random search",
    "fixed": "Fixed",
    "adagrid": "AdaGrid",
    "placebo": "Placebo",
    "neighbors": "Neighbours",
    "interpolation": "Interpolation",
    "one_axis": "One axis a round",
    "recommended": "Recommended",
}
_HYPERPARAMETERS = {RATIO: "ratio", "learning_rate_scale": "learning rate"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of the paper's tables: a graph, a split and a sampler of negatives.

    >>> print(Column(graph="cora", split="80/10/10", negatives="uniform"))
    Cora 80/10/10, uniform
    """

    graph: str
    split: str
    negatives: str

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> Column:
        """Read the column from the settings of a run."""
        return cls(**{name: settings[name] for name in ("graph", "split", "negatives")})

    @property
    def graph_and_split(self) -> str:
        """The name where the sampler is clear from the context."""
        return f"{_GRAPHS.get(self.graph, self.graph)} {self.split}"

    def __str__(self) -> str:
        return f"{self.graph_and_split}, {self.negatives}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedMethod:
    """A method with every setting in which it differs from the others of a campaign.

    >>> print(adagrid((10, 1), "gap"), "|", fixed(0.5), "|", placebo((10, 1)))
    AdaGrid 10/1 (gap) | Fixed 0.5 | Placebo 10/1
    """

    name: str
    pair: Pair | None = None
    criterion: str | None = None
    ratio: float | None = None
    adapts: tuple[str, ...] = (RATIO,)
    schedule: str = "cosine"

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> ComparedMethod:
        """Read the method from the settings of a run."""
        has_pair = "adapt_every" in settings
        return cls(
            name=settings["method"],
            pair=(settings["adapt_every"], settings["try_for"]) if has_pair else None,
            criterion=settings.get("criterion"),
            ratio=settings.get("ratio"),
            adapts=tuple(settings.get("adapts", (RATIO,))),
            schedule=settings.get("schedule", "cosine"),
        )

    @property
    def plain_name(self) -> str:
        """The name without what is adapted and how it is judged."""
        parts = [_METHODS.get(self.name, self.name)]
        if self.pair is not None:
            parts.append(f"{self.pair[0]}/{self.pair[1]}")
        if self.ratio is not None:
            parts.append(f"{self.ratio:g}")
        return " ".join(parts)

    @property
    def adapted(self) -> str:
        """The hyperparameters under adaptation, in words.

        >>> ComparedMethod(name="neighbors", adapts=(RATIO, "learning_rate_scale")).adapted
        'ratio + learning rate'
        """
        return " + ".join(
            _HYPERPARAMETERS.get(name, name.replace("_", " ")) for name in self.adapts
        )

    def __str__(self) -> str:
        judged = f" ({self.criterion})" if self.criterion and self.name != "placebo" else ""
        adapted = "" if self.adapts == (RATIO,) else f" of {self.adapted}"
        rate = "" if self.schedule == "cosine" else f", {self.schedule} schedule"
        return f"{self.plain_name}{adapted}{judged}{rate}"


def adagrid(pair: Pair, criterion: str) -> ComparedMethod:
    """The paper's method with a pair of adapt epochs and try epochs."""
    return ComparedMethod(name="adagrid", pair=pair, criterion=criterion)


def placebo(pair: Pair) -> ComparedMethod:
    """As many tries, all of one value."""
    return ComparedMethod(name="placebo", pair=pair, criterion="validation")


def fixed(ratio: float) -> ComparedMethod:
    """One edge message ratio from the first epoch to the last."""
    return ComparedMethod(name="fixed", ratio=ratio)


COMPLETE = ComparedMethod(name="complete")
RANDOM = ComparedMethod(name="random")
UNADAPTED = fixed(0.5)
"""The method that leaves everything alone: one ratio, nothing adapted, cosine schedule."""
