"""Broken trainers that leave something out of the state, or keep it where others share it."""

from __future__ import annotations

import itertools
import os
import random
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np

from tests.support.zoo.base import Sgd, X, Y


class SameEpochReturnsEarly(Sgd):
    def set_state(self, state: Any) -> None:
        if state["epoch"] != self.epoch:
            super().set_state(state)


class KeepsWhenBetter(Sgd):
    def set_state(self, state: Any) -> None:
        loss = self.loss()
        before = self.get_state()
        super().set_state(state)
        if loss < self.loss():
            super().set_state(before)


class Accumulates(Sgd):
    """Steps only every few epochs; the gradients in between are not in the state."""

    period = 2

    def __init__(self) -> None:
        super().__init__()
        self.sum = np.zeros(3)

    def train_epoch(self, lr: float) -> None:
        self.sum = self.sum + self.gradient(self.rng.permutation(12)[:6])
        self.epoch += 1
        if self.epoch % self.period == 0:
            self.update(lr, self.sum / self.period)
            self.sum = np.zeros(3)


class AccumulatesThree(Accumulates):
    period = 3


class AccumulatesFour(Accumulates):
    period = 4


class Shards(Sgd):
    """Takes parts of the data in turn; whose turn it is, is not in the state."""

    shards = 2
    turn = 0

    def batches(self) -> Any:
        self.turn += 1
        return [np.arange(12)[self.turn % self.shards :: self.shards]]


class ThreeShards(Shards):
    shards = 3


class HalfEpochs(Sgd):
    """Stores half of its epochs, and whole numbers only."""

    def get_state(self) -> Any:
        return {**super().get_state(), "epoch": self.epoch // 2}

    def set_state(self, state: Any) -> None:
        super().set_state({**state, "epoch": state["epoch"] * 2})

    def batches(self) -> Any:
        return [np.arange(12)[self.epoch % 2 :: 2]]


class ForgetsMomentum(Sgd):
    def set_state(self, state: Any) -> None:
        super().set_state({**state, "v": self.v})


class NewMomentum(Sgd):
    def set_state(self, state: Any) -> None:
        super().set_state({**state, "v": np.zeros(3)})


class SeedsOnRestore(Sgd):
    def set_state(self, state: Any) -> None:
        super().set_state(state)
        self.rng = np.random.default_rng(1)


class DrawsOnRestore(Sgd):
    def set_state(self, state: Any) -> None:
        super().set_state(state)
        self.rng.random()


class PythonRandom(Sgd):
    def batches(self) -> Any:
        return [random.sample(range(12), 4) for _ in range(3)]


class NumpyRandom(Sgd):
    def batches(self) -> Any:
        return np.split(np.random.permutation(12), 3)


COUNT = itertools.count(1)


class ModuleCounter(Sgd):
    def train_epoch(self, lr: float) -> None:
        super().train_epoch(lr / (1 + next(COUNT) % 7))


class SharedByClass(Sgd):
    seen: ClassVar[dict[str, int]] = defaultdict(int)

    def train_epoch(self, lr: float) -> None:
        self.seen["epochs"] += 1
        super().train_epoch(lr / (1 + self.seen["epochs"] % 2))


class CallCounter(Sgd):
    calls = 0

    def train_k(self, k: int, hyperparameters: Mapping[str, Any]) -> None:
        self.calls += 1
        if self.calls % 4:
            super().train_k(k, hyperparameters)


class WarmsUpFirst(Sgd):
    warm = False

    def train_k(self, k: int, hyperparameters: Mapping[str, Any]) -> None:
        if not self.warm:
            self.train_epoch(0.001)
        self.warm = True
        super().train_k(k, hyperparameters)


class KeptIterator(Sgd):
    def __init__(self) -> None:
        super().__init__()
        self.rows = itertools.cycle(np.split(np.arange(12), 4))

    def batches(self) -> Any:
        return [next(self.rows) for _ in range(3)]


class Closure(Sgd):
    def __init__(self) -> None:
        super().__init__()
        calls = 0

        def scale() -> float:
            nonlocal calls
            calls += 1
            return 1 / calls

        self.scale = scale

    def train_epoch(self, lr: float) -> None:
        super().train_epoch(lr * self.scale())


class Position(Sgd):
    """Its generator is in the state, its position in the shuffled data is not."""

    queue: Any = ()

    def batches(self) -> Any:
        if len(self.queue) < 5:
            self.queue = self.rng.permutation(12)
        rows, self.queue = self.queue[:5], self.queue[5:]
        return [rows]


class Clock(Sgd):
    def __init__(self) -> None:
        super().__init__()
        self.began = time.perf_counter()

    def train_epoch(self, lr: float) -> None:
        super().train_epoch(lr / (1 + time.perf_counter() - self.began))


class SlowClock(Sgd):
    """Its learning rate falls with the minutes."""

    def __init__(self) -> None:
        super().__init__()
        self.began = time.time()

    def train_epoch(self, lr: float) -> None:
        super().train_epoch(lr * 0.5 ** int((time.time() - self.began) / 30))


class HashOfText(Sgd):
    def update(self, lr: float, gradient: Any) -> None:
        super().update(lr, gradient + 1e-3 * (hash("noise") % 1000))


class ProcessNumber(Sgd):
    def update(self, lr: float, gradient: Any) -> None:
        super().update(lr, gradient + 1e-6 * os.getpid())


class Float32OnRestore(Sgd):
    def set_state(self, state: Any) -> None:
        super().set_state({**state, "w": state["w"].astype(np.float32).astype(float)})


class Float16InState(Sgd):
    def get_state(self) -> Any:
        return {**super().get_state(), "w": self.w.astype(np.float16)}

    def set_state(self, state: Any) -> None:
        super().set_state({**state, "w": state["w"].astype(float)})


class Merges(Sgd):
    """Its state is a dictionary that set_state updates and does not replace."""

    def __init__(self) -> None:
        super().__init__()
        self.sums: dict[int, float] = {}

    def get_state(self) -> Any:
        return {**super().get_state(), "sums": dict(self.sums)}

    def set_state(self, state: Any) -> None:
        super().set_state(state)
        self.sums.update(state["sums"])

    def train_epoch(self, lr: float) -> None:
        self.sums[self.epoch] = 1.0
        super().train_epoch(lr / len(self.sums))


class Appends(Merges):
    def __init__(self) -> None:
        super().__init__()
        self.losses: list[float] = []

    def get_state(self) -> Any:
        return {**Sgd.get_state(self), "losses": list(self.losses)}

    def set_state(self, state: Any) -> None:
        Sgd.set_state(self, state)
        self.losses += state["losses"]

    def train_epoch(self, lr: float) -> None:
        Sgd.train_epoch(self, lr)
        self.losses.append(self.loss())


class OmitsSometimes(Sgd):
    """Leaves the momentum out at odd epochs, and does not mind that it is missing."""

    def get_state(self) -> Any:
        state = super().get_state()
        return {k: v for k, v in state.items() if k != "v" or self.epoch % 2 == 0}

    def set_state(self, state: Any) -> None:
        super().set_state({"v": np.zeros(3), **state})


class NanBecomesZero(Sgd):
    worst = float("nan")

    def get_state(self) -> Any:
        return {**super().get_state(), "worst": self.worst}

    def set_state(self, state: Any) -> None:
        super().set_state(state)
        self.worst = float(np.nan_to_num(state["worst"]))

    def train_epoch(self, lr: float) -> None:
        super().train_epoch(lr)
        self.worst = self.worst if self.epoch < 3 else np.fmax(self.worst, -self.loss()).item()


class EpochOffByOne(Sgd):
    def set_state(self, state: Any) -> None:
        super().set_state({**state, "epoch": state["epoch"] + 1})

    def train_epoch(self, lr: float) -> None:
        super().train_epoch(lr / (1 + self.epoch))


class Patience(Sgd):
    """Stops to train after three epochs without a new best, which are counted outside."""

    best, bad = float("inf"), 0

    def train_epoch(self, lr: float) -> None:
        if self.bad < 2:
            super().train_epoch(lr)
        self.bad = 0 if self.loss() < 0.9 * self.best else self.bad + 1
        self.best = min(self.best, self.loss())


class AverageOutside(Sgd):
    """Measures averaged weights that are not in the state."""

    average: Any = 0.0

    def train_epoch(self, lr: float) -> None:
        super().train_epoch(lr)
        self.average = 0.5 * self.average + 0.5 * self.w

    def metrics(self) -> Any:
        return {"loss": float(np.mean((X @ (self.w * 0 + self.average) - Y) ** 2))}


class GoesOn(Sgd):
    """Something of each epoch is done after train_k has returned, as by a thread."""

    pending: ClassVar[list[Callable[[], None]]] = []

    def train_k(self, k: int, hyperparameters: Mapping[str, Any]) -> None:
        super().train_k(k, hyperparameters)
        self.pending.append(lambda: self.update(hyperparameters["lr"], np.ones(3)))

    @classmethod
    def wait(cls, seconds: float) -> None:
        """What happens while somebody waits."""
        for work in cls.pending:
            work()
        cls.pending.clear()
