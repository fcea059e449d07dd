"""What a run of link prediction is: all that decides its result, checked and frozen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, get_args

from dynhp.errors import SettingsError, nearest
from dynhp_pyg.checks import one_of, whole
from dynhp_pyg.model.hyperparameters import HyperparameterValues
from dynhp_pyg.model.schedule import RateSchedule, ScheduleName
from dynhp_pyg.splits.communities import CommunityMethod
from dynhp_pyg.splits.ratios import Ratios, checked_ratios
from dynhp_pyg.splits.split import SplitProtocol

__all__ = ["ADAPTABLE", "RATIOS", "WITH_TRIES", "LinkRun", "Method", "space_of"]

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
Randomness = Literal["common", "independent"]

WITH_TRIES = ("adagrid", "neighbors", "interpolation", "one_axis", "recommended", "placebo")
"""The methods that train several copies for some epochs in every round, and keep one."""

RATIOS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
"""The paper's grid of edge message ratios."""

ADAPTABLE: Mapping[str, tuple[float, ...]] = {
    "edge_message_ratio": RATIOS,
    "learning_rate_scale": (0.1, 0.3, 1.0, 3.0, 10.0),
    "weight_decay": (0.0, 5e-5, 5e-4, 5e-3),
    "dropout": (0.0, 0.2, 0.4, 0.6),
    "negatives_per_positive": (0.5, 1.0, 2.0, 4.0),
}
"""What can be adapted, and the values that are tried by default."""


def space_of(names: Sequence[str]) -> dict[str, tuple[float, ...]]:
    """Give the usual values of these hyperparameters.

    >>> space_of(["dropout"])
    {'dropout': (0.0, 0.2, 0.4, 0.6)}
    """
    for name in names:
        _check_adaptable(name)
    if len(set(names)) < len(names):
        raise SettingsError(f"each hyperparameter is named once, got {list(names)!r}")
    return {name: ADAPTABLE[name] for name in names}


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkRun:
    """One run: the data and its split, the model, and how its hyperparameters are chosen.

    Equal settings give equal results (communities="auto" is igraph only where it is installed).

    Args:
        graph: the name of a bundled graph, "cora" or "citeseer".
        split: the shares of training, validation and test edges.
        protocol: "undirected", or "paper", which leaks; see ``make_split``.
        negatives: "uniform" or "community"; see ``make_split``.
        communities: how communities are detected; see ``detect_communities``.
        method: how hyperparameters are chosen; see ``policy_of``.
        adapt_every: the epochs of a round.
        try_for: the epochs of a try.
        criterion: what tries are judged by: the "validation" AUC, or the "gap" to training.
        epochs: the epochs of the main line.
        layers: the number of graph convolutions.
        width: the channels of each layer.
        schedule: of the learning rate, "cosine" or "constant".
        rate_restarts: after how many epochs the learning rate is its first value again, as in
            every round of the published code; None for never.
        randomness: whether the tries of a round share their random numbers, "common", or have
            "independent" ones, as a placebo's always are.
        ratio: the edge message ratio at the start, and always under ``method="fixed"``.
        space: the values to try of each hyperparameter under adaptation; the others keep the
            trainer's defaults.
        seed: decides the split, the weights, the noise and the choices.
        device: a device of torch.

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
    rate_restarts: int | None = None
    randomness: Randomness = "common"
    ratio: float = 0.5
    space: Mapping[str, Sequence[float]] = field(
        default_factory=lambda: {"edge_message_ratio": RATIOS}, hash=False
    )
    seed: int = 0
    device: str = "cpu"

    def __post_init__(self) -> None:
        one_of("protocol", self.protocol, get_args(SplitProtocol))
        one_of("negatives", self.negatives, ("uniform", "community"))
        one_of("communities", self.communities, get_args(CommunityMethod))
        one_of("method", self.method, get_args(Method))
        one_of("criterion", self.criterion, get_args(Criterion))
        checked_ratios(self.split)
        for name in ("adapt_every", "try_for", "epochs", "layers", "width"):
            whole(name, getattr(self, name), least=1)
        whole("seed", self.seed, least=0)
        HyperparameterValues(edge_message_ratio=self.ratio)
        one_of("schedule", self.schedule, get_args(ScheduleName))
        RateSchedule(
            name=self.schedule, learning_rate=0.1, epochs=self.epochs, restarts=self.rate_restarts
        )
        one_of("randomness", self.randomness, get_args(Randomness))
        if self.randomness == "independent" and self.method not in WITH_TRIES:
            raise SettingsError(
                f"randomness='independent' is for methods with tries, got method={self.method!r}; "
                f"leave it out, or use one of {', '.join(WITH_TRIES)}"
            )
        _check_space(self.space)
        if self.method == "recommended" and list(self.space) != ["learning_rate_scale"]:
            raise SettingsError(
                "method='recommended' adapts learning_rate_scale and nothing else, got "
                f"{list(self.space)!r}; nothing else is recommended to be adapted"
            )

    @property
    def initial(self) -> dict[str, float]:
        """The values in force at the start, of the hyperparameters under adaptation."""
        usual = asdict(HyperparameterValues(edge_message_ratio=self.ratio))
        return {name: usual[name] for name in self.space}

    @property
    def chooses(self) -> bool:
        """Whether short tries choose among values, so that choices can mislead or be luck."""
        return self.method not in ("complete", "random", "fixed", "placebo")

    @property
    def _unusual(self) -> str:
        """What is unusual about the learning rate and the tries, in words."""
        words = [f"{self.schedule} learning rate"] if self.schedule != "cosine" else []
        if self.rate_restarts is not None:
            words.append(f"learning rate restarted every {self.rate_restarts} epochs")
        if self.randomness == "independent":
            words.append("independent tries")
        return "".join(f", {each}" for each in words)

    def to_plain(self) -> dict[str, Any]:
        """Give the settings as plain data for JSON.

        >>> LinkRun().to_plain()["split"]
        [0.8, 0.1, 0.1]
        """
        plain = asdict(self)
        plain["split"] = list(self.split)
        plain["space"] = {name: list(values) for name, values in self.space.items()}
        return plain

    def __str__(self) -> str:
        way = {
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
            f"{self._unusual}; {way}"
        )


def _check_adaptable(name: str) -> None:
    if name not in ADAPTABLE:
        raise SettingsError(f"cannot adapt {name!r}{nearest(name, ADAPTABLE)}")


def _check_space(space: Mapping[str, Sequence[float]]) -> None:
    if not space:
        raise SettingsError(
            "space must name a hyperparameter, got none; known are: " + ", ".join(ADAPTABLE)
        )
    for name, values in space.items():
        _check_adaptable(name)
        for value in values:
            HyperparameterValues(**{name: value})
