"""Names of what is compared: the columns of the paper's tables, and the methods in their rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["ALONE", "COMPLETE", "RANDOM", "RATIO", "Arm", "Column", "adagrid", "adapted"]
__all__ += ["fixed", "placebo"]

RATIO = "edge_message_ratio"

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
    def short(self) -> str:
        """The name where the sampler is plain from the context."""
        return f"{_GRAPHS.get(self.graph, self.graph)} {self.split}"

    def __str__(self) -> str:
        return f"{self.short}, {self.negatives}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """A method with all that sets it apart from the others of a campaign.

    >>> print(adagrid((10, 1), "gap"), "|", fixed(0.5), "|", placebo((10, 1)))
    AdaGrid 10/1 (gap) | Fixed 0.5 | Placebo 10/1
    """

    method: str
    pair: tuple[int, int] | None = None
    criterion: str | None = None
    ratio: float | None = None
    adapts: tuple[str, ...] = (RATIO,)
    schedule: str = "cosine"

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> Arm:
        """Read the method from the settings of a run."""
        has_pair = "adapt_every" in settings
        return cls(
            method=settings["method"],
            pair=(settings["adapt_every"], settings["try_for"]) if has_pair else None,
            criterion=settings.get("criterion"),
            ratio=settings.get("ratio"),
            adapts=tuple(settings.get("adapts", (RATIO,))),
            schedule=settings.get("schedule", "cosine"),
        )

    @property
    def short(self) -> str:
        """The name without what is adapted and how it is judged."""
        parts = [_METHODS.get(self.method, self.method)]
        if self.pair is not None:
            parts.append(f"{self.pair[0]}/{self.pair[1]}")
        if self.ratio is not None:
            parts.append(f"{self.ratio:g}")
        return " ".join(parts)

    def __str__(self) -> str:
        judged = f" ({self.criterion})" if self.criterion and self.method != "placebo" else ""
        what = "" if self.adapts == (RATIO,) else f" of {adapted(self)}"
        rate = "" if self.schedule == "cosine" else f", {self.schedule} schedule"
        return f"{self.short}{what}{judged}{rate}"


COMPLETE = Arm(method="complete")
RANDOM = Arm(method="random")


def adapted(arm: Arm) -> str:
    """The hyperparameters under adaptation, in words.

    >>> adapted(Arm(method="neighbors", adapts=("edge_message_ratio", "learning_rate_scale")))
    'ratio + learning rate'
    """
    names = {RATIO: "ratio", "learning_rate_scale": "learning rate"}
    return " + ".join(names.get(name, name.replace("_", " ")) for name in arm.adapts)


def adagrid(pair: tuple[int, int], criterion: str) -> Arm:
    """The paper's method with a pair of adapt epochs and try epochs."""
    return Arm(method="adagrid", pair=pair, criterion=criterion)


def placebo(pair: tuple[int, int]) -> Arm:
    """As many tries, all of one value."""
    return Arm(method="placebo", pair=pair, criterion="validation")


def fixed(ratio: float) -> Arm:
    """One edge message ratio all along."""
    return Arm(method="fixed", ratio=ratio)


ALONE = fixed(0.5)
"""What leaves everything alone: one ratio, nothing adapted, cosine schedule."""
