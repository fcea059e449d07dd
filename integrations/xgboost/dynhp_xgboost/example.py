"""A small ready trainer: boosted trees on data that are made up, with rows that are drawn."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import xgboost as xgb

from dynhp import Ordered, Trainer
from dynhp_xgboost.trainer import xgboost_trainer

__all__ = ["example", "make"]

_SPACE = {"max_depth": Ordered(1, 2, 4), "reg_lambda": Ordered(0.1, 1.0, 10.0)}


def example() -> tuple[Callable[[], Trainer], dict[str, Ordered]]:
    """A factory of trainers, and their space.

    >>> make, space = example()
    >>> trainer = make(); trainer.train_k(1, {"max_depth": 2, "reg_lambda": 1.0})
    >>> sorted(trainer.metrics())
    ['val-logloss']
    """
    return make, _SPACE


def make() -> Trainer:
    """Which quadrant a point lies in, half of the rows drawn for each round.

    >>> sorted(make().hyperparameters())
    ['max_depth', 'reg_lambda']
    """
    X = np.random.default_rng(0).normal(size=(120, 3))
    y = X[:, 0] * X[:, 1] > 0
    params = {
        "objective": "binary:logistic",
        "max_depth": 2,
        "subsample": 0.5,
        "seed_per_iteration": True,
        "nthread": 1,
    }
    train, val = xgb.DMatrix(X[:80], y[:80]), xgb.DMatrix(X[80:], y[80:])
    return xgboost_trainer(params, train, space=_SPACE, evals=[(val, "val")])
