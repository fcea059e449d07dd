"""An estimator of scikit-learn as a trainer: an epoch is one pass over the data by partial_fit."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.metrics import check_scoring
from sklearn.utils.validation import check_is_fitted

from dynhp import Space
from dynhp.errors import SettingsError, nearest, shown
from dynhp.loops.parts import copy_back, copy_out
from dynhp.records import Metrics, Value
from dynhp.spaces import SpaceLike
from dynhp.trainer import State
from dynhp_sklearn.integration import RATES
from dynhp_sklearn.refusals import require_adaptable, require_incremental

__all__ = ["LOSSES", "Examples", "EstimatorTrainer", "seeded", "trainer_from_estimator"]

LOSSES = ("train_loss", "val_loss")
"""Metrics that are measured only if they are read: minus the score, so lower is better."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Examples:
    """Inputs, targets, and weights where there are any."""

    X: Any
    y: Any
    weight: Any = None

    def take(self, rows: Any) -> Examples:
        """Some of them."""
        weight = None if self.weight is None else _rows(self.weight, rows)
        return Examples(X=_rows(self.X, rows), y=_rows(self.y, rows), weight=weight)

    def __len__(self) -> int:
        return int(self.X.shape[0]) if hasattr(self.X, "shape") else len(self.X)


def _rows(table: Any, rows: Any) -> Any:
    table = np.asarray(table) if isinstance(table, list) else table
    return getattr(table, "iloc", table)[rows]


class EstimatorTrainer:
    """A trainer around an estimator; ``trainer_from_estimator`` makes one.

    >>> from dynhp_sklearn.example import make
    >>> trainer = make(); trainer.train_k(2, {"eta0": 0.1, "alpha": 1e-4})
    >>> trainer.estimator.coef_.shape
    (1, 3)
    """

    def __init__(
        self,
        estimator: Any,
        train: Examples,
        validation: Examples,
        *,
        names: tuple[str, ...],
        scorer: Callable[..., float],
        classes: Any = None,
        batch_size: int | None = None,
        seed: int = 0,
        losses: Collection[str] = (),
    ) -> None:
        self.estimator = estimator
        self.kinds = {name: "learning_rate" for name in names if name in RATES}
        shape = estimator.get_params().get("learning_rate")
        falls = "eta0" in names and shape == "invscaling"
        self.driven_by = {"eta0": f"learning_rate={shape!r}"} if falls else {}
        self._train, self._validation = train, validation
        self._names, self._scorer, self._losses = names, scorer, _require_losses(losses)
        self._classes, self._batch_size = classes, batch_size
        self._rng = np.random.default_rng(seed)

    def get_state(self) -> State:
        """A copy of the estimator, and of the generator that shuffles batches."""
        return copy_out(self.estimator), self._rng.bit_generator.state

    def set_state(self, state: State) -> None:
        """Make the estimator what it was; it stays the same object."""
        content, generator = state
        copy_back(self.estimator, content)
        self._rng.bit_generator.state = generator

    def reseed(self, seed: int) -> None:
        """Seed the generator that shuffles batches, and the estimator's own."""
        self._rng = np.random.default_rng(seed)
        seeded(self.estimator, np.random.RandomState(seed % 2**32), replace=True)

    def train_k(self, k: int, hyperparameters: Mapping[str, Value]) -> None:
        """Go over the data ``k`` times with these values."""
        for name in hyperparameters:
            if name not in self._names:
                raise SettingsError(
                    f"unknown hyperparameter {shown(name)}{nearest(name, self._names)}"
                )
        self.estimator.set_params(**hyperparameters)
        for _ in range(k):
            if self._batch_size is None:
                self._learn(self._train)
                continue
            order = self._rng.permutation(len(self._train))
            for start in range(0, len(order), self._batch_size):
                self._learn(self._train.take(order[start : start + self._batch_size]))

    def _learn(self, batch: Examples) -> None:
        extra = {} if self._classes is None else {"classes": self._classes}
        if batch.weight is not None:
            extra["sample_weight"] = batch.weight
        self.estimator.partial_fit(batch.X, batch.y, **extra)

    def metrics(self) -> Metrics:
        """The score on the validation data, and losses; nothing before the first epoch."""
        try:
            check_is_fitted(self.estimator)
        except NotFittedError:
            return {}
        metrics = {"val_score": self._score(self._validation)}
        if "val_loss" in self._losses:
            metrics["val_loss"] = -metrics["val_score"]
        if "train_loss" in self._losses:
            metrics["train_loss"] = -self._score(self._train)
        return metrics

    def _score(self, rows: Examples) -> float:
        extra = {} if rows.weight is None else {"sample_weight": rows.weight}
        return float(self._scorer(self.estimator, rows.X, rows.y, **extra))

    def hyperparameters(self) -> dict[str, Value]:
        """What the estimator's parameters are now."""
        params = self.estimator.get_params()
        return {name: params[name] for name in self._names}


def trainer_from_estimator(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    space: SpaceLike,
    validation: tuple[Any, Any],
    scoring: Any = None,
    batch_size: int | None = None,
    sample_weight: Any = None,
    seed: int = 0,
    losses: Collection[str] = (),
) -> EstimatorTrainer:
    """A trainer for ``DynamicGridAdapter`` whose epoch is a pass over ``X``; its metric: val_score.

    The estimator itself is trained; give a ``clone`` of it where that is not wanted.

    Args:
        estimator: with ``partial_fit``, such as ``SGDClassifier``.
        X: inputs.
        y: targets.
        space: the parameters to adapt, and their values.
        validation: inputs and targets that tries are judged by.
        scoring: as in scikit-learn, such as "neg_log_loss"; the estimator's own score by default.
        batch_size: rows of one ``partial_fit``, shuffled in every epoch; all at once by default.
        sample_weight: weights of the rows of ``X``.
        seed: of the shuffling, and of an estimator without a ``random_state`` of its own.
        losses: what else to measure: "train_loss", minus the score on ``X``, which is what
            ``recommended("learning_rate")`` reads; "val_loss", minus ``val_score``.

    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import SGDClassifier
    >>> from dynhp import DynamicGridAdapter
    >>> X, y = load_iris(return_X_y=True)
    >>> trainer = trainer_from_estimator(
    ...     SGDClassifier(learning_rate="constant", eta0=0.01), X[::2], y[::2],
    ...     space={"eta0": [0.001, 0.01, 0.1]}, validation=(X[1::2], y[1::2]))
    >>> adapter = DynamicGridAdapter(trainer, {"eta0": [0.001, 0.01, 0.1]}, maximize="val_score",
    ...                              adapt_every=5, try_for=1)
    >>> adapter.run(10).epochs
    10
    """
    require_incremental(estimator)
    space = space if isinstance(space, Space) else Space(space)
    require_adaptable(estimator, space)
    if not isinstance(validation, tuple | list) or len(validation) != 2:
        raise SettingsError(
            "tries are judged on validation data, so validation must be (X_val, y_val), got "
            f"{shown(validation)}"
        )
    require_weights(estimator, sample_weight)
    seeded(estimator, np.random.RandomState(seed % 2**32))
    return EstimatorTrainer(
        estimator,
        Examples(X=X, y=y, weight=sample_weight),
        Examples(X=validation[0], y=validation[1]),
        names=tuple(space),
        scorer=check_scoring(estimator, scoring),
        classes=np.unique(y) if is_classifier(estimator) else None,
        batch_size=batch_size,
        seed=seed,
        losses=losses,
    )


def _require_losses(losses: Collection[str]) -> frozenset[str]:
    names = [losses] if isinstance(losses, str) else losses
    for name in names:
        if name not in LOSSES:
            raise SettingsError(f"there is no loss {shown(name)}{nearest(name, LOSSES)}")
    return frozenset(names)


def require_weights(estimator: Any, sample_weight: Any) -> None:
    """Refuse weights for an estimator that takes none."""
    takes = "sample_weight" in inspect.signature(estimator.partial_fit).parameters
    if sample_weight is not None and not takes:
        raise SettingsError(
            f"partial_fit of {type(estimator).__name__} takes no sample_weight; leave it out"
        )


def seeded(estimator: Any, rng: np.random.RandomState, *, replace: bool = False) -> None:
    """Give seeds to all generators of an estimator that have none, or to all of them."""
    for name, value in sorted(estimator.get_params().items()):
        if name.split("__")[-1] == "random_state" and (replace or value is None):
            estimator.set_params(**{name: int(rng.randint(2**31 - 1))})
