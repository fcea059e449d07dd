"""Sound trainers with habits of their own, which must not be taken for mistakes."""

from __future__ import annotations

import functools
import random
import threading
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dynhp import KeepBest, lowest
from tests.support.zoo.base import LR, Sgd, X, Y
from tests.support.zoo.forgets import Accumulates
from tests.support.zoo.shares import Batch
from tests.support.zoo.values import Stored


class Unseeded(Sgd):
    """Each starts from other weights."""

    def __init__(self) -> None:
        super().__init__()
        self.w = np.random.default_rng().normal(size=3)


class GlobalGenerators(Sgd):
    """Uses global generators, seeds them when it is made, and has them in its state."""

    def __init__(self) -> None:
        super().__init__()
        random.seed(0)
        np.random.seed(0)

    def get_state(self) -> Any:
        return super().get_state(), random.getstate(), np.random.get_state()

    def set_state(self, state: Any) -> None:
        super().set_state(state[0])
        random.setstate(state[1])
        np.random.set_state(state[2])

    def batches(self) -> Any:
        return [[*random.sample(range(12), 3), *np.random.permutation(12)[:2]]]


class Lazy(Sgd):
    """Makes its momentum in the first epoch, and can measure nothing before."""

    def __init__(self) -> None:
        super().__init__()
        self.v = None  # type: ignore[assignment]

    def get_state(self) -> Any:
        return {**super_state(self), "v": None if self.v is None else self.v.copy()}

    def set_state(self, state: Any) -> None:
        self.w, self.epoch = state["w"].copy(), state["epoch"]
        self.v = None if state["v"] is None else state["v"].copy()
        self.rng.bit_generator.state = state["rng"]

    def update(self, lr: float, gradient: Any) -> None:
        self.v = np.zeros(3) if self.v is None else self.v
        super().update(lr, gradient)

    def metrics(self) -> Any:
        if self.v is None:
            raise RuntimeError("train first")
        return super().metrics()


def super_state(trainer: Sgd) -> dict[str, Any]:
    return {"w": trainer.w.copy(), "rng": trainer.rng.bit_generator.state, "epoch": trainer.epoch}


class LastLoss(Sgd):
    """Measures the loss of its last epoch, which is not in the state; nan before."""

    last = float("nan")

    def train_epoch(self, lr: float) -> None:
        super().train_epoch(lr)
        self.last = self.loss()

    def metrics(self) -> Any:
        return {"train_loss": self.last, "loss": self.loss()}


class LastLossZero(LastLoss):
    last = 0.0


class NanAtFirst(Sgd):
    def metrics(self) -> Any:
        return {"loss": self.loss(), "smooth": float("nan") if self.epoch < 3 else self.loss()}


class NewMetricLater(Sgd):
    def metrics(self) -> Any:
        return {"loss": self.loss(), **({"auc": 0.5 + self.loss()} if self.epoch > 2 else {})}


class MeasuresASample(Sgd):
    """Its generator for measuring starts anew each time."""

    def metrics(self) -> Any:
        rows = np.random.default_rng(self.epoch).permutation(12)[:6]
        return {"loss": float(np.mean((X[rows] @ self.w - Y[rows]) ** 2))}


class FailsForLarge(Sgd):
    def train_epoch(self, lr: float) -> None:
        if lr > 0.09 and self.epoch > 0:
            raise FloatingPointError("diverged")
        super().train_epoch(lr)


class NanForLarge(Sgd):
    def metrics(self) -> Any:
        return {"loss": float("nan") if abs(self.w).max() > 0.8 else self.loss()}


class WarmUp(Sgd):
    """Its value counts only from the sixth epoch on."""

    def train_epoch(self, lr: float) -> None:
        super().train_epoch(lr if self.epoch >= 5 else 0.001)


class ShortWarmUp(Sgd):
    """Its value counts only from the third epoch on."""

    def train_epoch(self, lr: float) -> None:
        super().train_epoch(lr if self.epoch >= 2 else 0.001)


class MeasuresWhatItTrained(Sgd):
    """Cannot measure before it has trained an epoch itself."""

    last: Any = None

    def train_epoch(self, lr: float) -> None:
        super().train_epoch(lr)
        self.last = self.loss()

    def metrics(self) -> Any:
        return {"loss": self.last + 0.0}


class Accumulating(Accumulates):
    """Steps every second epoch; the gradients in between are in the state."""

    def get_state(self) -> Any:
        return {**super().get_state(), "sum": self.sum.copy()}

    def set_state(self, state: Any) -> None:
        super().set_state(state)
        self.sum = state["sum"].copy()


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


class StopsEarly(Sgd):
    """Trains no more after four epochs; it knows that from its state."""

    def train_epoch(self, lr: float) -> None:
        if self.epoch < 4:
            super().train_epoch(lr)


class TenEpochs(Sgd):
    """As a schedule with a fixed number of steps: it raises after ten epochs."""

    def train_epoch(self, lr: float) -> None:
        if self.epoch >= 10:
            raise ValueError("tried to step 11 times, the total is 10")
        super().train_epoch(lr * (1 - self.epoch / 10))


class Keywords(Sgd):
    def train_k(self, k: int, hyperparameters: Mapping[str, Any]) -> None:
        self.train_with(k, **hyperparameters)

    def train_with(self, k: int, *, lr: float) -> None:
        super().train_k(k, {"lr": lr})


class Seeded(Sgd):
    def reseed(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)


class JoinedThread(Sgd):
    def train_epoch(self, lr: float) -> None:
        thread = threading.Thread(target=super().train_epoch, args=(lr,))
        thread.start()
        thread.join()


@functools.lru_cache
def decay(epoch: int) -> float:
    return 0.9**epoch


class PureCache(Sgd):
    def train_epoch(self, lr: float) -> None:
        super().train_epoch(lr * decay(self.epoch))


class LogsOutside(Sgd):
    """Keeps a log that nothing reads."""

    def __init__(self) -> None:
        super().__init__()
        self.log: list[float] = []

    def train_epoch(self, lr: float) -> None:
        super().train_epoch(lr)
        self.log.append(self.loss())


class Modes(Sgd):
    """Measuring leaves it in another mode, which is in its state; the next epoch puts it back."""

    mode = "new"

    def get_state(self) -> Any:
        return {**super().get_state(), "mode": self.mode}

    def set_state(self, state: Any) -> None:
        super().set_state(state)
        self.mode = state["mode"]

    def train_epoch(self, lr: float) -> None:
        self.mode = "training"
        super().train_epoch(lr)

    def metrics(self) -> Any:
        self.mode = "evaluation"
        return super().metrics()


class Single(Sgd):
    """One number is all it has."""

    def __init__(self) -> None:
        super().__init__()
        self.x = 1.0

    def get_state(self) -> Any:
        return self.x

    def set_state(self, state: Any) -> None:
        self.x = state

    def train_epoch(self, lr: float) -> None:
        self.x -= lr * self.x

    def metrics(self) -> Any:
        return {"loss": self.x**2}


class Tender(Single):
    """Its metric is coarse, and after some values others cannot be trained."""

    def train_epoch(self, lr: float) -> None:
        if lr == 0.05 and self.x > 3:
            raise FloatingPointError("diverged")
        self.x += 0.01 / lr

    def metrics(self) -> Any:
        return {"good": 1.0}


class Linear(Single):
    """Its one number grows by the value itself."""

    def train_epoch(self, lr: float) -> None:
        self.x += lr


def kept_best() -> Any:
    return KeepBest(Sgd(), criterion=lowest("loss"))


HABITS: dict[str, tuple[Callable[[], Any], dict[str, Any]]] = {
    **{
        make.__name__: (make, LR)
        for make in (
            *(Unseeded, GlobalGenerators, Lazy, LastLoss, LastLossZero, NanAtFirst),
            *(NewMetricLater, MeasuresASample, FailsForLarge, NanForLarge, WarmUp, ShortWarmUp),
            *(Accumulating, MeasuresWhatItTrained, Tender),
            *(StoredAndUsed, Float32Value, StopsEarly, TenEpochs, Keywords, Seeded),
            *(JoinedThread, PureCache, LogsOutside, Modes, Single, Linear, Batch, kept_best),
        )
    },
    "Momentum": (Momentum, {"momentum": [0.0, 0.5, 0.9]}),
    "Ridge": (Ridge, {"alpha": [0.01, 0.1, 1.0]}),
    "Threshold": (Threshold, {"threshold": [-1.0, 0.0, 1.0]}),
    "Clip": (Clip, {"clip": [0.1, 1.0, 1000.0, 2000.0]}),
    "Conditional": (Conditional, {"kind": ["none", "decay"], "decay": [0.0, 0.1, 0.2]}),
    "Growth": (Growth, {"growth": [1.1, 1.5, 2.0]}),
}
