"""A small ready trainer: a linear classifier, with batches that are shuffled."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from sklearn.linear_model import SGDClassifier

from dynhp import Ordered
from dynhp_sklearn.trainer import EstimatorTrainer, trainer_from_estimator

__all__ = ["example", "make"]

_SPACE = {"eta0": Ordered(0.01, 0.1, 1.0), "alpha": Ordered(1e-4, 1e-2)}


def example() -> tuple[Callable[[], EstimatorTrainer], dict[str, Ordered]]:
    """A factory of trainers, and their space.

    >>> make, space = example()
    >>> trainer = make(); trainer.train_k(1, {"eta0": 0.1, "alpha": 1e-4})
    >>> sorted(trainer.metrics())
    ['val_score']
    """
    return make, _SPACE


def make() -> EstimatorTrainer:
    """Averaged weights, and a generator in the estimator too.

    >>> sorted(make().hyperparameters())
    ['alpha', 'eta0']
    """
    X = np.random.default_rng(0).normal(size=(120, 3))
    y = X[:, 0] + X[:, 1] > 0
    estimator = SGDClassifier(
        loss="log_loss",
        learning_rate="constant",
        eta0=0.1,
        average=True,
        random_state=np.random.RandomState(0),
    )
    return trainer_from_estimator(
        estimator,
        X[:80],
        y[:80],
        space=_SPACE,
        validation=(X[80:], y[80:]),
        batch_size=40,
    )
