"""A gradient-boosted table: LightGBM on the patients of scikit-learn's diabetes data."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import lightgbm as lgb
import numpy as np

from benchmarks.arena.tasks.contract import Measured
from dynhp.errors import Hint, SettingsError, nearest
from dynhp_lightgbm import lightgbm_trainer

__all__ = ["BoostedTrainer"]

TRAIN, VALIDATION = 200, 121
LEAST = 1e-6
"""LightGBM refuses a shrinkage of 0."""

PARAMETERS = {
    "objective": "regression", "num_leaves": 4, "min_data_in_leaf": 5, "learning_rate": 0.1,
    "num_threads": 1, "force_col_wise": True, "deterministic": True, "verbosity": -1,
}  # fmt: skip


@cache
def _patients() -> tuple[Any, Any]:
    from sklearn.datasets import load_diabetes

    x, y = load_diabetes(return_X_y=True)
    return x, (y - y.mean()) / y.std()


class BoostedTrainer:
    """Boosting whose rate is the shrinkage, with a factor for each tree; a step is a tree."""

    kinds: Mapping[str, str] = {"lr": "shrinkage"}

    def __init__(self, *, seed: int, steps: int, factors: Sequence[float] | None = None) -> None:
        x, y = _patients()
        order = np.random.default_rng(seed).permutation(len(y))
        rows, validation, test = np.split(order, [TRAIN, TRAIN + VALIDATION])
        train = lgb.Dataset(x[rows], y[rows], free_raw_data=False)
        sets = {
            part: lgb.Dataset(x[at], y[at], reference=train, free_raw_data=False)
            for part, at in (("training", rows), ("validation", validation), ("test", test))
        }
        self._spread = {"validation": float(y[validation].var()), "test": float(y[test].var())}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Hint)  # the training data are measured on purpose
            self._inner = lightgbm_trainer(
                PARAMETERS,
                train,
                space={"learning_rate": [LEAST, 0.1]},
                valid_sets=list(sets.values()),
                valid_names=list(sets),
            )
        self._steps, self._factors = steps, factors
        self._step, self.rate = 0, 0.1

    def get_state(self) -> tuple[Any, int]:
        """The values of all rounds."""
        return self._inner.get_state(), self._step

    def set_state(self, state: tuple[Any, int]) -> None:
        """Go back to a state."""
        inner, self._step = state
        self._inner.set_state(inner)

    def train_k(self, k: int, hyperparameters: Mapping[str, Any]) -> None:
        """Add the trees of ``k`` epochs."""
        for name in hyperparameters:
            if name != "lr":
                raise SettingsError(f"unknown hyperparameter {name!r}{nearest(name, ['lr'])}")
        self.rate = float(hyperparameters.get("lr", self.rate))
        for _ in range(k * self._steps):
            self._grow()

    def _grow(self) -> None:
        factor = 1.0
        if self._factors is not None:
            factor = self._factors[min(self._step, len(self._factors) - 1)]
        self._inner.train_k(1, {"learning_rate": max(LEAST, self.rate * factor)})
        self._step += 1

    @property
    def train_loss(self) -> float:
        """That of all trees, nan without any."""
        return self.metrics()["train_loss"]

    def metrics(self) -> dict[str, float]:
        """The training loss, and what validation says now."""
        if not self._step:
            return {"train_loss": math.nan, "val_loss": self._spread["validation"], "val": 0.0}
        measured = self._inner.metrics()
        loss = measured["validation-l2"]
        score = 100 * (1 - loss / self._spread["validation"])
        return {"train_loss": measured["training-l2"], "val_loss": loss, "val": score}

    def measure(self, part: Any, *, delivered: bool = True) -> Measured:
        """The share of the variance that is explained, in percent, and the loss."""
        if not self._step:
            return Measured(0.0, self._spread[part])
        loss = self._inner.metrics()[f"{part}-l2"]
        return Measured(100 * (1 - loss / self._spread[part]), loss)

    def hyperparameters(self) -> dict[str, float]:
        """The shrinkage in force, without the factor of the tree."""
        return {"lr": self.rate}
