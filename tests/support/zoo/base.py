"""A sound small trainer that all others of the zoo are made from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

X = np.random.default_rng(7).normal(size=(12, 3))
Y = X @ np.array([1.0, -2.0, 0.5]) + 0.1 * np.random.default_rng(8).normal(size=12)
LR = {"lr": [0.01, 0.02, 0.05, 0.08, 0.1]}


class Sgd:
    """Stochastic gradient descent with momentum on a small regression: sound."""

    names: tuple[str, ...] = ("lr",)

    def __init__(self) -> None:
        self.w = np.zeros(3)
        self.v = np.zeros(3)
        self.rng = np.random.default_rng(1)
        self.epoch = 0

    def get_state(self) -> Any:
        return {
            "w": self.w.copy(),
            "v": self.v.copy(),
            "rng": self.rng.bit_generator.state,
            "epoch": self.epoch,
        }

    def set_state(self, state: Any) -> None:
        self.w, self.v = state["w"].copy(), state["v"].copy()
        self.rng.bit_generator.state = state["rng"]
        self.epoch = state["epoch"]

    def train_k(self, k: int, hyperparameters: Mapping[str, Any]) -> None:
        self.check(hyperparameters)
        for _ in range(k):
            self.train_epoch(hyperparameters["lr"])

    def check(self, hyperparameters: Mapping[str, Any]) -> None:
        if set(hyperparameters) != set(self.names):
            raise KeyError(f"known are {self.names}, got {sorted(hyperparameters)}")

    def train_epoch(self, lr: float) -> None:
        for rows in self.batches():
            self.update(lr, self.gradient(rows))
        self.epoch += 1

    def batches(self) -> Any:
        return np.split(self.rng.permutation(12), 3)

    def gradient(self, rows: Any) -> Any:
        return X[rows].T @ (X[rows] @ self.w - Y[rows]) / len(rows)

    def update(self, lr: float, gradient: Any) -> None:
        self.v = 0.8 * self.v - lr * gradient
        self.w = self.w + self.v

    def loss(self) -> float:
        return float(np.mean((X @ self.w - Y) ** 2))

    def metrics(self) -> Any:
        return {"loss": self.loss()}


class InPlace(Sgd):
    """Sound; its updates write into the arrays it has."""

    def update(self, lr: float, gradient: Any) -> None:
        self.v *= 0.8
        self.v -= lr * gradient
        self.w += self.v
