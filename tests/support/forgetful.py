"""Broken trainers whose mistake is about state: what is missing in it, and what it shares."""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from dynhp.testing import NoisyQuadratic


class _Forgets(NoisyQuadratic):
    """One entry is not in its state; the base of two doubles."""

    entry: ClassVar[str]

    def get_state(self) -> dict[str, Any]:
        return {**super().get_state(), self.entry: None}

    def set_state(self, state: Mapping[str, Any]) -> None:
        super().set_state({**state, self.entry: super().get_state()[self.entry]})


class ForgetsGenerator(_Forgets):
    """Its random generator is not in its state."""

    entry = "generator"


class MomentumOutside(_Forgets):
    """Its momentum is not in its state."""

    entry = "velocity"


class UsesNumpyGlobal(NoisyQuadratic):
    """Draws from numpy's global generator."""

    def draw(self) -> Any:
        return np.random.standard_normal(self.weights.size)


class UsesPythonGlobal(NoisyQuadratic):
    """Draws from Python's global generator."""

    def draw(self) -> Any:
        return np.array([random.gauss(0, 1) for _ in self.weights])


class WritesInPlace(NoisyQuadratic):
    """Sound, but its steps write into the arrays it has; the base of two doubles."""

    def step(self, lr: float, momentum: float) -> None:
        weights, velocity = self.weights, self.velocity
        super().step(lr, momentum)
        weights[:], velocity[:] = self.weights, self.velocity
        self.weights, self.velocity = weights, velocity


class HandsOutLiveState(WritesInPlace):
    """Hands out the arrays that it goes on to train."""

    def get_state(self) -> dict[str, Any]:
        return {**super().get_state(), "weights": self.weights, "velocity": self.velocity}


class HandsOutLiveLog(NoisyQuadratic):
    """Hands out the list that it goes on to write; what is too much, set_state cuts off."""

    def __init__(self) -> None:
        super().__init__()
        self.risks: list[float] = []

    def get_state(self) -> dict[str, Any]:
        return {**super().get_state(), "risks": self.risks}

    def set_state(self, state: Mapping[str, Any]) -> None:
        super().set_state(state)
        self.risks = state["risks"][: self.steps]

    def step(self, lr: float, momentum: float) -> None:
        super().step(lr, momentum)
        self.risks.append(self.metrics()["loss"])


class TrainsOnHandedInState(WritesInPlace):
    """Trains on the arrays that it was handed."""

    def set_state(self, state: Mapping[str, Any]) -> None:
        super().set_state(state)
        self.weights, self.velocity = state["weights"], state["velocity"]


class CounterOutside(NoisyQuadratic):
    """Its learning rate decays with a count of steps that is not in its state."""

    count = 0

    def step(self, lr: float, momentum: float) -> None:
        super().step(lr / (1 + self.count), momentum)
        self.count += 1


class NewOptimiserOnRestore(NoisyQuadratic):
    """Every set_state starts with a new optimiser, so the momentum is lost each time."""

    def set_state(self, state: Mapping[str, Any]) -> None:
        super().set_state({**state, "velocity": np.zeros_like(self.velocity)})


class MadeDifferently(NoisyQuadratic):
    """Each one that is made has noise of its own, which is not in its state."""

    made = itertools.count()

    def __init__(self) -> None:
        super().__init__()
        self.number = next(self.made)

    def draw(self) -> Any:
        return super().draw() + self.number


class DependsOnItsProcess(NoisyQuadratic):
    """The process' number gets into the noise."""

    def draw(self) -> Any:
        return super().draw() + os.getpid()
