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
from tests.support.zoo.shares import TriesInOnePass
from tests.support.zoo.value_habits import VALUE_HABITS


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


class MeasuresWithValue(Sgd):
    """Its metric depends on the value in force, which is not in the state."""

    lr = 0.05

    def train_epoch(self, lr: float) -> None:
        super().train_epoch(lr)
        self.lr = lr

    def metrics(self) -> Any:
        return {"loss": self.loss() + self.lr * float(np.sum(self.w**2))}


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
            *(StopsEarly, TenEpochs, Keywords, Seeded),
            *(
                JoinedThread,
                PureCache,
                LogsOutside,
                Modes,
                MeasuresWithValue,
                Single,
                Linear,
                TriesInOnePass,
                kept_best,
            ),
        )
    },
    **VALUE_HABITS,
}
