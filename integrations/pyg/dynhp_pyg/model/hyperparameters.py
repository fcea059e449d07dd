"""The hyperparameters that may change while the model trains, and what each of them may be."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, fields, replace

from dynhp.errors import SettingsError, nearest

__all__ = ["Settings", "changed", "whole"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The values in force for one stretch of training.

    >>> Settings(dropout=0.1).dropout
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
        """Give the adaptable ones by name."""
        # After every epoch: dataclasses.asdict, which copies deeply, took ten times as long.
        return {name: getattr(self, name) for name in _RULES if name in adaptable}


def changed(
    settings: Settings, changes: Mapping[str, object], adaptable: Collection[str]
) -> Settings:
    """Give the settings with some values changed; an unknown name or a bad value is refused.

    >>> changed(Settings(), {"dropout": 0.5}, {"dropout"}).dropout
    0.5
    """
    for name in changes:
        if name not in adaptable:
            raise SettingsError(
                f"a hyperparameter must be one this trainer can adapt, got {name!r}"
                + nearest(name, adaptable)
            )
    values = {name: _number(name, value) for name, value in changes.items()}
    return replace(settings, **values) if values else settings


# What holds for each value: the test, and the rule in words with the way out.
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
            f"{getattr(Settings(), name)!r}"
        )
    return float(value)


def whole(name: str, value: object, *, least: int) -> int:
    """Give a whole number that is large enough, or say what is wrong with it.

    >>> whole("seed", 3, least=0)
    3
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise SettingsError(
            f"{name} must be a whole number, {least} or above, got {value!r}; pass one such as "
            f"{max(least, 1)}"
        )
    return value
