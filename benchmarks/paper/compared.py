"""What is compared: the columns of the paper's tables, and the methods in their rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from dynhp_pyg.runs.published import published_settings

__all__ = ["COMPLETE", "CRITERIA", "GRAPHS", "MAIN_PAIR", "NEGATIVES", "PAIRS", "RANDOM", "RATIO"]
__all__ += [
    "RESTARTS",
    "SPLITS",
    "UNADAPTED",
    "Column",
    "ComparedMethod",
    "Pair",
    "adagrid",
    "as_published",
]
__all__ += ["fixed", "placebo"]

RATIO = "edge_message_ratio"
GRAPHS = ("cora", "citeseer")
SPLITS = ("20/40/40", "50/25/25", "80/10/10")
NEGATIVES = ("uniform", "community")
CRITERIA = ("validation", "gap")
RESTARTS = 10
"""After how many epochs the learning rate restarts where all methods have the same restarts."""

Pair = tuple[int, int]
"""Adapt epochs and try epochs."""

PAIRS = ((100, 1), (100, 5), (100, 100), (50, 1), (50, 5), (50, 50), (10, 1), (10, 5), (10, 10))
"""The paper's pairs of adapt epochs and try epochs, in the order of its tables."""

MAIN_PAIR: Mapping[str, Pair] = MappingProxyType({"uniform": (10, 1), "community": (10, 5)})
"""The pair of adapt epochs and try epochs that the text's table of each sampler shows."""

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

    ``@10`` behind a name: the learning rate restarts every 10 epochs.

    >>> print(adagrid((10, 1), "gap"), "|", fixed(0.5), "|", placebo((10, 1)))
    AdaGrid 10/1 (gap) | Fixed 0.5 | Placebo 10/1
    """

    name: str
    pair: Pair | None = None
    criterion: str | None = None
    ratio: float | None = None
    adapts: tuple[str, ...] = (RATIO,)
    schedule: str = "cosine"
    rate_restarts: int | None = None
    randomness: str = "common"

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
            rate_restarts=settings.get("rate_restarts"),
            randomness=settings.get("randomness", "common"),
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
        restarts = "" if self.rate_restarts is None else f" @{self.rate_restarts}"
        # With restarts tries are independent unless said otherwise, as under the published code.
        alone = self.randomness == "independent" and self.rate_restarts is None
        tries = ", independent tries" if alone else ""
        return f"{self.plain_name}{restarts}{adapted}{judged}{rate}{tries}"


def adagrid(pair: Pair, criterion: str) -> ComparedMethod:
    """The paper's method with a pair of adapt epochs and try epochs."""
    return ComparedMethod(name="adagrid", pair=pair, criterion=criterion)


def placebo(pair: Pair) -> ComparedMethod:
    """As many tries, all of one value."""
    return ComparedMethod(name="placebo", pair=pair, criterion="validation")


def fixed(ratio: float, *, rate_restarts: int | None = None) -> ComparedMethod:
    """One edge message ratio from the first epoch to the last."""
    return ComparedMethod(name="fixed", ratio=ratio, rate_restarts=rate_restarts)


def as_published(method: ComparedMethod) -> ComparedMethod:
    """AdaGrid as the published code trains it: its rate restarts, its tries are independent.

    >>> print(as_published(adagrid((10, 5), "gap")))
    AdaGrid 10/5 @10 (gap)
    """
    if method.pair is None:
        return method
    settings = published_settings(method.name, method.pair[0])
    return replace(
        method, rate_restarts=settings["rate_restarts"], randomness=settings["randomness"]
    )


COMPLETE = ComparedMethod(name="complete")
RANDOM = ComparedMethod(name="random")
UNADAPTED = fixed(0.5)
"""The method that leaves everything alone: one ratio, nothing adapted, cosine schedule."""
