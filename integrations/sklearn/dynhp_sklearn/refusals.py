"""What cannot be adapted: estimators without partial_fit, unknown names, values read only once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from dynhp.errors import SettingsError, ValueNotUsed, nearest, shown
from dynhp.records import Candidate, Value
from dynhp.selfcheck.fingerprint import fingerprint
from dynhp.spaces import Space
from dynhp.trainer import State

__all__ = ["require_adaptable", "require_incremental", "require_used"]

_AT_FIRST = "is read at the first partial_fit and never again"
_READ_ONCE = {
    "BaseMultilayerPerceptron": (
        *("learning_rate_init", "solver", "momentum", "nesterovs_momentum", "power_t"),
        *("beta_1", "beta_2", "epsilon", "learning_rate", "hidden_layer_sizes"),
    ),
}


class Probe(Protocol):
    """What values are tried on: a trainer."""

    def get_state(self) -> State:
        """Hand out the state."""
        ...

    def set_state(self, state: State) -> None:
        """Take it back."""
        ...

    def train_k(self, k: int, hyperparameters: Mapping[str, Value]) -> None:
        """Train."""
        ...


def require_incremental(estimator: Any) -> None:
    """Refuse what cannot be trained epoch by epoch."""
    if isinstance(estimator, type):
        raise SettingsError(
            f"an estimator, not its class, is needed, got {shown(estimator)}; write "
            f"{estimator.__name__}()"
        )
    if not hasattr(estimator, "partial_fit") or not hasattr(estimator, "get_params"):
        raise SettingsError(
            "the estimator must have partial_fit, so that its values can change on the way, got "
            f"{shown(estimator)}; use SGDClassifier, SGDRegressor or another one that learns in "
            "parts (a Pipeline goes around, not inside: make_pipeline(StandardScaler(), "
            "AdaptiveClassifier(...)))"
        )


def require_adaptable(estimator: Any, space: Space) -> None:
    """Refuse names that the estimator does not have, and those known to be read only once."""
    known, kinds = estimator.get_params(), type(estimator).__mro__
    for name, axis in space.items():
        numbers = isinstance(axis.grid()[0], int | float)
        if name not in known:
            raise SettingsError(
                f"{type(estimator).__name__} has no parameter {shown(name)}{nearest(name, known)}"
            )
        if any(name in _READ_ONCE.get(kind.__name__, ()) for kind in kinds):
            raise SettingsError(
                f"{name} of {type(estimator).__name__} {_AT_FIRST} (its optimiser is made there), "
                "so its values would all train the same; take it out of the space, or use "
                "SGDClassifier or SGDRegressor, which read eta0 each time"
            )
        if name == "learning_rate" and isinstance(known[name], str) and numbers:
            raise SettingsError(
                f"learning_rate of {type(estimator).__name__} is the name of a schedule, "
                f"{shown(known[name])}, and no number; the rate is eta0, as in "
                "recommended('learning_rate', name='eta0')"
            )
        if name in ("eta0", "power_t") and known.get("learning_rate") == "optimal":
            raise SettingsError(
                f"{name} has no effect with learning_rate={shown(known['learning_rate'])}; give "
                f"{type(estimator).__name__}(learning_rate='constant', eta0=0.01)"
            )


def require_used(trainer: Probe, space: Space, start: Mapping[str, Value]) -> None:
    """Refuse an axis whose values all train the same, found out by training."""
    trainer.train_k(1, start)
    origin = trainer.get_state()
    for name, axis in space.items():
        pair = [Candidate({**start, name: value}) for value in (axis.grid()[0], axis.grid()[-1])]
        prints = []
        for candidate in pair:
            trainer.set_state(origin)
            trainer.train_k(2, candidate)
            prints.append(fingerprint(trainer.get_state()))
        if pair[0] != pair[1] and prints[0].differs_only_by(prints[1], *pair):
            raise ValueNotUsed(
                f"{name} has no effect: {shown(pair[0][name])} and {shown(pair[1][name])} trained "
                "exactly the same after a first partial_fit. Either the estimator reads it only "
                "once, or another parameter turns it off; take it out of the space. "
                "options={'check': 'off'} leaves this check out"
            )
