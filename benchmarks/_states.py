"""Trainers for the benchmark of executors; in a module of their own, because workers import it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

__all__ = ["Busy", "LargeState", "compute"]


class LargeState:
    """A trainer whose state is one large array; training writes one number into it."""

    def __init__(self, megabytes: float) -> None:
        self.array = np.ones(int(megabytes * 1e6 / 8))

    def get_state(self) -> np.ndarray:
        return self.array.copy()

    def set_state(self, state: np.ndarray) -> None:
        np.copyto(self.array, state)

    def train_k(self, k: int, hyperparameters: Mapping[str, Any]) -> None:
        self.array[0] = hyperparameters["x"]

    def metrics(self) -> dict[str, float]:
        return {"score": float(self.array[0])}


class Busy:
    """A trainer that computes, in pure Python; with ``slope`` above 0, the less the larger x is."""

    def __init__(self, steps: int, slope: float = 0.0) -> None:
        self.steps = steps
        self.slope = slope
        self.value = 1

    def get_state(self) -> int:
        return self.value

    def set_state(self, state: int) -> None:
        self.value = state

    def train_k(self, k: int, hyperparameters: Mapping[str, Any]) -> None:
        x = hyperparameters["x"]
        for _ in range(k * round(self.steps * self.length(x))):
            self.value = (self.value * 48271 + x) % 2147483647

    def length(self, x: int) -> float:
        """How long an epoch takes, 1 where all are equal."""
        return 1.0 - self.slope * x

    def metrics(self) -> dict[str, float]:
        return {"score": float(self.value)}


def compute(steps: int) -> None:
    """The same work without any trainer, to see what two processes can do on this machine."""
    Busy(steps).train_k(1, {"x": 0})
