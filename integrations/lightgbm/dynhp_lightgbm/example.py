"""A small ready trainer: boosted trees on data that are made up."""

from __future__ import annotations

from collections.abc import Callable

import lightgbm as lgb
import numpy as np

from dynhp import Ordered
from dynhp_lightgbm.trainer import LightGBMTrainer, lightgbm_trainer

__all__ = ["example", "make"]

_SPACE = {"num_leaves": Ordered(2, 4, 8), "lambda_l2": Ordered(0.1, 1.0, 10.0)}


def example() -> tuple[Callable[[], LightGBMTrainer], dict[str, Ordered]]:
    """A factory of trainers, and their space.

    >>> make, space = example()
    >>> trainer = make(); trainer.train_k(1, {"num_leaves": 4, "lambda_l2": 1.0})
    >>> sorted(trainer.metrics())
    ['val-binary_logloss']
    """
    return make, _SPACE


def make() -> LightGBMTrainer:
    """Which quadrant a point lies in.

    >>> sorted(make().hyperparameters())
    ['lambda_l2', 'num_leaves']
    """
    X = np.random.default_rng(0).normal(size=(150, 3))
    y = X[:, 0] * X[:, 1] > 0
    params = {
        "objective": "binary",
        "num_leaves": 4,
        "lambda_l2": 1.0,
        "min_data_in_leaf": 5,
        "num_threads": 1,
        "force_col_wise": True,
        "verbosity": -1,
    }
    train = lgb.Dataset(X[:100], y[:100])
    val = lgb.Dataset(X[100:], y[100:], reference=train)
    return lightgbm_trainer(params, train, space=_SPACE, valid_sets=[val], valid_names=["val"])
