"""What one run of link prediction is: all that decides its result, checked and frozen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, get_args

from dynhp.errors import SettingsError, nearest
from dynhp_pyg.model.hyperparameters import Settings, whole
from dynhp_pyg.model.schedule import ScheduleName
from dynhp_pyg.splits.communities import Method as CommunityMethod
from dynhp_pyg.splits.ratios import Ratios, checked_ratios
from dynhp_pyg.splits.split import SplitProtocol

__all__ = ["ADAPTABLE", "RATIOS", "LinkRun", "Method", "space_of"]

Method = Literal[
    "adagrid",
    "neighbors",
    "interpolation",
    "one_axis",
    "recommended",
    "complete",
    "random",
    "fixed",
    "placebo",
]
Criterion = Literal["validation", "gap"]

RATIOS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
"""The paper's grid of edge message ratios."""

ADAPTABLE: Mapping[str, tuple[float, ...]] = {
    "edge_message_ratio": RATIOS,
    "learning_rate_scale": (0.1, 0.3, 1.0, 3.0, 10.0),
    "weight_decay": (0.0, 5e-5, 5e-4, 5e-3),
    "dropout": (0.0, 0.2, 0.4, 0.6),
    "negatives_per_positive": (0.5, 1.0, 2.0, 4.0),
}
"""What can be adapted, and the values that are tried where nobody says otherwise."""


def space_of(names: Sequence[str]) -> dict[str, tuple[float, ...]]:
    """Give the usual values of these hyperparameters.

    >>> space_of(["dropout"])
    {'dropout': (0.0, 0.2, 0.4, 0.6)}
    """
    for name in names:
        if name not in ADAPTABLE:
            raise SettingsError(f"cannot adapt {name!r}{nearest(name, ADAPTABLE)}")
    if len(set(names)) < len(names):
        raise SettingsError(f"each hyperparameter is named once, got {list(names)!r}")
    return {name: ADAPTABLE[name] for name in names}


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkRun:
    """One run: the data and its split, the model, and how its hyperparameters are chosen.

    ``ratio`` is the edge message ratio at the start, and all along under ``method="fixed"``.
    ``space`` has the values to try of each hyperparameter under adaptation; the others keep the
    trainer's defaults; ``schedule`` is the learning rate's. ``seed`` decides the split, the
    weights, the noise and the choices.
    Equal settings give equal results (communities="auto" is igraph only where it is installed).

    >>> LinkRun(method="fixed", epochs=20).initial
    {'edge_message_ratio': 0.5}
    """

    graph: str = "cora"
    split: Ratios = (0.8, 0.1, 0.1)
    protocol: SplitProtocol = "undirected"
    negatives: Literal["uniform", "community"] = "uniform"
    communities: CommunityMethod = "auto"
    method: Method = "adagrid"
    adapt_every: int = 10
    try_for: int = 1
    criterion: Criterion = "validation"
    epochs: int = 500
    layers: int = 2
    width: int = 64
    schedule: ScheduleName = "cosine"
    ratio: float = 0.5
    space: Mapping[str, Sequence[float]] = field(
        default_factory=lambda: {"edge_message_ratio": RATIOS}, hash=False
    )
    seed: int = 0
    device: str = "cpu"

    def __post_init__(self) -> None:
        _one_of("protocol", self.protocol, get_args(SplitProtocol))
        _one_of("negatives", self.negatives, ("uniform", "community"))
        _one_of("communities", self.communities, get_args(CommunityMethod))
        _one_of("method", self.method, get_args(Method))
        _one_of("criterion", self.criterion, get_args(Criterion))
        checked_ratios(self.split)
        for name in ("adapt_every", "try_for", "epochs", "layers", "width"):
            whole(name, getattr(self, name), least=1)
        whole("seed", self.seed, least=0)
        Settings(edge_message_ratio=self.ratio)
        _one_of("schedule", self.schedule, get_args(ScheduleName))
        _check_space(self.space)
        if self.method == "recommended" and list(self.space) != ["learning_rate_scale"]:
            raise SettingsError(
                "method='recommended' adapts learning_rate_scale and nothing else, got "
                f"{list(self.space)!r}; nothing else is recommended to be adapted"
            )

    @property
    def initial(self) -> dict[str, float]:
        """The values in force at the start, of the hyperparameters under adaptation."""
        usual = asdict(Settings(edge_message_ratio=self.ratio))
        return {name: usual[name] for name in self.space}

    @property
    def chooses(self) -> bool:
        """Whether short tries choose among values, so that choices can mislead or be luck."""
        return self.method not in ("complete", "random", "fixed", "placebo")

    def to_plain(self) -> dict[str, Any]:
        """Give the settings as plain data that JSON can carry.

        >>> LinkRun().to_plain()["split"]
        [0.8, 0.1, 0.1]
        """
        plain = asdict(self)
        plain["split"] = list(self.split)
        plain["space"] = {name: list(values) for name, values in self.space.items()}
        return plain

    def __str__(self) -> str:
        how = {
            "random": "random, anew each epoch",
            "fixed": "fixed at "
            + ", ".join(f"{name}={value:g}" for name, value in self.initial.items()),
            "complete": "complete search",
            "recommended": "recommended for a learning rate",
        }.get(
            self.method,
            f"{self.method}, every {self.adapt_every} trying for {self.try_for} by "
            f"{self.criterion}",
        )
        split = "/".join(f"{100 * share:g}" for share in self.split)
        return (
            f"{self.graph} {split}, {self.protocol}, {self.negatives} negatives, "
            f"{self.layers} layers of {self.width}, {self.epochs} epochs"
            f"{'' if self.schedule == 'cosine' else f', {self.schedule} learning rate'}; {how}"
        )


def _one_of(name: str, value: object, known: Sequence[str]) -> None:
    if value not in known:
        raise SettingsError(
            f"{name} must be one of the known ones, got {value!r}{nearest(value, known)}"
        )


def _check_space(space: Mapping[str, Sequence[float]]) -> None:
    if not space:
        raise SettingsError(
            "space must name a hyperparameter, got none; known are: " + ", ".join(ADAPTABLE)
        )
    for name, values in space.items():
        if name not in ADAPTABLE:
            raise SettingsError(f"cannot adapt {name!r}{nearest(name, ADAPTABLE)}")
        for value in values:
            Settings(**{name: value})
