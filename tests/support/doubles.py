"""Deliberately broken trainers, one mistake each, to prove that the laws catch it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import numpy as np

from dynhp.records import Metrics, Value
from dynhp.spaces import Categorical, Ordered, Space
from dynhp.testing import NoisyQuadratic
from dynhp.testing.executors.chameleon import LiesAboutValues
from dynhp.trainer import State, Trainer
from tests.support import forgetful

__all__ = ["BROKEN", "SPACE", "SPACES", "Broken"]

SPACE: Final = Space({"lr": Ordered(0.02, 0.05, 0.1)})
"""A space for every double that adapts its rate."""

WAYS: Final = ("sgd", "first", "second", "third", "fourth", "fifth", "sixth", "adam")
SPACES: Final = {
    "has a memory in one category": Space({"way": Categorical("sgd", "slow", "adam")}),
    "raises for one of many categories": Space({"way": Categorical(*WAYS)}),
}
"""The spaces of the other doubles."""


class IgnoresSeed(NoisyQuadratic):
    """Its reseed does nothing."""

    def reseed(self, seed: int) -> None:
        pass


class IgnoresValue(NoisyQuadratic):
    """Trains with the same learning rate whatever it is given."""

    def step(self, lr: float, momentum: float) -> None:
        super().step(0.05, momentum)


class AcceptsAnyName(NoisyQuadratic):
    """Takes what it knows and drops the rest."""

    def train_k(self, k: int, hyperparameters: Mapping[str, Value]) -> None:
        super().train_k(k, {"lr": hyperparameters["lr"]})


class RestoresOldValue(NoisyQuadratic):
    """Its state brings the old value back, and a value that seems set is not set again."""

    lr: Any = 0.1
    last: Any = None

    def get_state(self) -> dict[str, Any]:
        return {**super().get_state(), "lr": self.lr}

    def set_state(self, state: Mapping[str, Any]) -> None:
        super().set_state(state)
        self.lr = state["lr"]

    def train_k(self, k: int, hyperparameters: Mapping[str, Value]) -> None:
        if hyperparameters["lr"] != self.last:
            self.lr = self.last = hyperparameters["lr"]
        super().train_k(k, {**hyperparameters, "lr": self.lr})


class SetsWhileTraining(NoisyQuadratic):
    """Its value is set where it is used, in the loop over the epochs: not if there are none."""

    lr: Any = 0.1

    def train_k(self, k: int, hyperparameters: Mapping[str, Value]) -> None:
        for _ in range(k):
            super().train_k(1, hyperparameters)
            self.lr = hyperparameters["lr"]

    def hyperparameters(self) -> dict[str, Value]:
        return {"lr": self.lr}


class MissingDefault(NoisyQuadratic):
    """Its hyperparameter has no default: it cannot be told before the first epoch."""

    def train_k(self, k: int, hyperparameters: Mapping[str, Value]) -> None:
        super().train_k(k, hyperparameters)
        self.lr = hyperparameters["lr"]

    def hyperparameters(self) -> dict[str, Value]:
        return {"lr": self.lr}


class MiddleCategory(NoisyQuadratic):
    """Two of its ways to train are sound; the one in the middle has a memory of its own."""

    memory = 0.0
    way: Value = "sgd"

    def hyperparameters(self) -> dict[str, Value]:
        return {"way": self.way}

    def train_k(self, k: int, hyperparameters: Mapping[str, Value]) -> None:
        way = self.way = hyperparameters["way"]
        if set(hyperparameters) != {"way"} or way not in (*WAYS, "slow"):
            raise KeyError(f"known are {WAYS}, got {dict(hyperparameters)}")
        for _ in range(k):
            if way == "slow":
                self.memory = 0.5 * self.memory + 0.02
            lr = {"sgd": 0.05, "slow": self.memory}.get(str(way), 0.1)
            super().train_k(1, {"lr": lr})


class MiddleRaises(MiddleCategory):
    """It has many ways, and one of them raises."""

    def train_k(self, k: int, hyperparameters: Mapping[str, Value]) -> None:
        if hyperparameters["way"] == "third":
            raise ValueError("no way 'third'")
        super().train_k(k, hyperparameters)


class MetricsTrain(NoisyQuadratic):
    """Measuring takes a step."""

    def metrics(self) -> dict[str, float]:
        before = super().metrics()
        self.step(0.01, 0.9)
        return before


class MetricsOfNumpy(NoisyQuadratic):
    """Its metrics are numpy's numbers."""

    def metrics(self) -> dict[str, Any]:
        return {name: np.float32(value) for name, value in super().metrics().items()}


class InfiniteMetrics(NoisyQuadratic):
    """One of its metrics is infinite."""

    def metrics(self) -> dict[str, float]:
        return {**super().metrics(), "best": math.inf}


class GetStateDraws(NoisyQuadratic):
    """Handing out a state draws a random number."""

    def get_state(self) -> dict[str, Any]:
        self.draw()
        return super().get_state()


class NewOptimiserEachCall(NoisyQuadratic):
    """Every train_k starts with a new optimiser, so three calls are not one."""

    def train_k(self, k: int, hyperparameters: Mapping[str, Value]) -> None:
        self.velocity = np.zeros_like(self.velocity)
        super().train_k(k, hyperparameters)


class ValueLeaks(NoisyQuadratic):
    """Trains with the mean of this value and the one of the try before."""

    last: Any = None

    def train_k(self, k: int, hyperparameters: Mapping[str, Value]) -> None:
        super().train_k(k, hyperparameters)
        self.last = hyperparameters["lr"]

    def step(self, lr: float, momentum: float) -> None:
        super().step(lr if self.last is None else (lr + self.last) / 2, momentum)


class BatchSharesNoise(NoisyQuadratic):
    """All tries in one pass, but each goes on with the random numbers of the one before."""

    def try_batch(
        self, origin: State, candidates: Sequence[Mapping[str, Value]], k: int
    ) -> list[tuple[list[Metrics], State]]:
        """Train each candidate from ``origin``, with one generator for all."""
        done: list[tuple[list[Metrics], State]] = []
        generator = origin["generator"]
        for candidate in candidates:
            self.set_state({**origin, "generator": generator})
            self.train_k(k, candidate)
            generator = self.rng.bit_generator.state
            done.append(([self.metrics()], self.get_state()))
        return done


Broken: TypeAlias = tuple[Callable[[], Trainer], str]
"""A factory of a broken trainer, and the law that catches it."""

BROKEN: Final[Mapping[str, Broken]] = MappingProxyType(
    {
        "forgets its random state": (forgetful.ForgetsGenerator, "restore"),
        "uses numpy's global generator": (forgetful.UsesNumpyGlobal, "restore"),
        "uses Python's global generator": (forgetful.UsesPythonGlobal, "restore"),
        "hands out live state": (forgetful.HandsOutLiveState, "isolation"),
        "hands out a live list": (forgetful.HandsOutLiveLog, "isolation"),
        "trains in place on a handed-in state": (forgetful.TrainsOnHandedInState, "isolation"),
        "keeps momentum outside the state": (forgetful.MomentumOutside, "restore"),
        "keeps a counter outside the state": (forgetful.CounterOutside, "restore"),
        "starts a new optimiser on restore": (forgetful.NewOptimiserOnRestore, "restore"),
        "is made differently each time": (forgetful.MadeDifferently, "restore"),
        "depends on its process": (forgetful.DependsOnItsProcess, "restore"),
        "ignores the seed": (IgnoresSeed, "restore"),
        "ignores the value": (IgnoresValue, "force"),
        "accepts any name": (AcceptsAnyName, "force"),
        "lies in hyperparameters()": (LiesAboutValues, "force"),
        "restores an old value over the new one": (RestoresOldValue, "force"),
        "sets its value only while training": (SetsWhileTraining, "force"),
        "has no default": (MissingDefault, "force"),
        "has a memory in one category": (MiddleCategory, "restore"),
        "raises for one of many categories": (MiddleRaises, "force"),
        "metrics that train": (MetricsTrain, "purity"),
        "metrics that are not floats": (MetricsOfNumpy, "purity"),
        "metrics that are infinite": (InfiniteMetrics, "purity"),
        "get_state draws random numbers": (GetStateDraws, "purity"),
        "starts a new optimiser in each call": (NewOptimiserEachCall, "composition"),
        "lets a value leak into the next try": (ValueLeaks, "order"),
        "shares noise among tries in one pass": (BatchSharesNoise, "order"),
    }
)
"""Every double by what is wrong with it."""
