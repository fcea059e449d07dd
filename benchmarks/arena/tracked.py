"""A trainer that notes the test value of its best-validation checkpoint, and counts its epochs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from benchmarks.arena.tasks.contract import Measured
from dynhp.trainer import Reseeds

__all__ = ["Checkpoint", "MeasuredTrainer", "Tracked"]


class MeasuredTrainer(Protocol):
    """A trainer that can also be measured on its test data."""

    kinds: Mapping[str, str]

    @property
    def train_loss(self) -> float: ...
    def get_state(self) -> Any: ...
    def set_state(self, state: Any) -> None: ...
    def train_k(self, k: int, hyperparameters: Mapping[str, Any]) -> None: ...
    def metrics(self) -> dict[str, float]: ...
    def measure(self, part: Any) -> Measured: ...
    def hyperparameters(self) -> dict[str, float]: ...


class Checkpoint(NamedTuple):
    """The best epoch so far by validation, and what the test data say of it."""

    val: float
    test: float


class Tracked:
    """Every arm trains through this one, so all are measured alike.

    After each epoch the model is validated; where that is better than ever, it is tested. Both are
    a part of the state: what a try finds is lost with the try. The epochs are counted whatever
    becomes of them. An untrained model is the first checkpoint, so there always is one.
    """

    def __init__(self, trainer: MeasuredTrainer) -> None:
        self.trainer = trainer
        self.kinds = trainer.kinds
        self.hyperparameters = trainer.hyperparameters
        if isinstance(trainer, Reseeds):  # not where nothing is drawn
            self.reseed = trainer.reseed
        self.trained = 0
        self._last = trainer.metrics()
        self.best = self._checkpoint(self._last["val"])

    def get_state(self) -> Any:
        """The trainer's state, what it measured last, and its best checkpoint."""
        return self.trainer.get_state(), dict(self._last), tuple(self.best)

    def set_state(self, state: Any) -> None:
        """Take it all back."""
        inner, last, best = state
        self.trainer.set_state(inner)
        self._last, self.best = dict(last), Checkpoint(*best)

    def train_k(self, k: int, hyperparameters: Mapping[str, Any]) -> None:
        """Train epoch by epoch, each one measured."""
        if not k:
            self.trainer.train_k(0, hyperparameters)  # which refuses what it does not know
        for _ in range(k):
            self.trained += 1
            self.trainer.train_k(1, hyperparameters)
            self._last = self.trainer.metrics()
            val = self._last["val"]
            if math.isfinite(val) and val > self.best.val:
                self.best = self._checkpoint(val)

    def metrics(self) -> dict[str, float]:
        """What was measured after the last epoch, and the validation score of the checkpoint."""
        return {**self._last, "best_val": self.best.val}

    def _checkpoint(self, val: float) -> Checkpoint:
        return Checkpoint(val, self.trainer.measure("test").score)
