"""A classifier in plain numpy, small enough for a demonstration and complete in its state."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from dynhp.errors import SettingsError
from dynhp.records import Value
from dynhp.testing.toys.quadratic import only_known

__all__ = ["SoftmaxRegression"]


class SoftmaxRegression:
    """Softmax regression by SGD on shuffled minibatches; an epoch is one pass over the data.

    A share of the rows, chosen by ``seed``, is held out for validation. ``ema_val_loss`` is that
    of averaged weights (a moving average over about an epoch). Hyperparameters that are not
    passed to ``train_k`` have the values given here.

    >>> x = np.array([[0.0], [1.0]] * 20); y = np.array([0, 1] * 20)
    >>> trainer = SoftmaxRegression(x, y, batch_size=8)
    >>> trainer.train_k(20, {"learning_rate": 1.0}); trainer.metrics()["val_accuracy"]
    1.0
    """

    def __init__(
        self,
        x: Any,
        y: Any,
        *,
        learning_rate: float = 0.1,
        weight_decay: float = 0.0,
        batch_size: int = 32,
        validation: float = 0.3,
        seed: int = 0,
    ) -> None:
        x, y = np.asarray(x, dtype=float), np.asarray(y)
        _require_data(x, y)
        self.rng = np.random.default_rng(seed)
        held, rest = _split(len(x), validation, self.rng)
        x = np.hstack([x, np.ones((len(x), 1))])  # the last weight is the bias
        classes, labels = np.unique(y, return_inverse=True)
        self.train = x[rest], labels[rest]
        self.held = x[held], labels[held]
        self.batch_size = batch_size
        self.defaults: dict[str, Any] = {
            "learning_rate": learning_rate,
            "weight_decay": weight_decay,
        }
        self.in_force = dict(self.defaults)
        self.weights = np.zeros((x.shape[1], len(classes)))
        self.average = self.weights

    def get_state(self) -> dict[str, Any]:
        """The weights, their average and the generator of the shuffling."""
        return {
            "weights": self.weights.copy(),
            "average": self.average.copy(),
            "generator": self.rng.bit_generator.state,
        }

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Take them back; training makes new arrays and never writes into old ones."""
        self.weights = state["weights"]
        self.average = state["average"]
        self.rng.bit_generator.state = state["generator"]

    def train_k(self, k: int, hyperparameters: Mapping[str, Value]) -> None:
        """``k`` passes over the shuffled training rows."""
        only_known(hyperparameters, tuple(self.defaults))
        self.in_force = {**self.defaults, **hyperparameters}
        rows = len(self.train[0])
        with np.errstate(all="ignore"):  # a value that diverges is a bad value, not a warning
            for _ in range(k):
                shuffled = self.rng.permutation(rows)
                for start in range(0, rows, self.batch_size):
                    self._step(shuffled[start : start + self.batch_size])

    def _step(self, batch: Any) -> None:
        x, labels = self.train[0][batch], self.train[1][batch]
        error = np.exp(_log_probabilities(x, self.weights))
        error[np.arange(len(batch)), labels] -= 1
        decay = self.in_force["weight_decay"] * self.weights
        gradient = x.T @ error / len(batch) + decay
        self.weights = self.weights - self.in_force["learning_rate"] * gradient
        share = min(1.0, self.batch_size / len(self.train[0]))
        self.average = self.average + share * (self.weights - self.average)

    def metrics(self) -> dict[str, float]:
        """Losses on both parts, and accuracy and the loss of averaged weights on the held-out."""
        with np.errstate(all="ignore"):
            guesses = _log_probabilities(self.held[0], self.weights).argmax(axis=1)
            return {
                "train_loss": _loss(self.train, self.weights),
                "val_loss": _loss(self.held, self.weights),
                "val_accuracy": float(np.mean(guesses == self.held[1])),
                "ema_val_loss": _loss(self.held, self.average),
            }

    def hyperparameters(self) -> dict[str, Value]:
        """The values last trained with."""
        return dict(self.in_force)

    def reseed(self, seed: int) -> None:
        """Seed the generator."""
        self.rng = np.random.default_rng(seed)


def _log_probabilities(x: Any, weights: Any) -> Any:
    scores = x @ weights
    scores -= scores.max(axis=1, keepdims=True)
    return scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))


def _loss(part: tuple[Any, Any], weights: Any) -> float:
    x, labels = part
    loss = -float(np.mean(_log_probabilities(x, weights)[np.arange(len(x)), labels]))
    return loss if math.isfinite(loss) else math.nan


def _split(rows: int, validation: float, rng: np.random.Generator) -> tuple[Any, Any]:
    held = round(rows * validation)
    if not 0 < held < rows:
        raise SettingsError(
            f"validation must leave rows on both sides, got {validation!r} of {rows} rows"
        )
    shuffled = rng.permutation(rows)
    return shuffled[:held], shuffled[held:]


def _require_data(x: Any, y: Any) -> None:
    if x.ndim != 2 or y.shape != x.shape[:1]:
        raise SettingsError(
            "x must be a table of rows and y one label for each row, "
            f"got shapes {x.shape} and {y.shape}"
        )
