"""Parameters of XGBoost: which can be adapted, which are in force, which draw random numbers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import xgboost as xgb

from dynhp.errors import SettingsError, nearest, shown
from dynhp.records import Value
from dynhp.spaces import Space

__all__ = ["ALIASES", "drawing", "in_force", "renamed", "require_adaptable", "require_params"]

ALIASES = (
    {"eta", "learning_rate"},
    {"gamma", "min_split_loss"},
    {"lambda", "reg_lambda"},
    {"alpha", "reg_alpha"},
)
_OF_THE_WHOLE_MODEL = (
    *("base_score", "booster", "device", "disable_default_eval_metric", "multi_strategy"),
    *("n_jobs", "nthread", "num_class", "num_feature", "num_parallel_tree", "num_target"),
    *("objective", "process_type", "random_state", "seed", "seed_per_iteration", "updater"),
    "validate_parameters",
)
_FRACTIONS = ("subsample", "colsample_bytree", "colsample_bylevel", "colsample_bynode")


def require_params(params: object) -> dict[str, Any]:
    """A copy of the parameters, refused where they are no mapping."""
    if isinstance(params, xgb.XGBModel):
        raise SettingsError(
            "params must map names to values, as for xgboost.train, got an estimator, "
            f"{type(params).__name__}; fit it by adapted_fit(estimator, X, y, eval_set=..., ...)"
        )
    if not isinstance(params, Mapping):
        raise SettingsError(
            f"params must map names to values, as for xgboost.train, got {shown(params)}"
        )
    return dict(params)


def renamed(params: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """The parameters with the names of the space: two names of one thing would be in each other's
    way. What is None is left out, as XGBoost does it.

    >>> renamed({"eta": 0.1, "max_depth": 3}, ["learning_rate"])
    {'learning_rate': 0.1, 'max_depth': 3}
    """
    other = {alias: name for name in names for same in ALIASES if name in same for alias in same}
    given = {name: value for name, value in params.items() if value is not None}
    return {other.get(name, name): value for name, value in given.items()}


def in_force(booster: xgb.Booster) -> dict[str, Value]:
    """What a booster itself says its parameters are, by all their names.

    >>> data = xgb.DMatrix(np.zeros((2, 1)), [0, 1]); booster = xgb.Booster({"eta": 0.1}, [data])
    >>> values = in_force(booster); values["eta"], values["learning_rate"], values["max_depth"]
    (0.1, 0.1, 6)
    """
    return dict(_leaves(json.loads(booster.save_config())))


def _leaves(config: Mapping[str, Any]) -> Iterator[tuple[str, Value]]:
    for name, value in config.items():
        if isinstance(value, Mapping):
            yield from _leaves(value)
        elif isinstance(value, str):
            yield name, _plain(value)


def _plain(text: str) -> Value:
    for kind in (int, lambda number: float(str(np.float32(number)))):  # it computes in float32
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def require_adaptable(space: Space, known: Mapping[str, Value], data: xgb.DMatrix) -> None:
    """Refuse names that this booster does not have, or that it reads only once."""
    for name in space:
        if name in _OF_THE_WHOLE_MODEL:
            raise SettingsError(
                f"{name} belongs to the whole model and cannot change on the way; set it in params"
            )
        if name not in known:
            raise SettingsError(
                f"this booster has no parameter {shown(name)}{nearest(name, known)}"
            )
        if name == "max_bin" and isinstance(data, xgb.QuantileDMatrix):
            raise SettingsError(
                "max_bin was settled when the QuantileDMatrix was built and cannot change; take "
                "it out of the space, or give an ordinary DMatrix"
            )


def drawing(space: Space, known: Mapping[str, Value]) -> list[str]:
    """The parameters because of which this booster draws random numbers, [] where it draws none.

    >>> drawing(Space({"subsample": [0.5, 1.0]}), {"booster": "gbtree", "colsample_bytree": 0.5})
    ['subsample', 'colsample_bytree']
    """
    drawn = [name for name in _FRACTIONS if any(v != 1 for v in _values(name, space, known))]
    if known.get("booster") == "dart":
        drawn.append("booster='dart'")
    if known.get("updater") == "shotgun" or known.get("feature_selector") in ("shuffle", "random"):
        drawn.append("the order of features of gblinear")
    if known.get("lambdarank_pair_method") == "mean":
        drawn.append("lambdarank_pair_method='mean'")
    return drawn


def _values(name: str, space: Space, known: Mapping[str, Value]) -> Iterable[Value]:
    return space[name].grid() if name in space else (known.get(name, 1),)
