"""Sound trainers whose values have an effect in a way of their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tests.support.zoo.base import LR, Sgd, X, Y
from tests.support.zoo.values import Stored


class Momentum(Sgd):
    names = ("momentum",)

    def train_k(self, k: int, hyperparameters: Mapping[str, Any]) -> None:
        self.check(hyperparameters)
        for _ in range(k):
            self.v = self.v * hyperparameters["momentum"] / 0.8
            self.train_epoch(0.02)


class Ridge(Sgd):
    """Solves its problem anew in each epoch; nothing lasts, and its metric is coarse."""

    names = ("alpha",)

    def train_k(self, k: int, hyperparameters: Mapping[str, Any]) -> None:
        self.check(hyperparameters)
        self.w = np.linalg.solve(X.T @ X + hyperparameters["alpha"] * np.eye(3), X.T @ Y)
        self.epoch += k

    def metrics(self) -> Any:
        return {"good": float(self.loss() < 100.0)}


class Threshold(Sgd):
    """Its value decides only what is measured, as a threshold does."""

    names = ("threshold",)
    threshold = 0.0

    def train_k(self, k: int, hyperparameters: Mapping[str, Any]) -> None:
        self.check(hyperparameters)
        self.threshold = hyperparameters["threshold"]
        for _ in range(k):
            self.train_epoch(0.05)

    def metrics(self) -> Any:
        return {"positive": float(np.mean(X @ self.w > self.threshold))}


class Clip(Sgd):
    """Large values of its clip are all alike."""

    names = ("clip",)

    def train_k(self, k: int, hyperparameters: Mapping[str, Any]) -> None:
        self.check(hyperparameters)
        self.clip = hyperparameters["clip"]
        for _ in range(k):
            self.train_epoch(0.05)

    def update(self, lr: float, gradient: Any) -> None:
        norm = float(np.linalg.norm(gradient))
        super().update(lr, gradient * min(1.0, self.clip / norm))


class Conditional(Sgd):
    """The second value counts for one of the kinds only."""

    names = ("kind", "decay")

    def train_k(self, k: int, hyperparameters: Mapping[str, Any]) -> None:
        self.check(hyperparameters)
        for _ in range(k):
            if hyperparameters["kind"] == "decay":
                self.w = self.w * (1 - hyperparameters["decay"])
            self.train_epoch(0.05)


class Growth(Sgd):
    """One number of its state grows by the value, and decides the epochs after."""

    names = ("growth",)
    scale = 1.0

    def get_state(self) -> Any:
        return {**super().get_state(), "scale": self.scale}

    def set_state(self, state: Any) -> None:
        super().set_state(state)
        self.scale = state["scale"]

    def train_k(self, k: int, hyperparameters: Mapping[str, Any]) -> None:
        self.check(hyperparameters)
        for _ in range(k):
            self.train_epoch(0.01 * self.scale)
            self.scale *= hyperparameters["growth"]


class StoredAndUsed(Stored):
    def train_k(self, k: int, hyperparameters: Mapping[str, Any]) -> None:
        self.used = hyperparameters["lr"]
        super().train_k(k, hyperparameters)


class Float32Value(Sgd):
    lr: Any = np.float32(0.05)

    def train_k(self, k: int, hyperparameters: Mapping[str, Any]) -> None:
        super().train_k(k, hyperparameters)
        self.lr = np.float32(hyperparameters["lr"])

    def hyperparameters(self) -> Any:
        return {"lr": float(self.lr)}


VALUE_HABITS: dict[str, tuple[Callable[[], Any], dict[str, Any]]] = {
    "StoredAndUsed": (StoredAndUsed, LR),
    "Float32Value": (Float32Value, LR),
    "Momentum": (Momentum, {"momentum": [0.0, 0.5, 0.9]}),
    "Ridge": (Ridge, {"alpha": [0.01, 0.1, 1.0]}),
    "Threshold": (Threshold, {"threshold": [-1.0, 0.0, 1.0]}),
    "Clip": (Clip, {"clip": [0.1, 1.0, 1000.0, 2000.0]}),
    "Conditional": (Conditional, {"kind": ["none", "decay"], "decay": [0.0, 0.1, 0.2]}),
    "Growth": (Growth, {"growth": [1.1, 1.5, 2.0]}),
}
