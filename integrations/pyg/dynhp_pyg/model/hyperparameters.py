"""The hyperparameters that may change while the model trains, and what each of them may be."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, fields, replace

from dynhp.errors import SettingsError
from dynhp_pyg.checks import one_of

__all__ = ["HyperparameterValues", "changed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class HyperparameterValues:
    """The values in force while some epochs are trained.

    >>> HyperparameterValues(dropout=0.1).dropout
    0.1
    """

    edge_message_ratio: float = 0.5
    learning_rate_scale: float = 1.0
    weight_decay: float = 5e-4
    dropout: float = 0.2
    negatives_per_positive: float = 1.0

    def __post_init__(self) -> None:
        for field in fields(self):
            _check(field.name, getattr(self, field.name))

    def named(self, adaptable: Collection[str]) -> dict[str, float]:
        """Give the values of the adaptable hyperparameters by name."""
        # Called after every epoch: dataclasses.asdict, which copies deeply, took ten times as long.
        return {name: getattr(self, name) for name in _RULES if name in adaptable}


def changed(
    values: HyperparameterValues, changes: Mapping[str, object], adaptable: Collection[str]
) -> HyperparameterValues:
    """Give the values with some of them changed; an unknown name or a bad value is refused.

    >>> changed(HyperparameterValues(), {"dropout": 0.5}, {"dropout"}).dropout
    0.5
    """
    for name in changes:
        one_of("a hyperparameter of this trainer", name, adaptable)
    numbers = {name: _number(name, value) for name, value in changes.items()}
    return replace(values, **numbers) if numbers else values


# For each value: the test, and the rule in words with the way out.
_RULES: dict[str, tuple[Callable[[float], bool], str]] = {
    "edge_message_ratio": (
        lambda value: 0 < value < 1,
        "must lie strictly between 0 and 1; 0.5 passes messages on half of the training edges",
    ),
    "learning_rate_scale": (
        lambda value: value > 0,
        "must be above 0; 1.0 leaves the scheduled learning rate as it is",
    ),
    "weight_decay": (lambda value: value >= 0, "must be 0 or above; 0.0 turns it off"),
    "dropout": (lambda value: 0 <= value < 1, "must lie in [0, 1); 0.0 turns it off"),
    "negatives_per_positive": (
        lambda value: value > 0,
        "must be above 0; 1.0 draws as many negatives as there are positives",
    ),
}


def _check(name: str, value: float) -> None:
    holds, rule = _RULES[name]
    if not (math.isfinite(value) and holds(value)):
        raise SettingsError(f"{name} {rule}; got {value!r}")


def _number(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise SettingsError(
            f"{name} must be a number, got {value!r}; pass a float such as "
            f"{getattr(HyperparameterValues(), name)!r}"
        )
    return float(value)
