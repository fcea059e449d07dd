"""Broken trainers whose mistake is about the values, and about reading them back."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from tests.support.zoo.base import LR, Sgd


class Stored(Sgd):
    """Keeps the value in its state and reads it back, but trains with another."""

    lr: Any = 0.05
    used = 0.05

    def get_state(self) -> Any:
        return {**super().get_state(), "lr": self.lr}

    def set_state(self, state: Any) -> None:
        super().set_state(state)
        self.lr = state["lr"]

    def train_k(self, k: int, hyperparameters: Mapping[str, Any]) -> None:
        self.lr = hyperparameters["lr"]
        super().train_k(k, {**hyperparameters, "lr": self.used})

    def hyperparameters(self) -> Any:
        return {"lr": self.lr}


class StoredInOtherUnits(Stored):
    def get_state(self) -> Any:
        return {**super().get_state(), "lr": math.log10(self.lr)}

    def set_state(self, state: Any) -> None:
        super().set_state({**state, "lr": 10 ** state["lr"]})


class StoredInGroups(Stored):
    """As an optimiser whose groups were copied: the copies are set, others are used."""

    def get_state(self) -> Any:
        return {**super().get_state(), "groups": [{"lr": self.lr * 0.5**self.epoch}]}


class StoredHistory(Stored):
    def __init__(self) -> None:
        super().__init__()
        self.rates: list[float] = []

    def get_state(self) -> Any:
        return {**super().get_state(), "rates": list(self.rates)}

    def set_state(self, state: Any) -> None:
        super().set_state(state)
        self.rates = list(state["rates"])

    def train_epoch(self, lr: float) -> None:
        super().train_epoch(lr)
        self.rates.append(self.lr)


class MeasuresValue(Stored):
    def metrics(self) -> Any:
        return {**super().metrics(), "lr": float(self.lr)}


class LogsValue(Stored):
    def get_state(self) -> Any:
        return {**super().get_state(), "log": f"trained with lr={self.lr}"}


class IgnoresAndEnds(Sgd):
    """Ignores the value, and cannot be trained for long."""

    def train_epoch(self, lr: float) -> None:
        if self.epoch > 6:
            raise ValueError("the schedule is over")
        super().train_epoch(0.05)


class SecondIgnored(Sgd):
    names = ("lr", "decay")


class LateInState(Stored):
    """The first epoch is still trained with the value of before, which is in the state."""

    def train_k(self, k: int, hyperparameters: Mapping[str, Any]) -> None:
        self.check(hyperparameters)
        for _ in range(k):
            self.train_epoch(self.lr)
            self.lr = hyperparameters["lr"]


class LateOutside(Sgd):
    lr = 0.05

    def train_k(self, k: int, hyperparameters: Mapping[str, Any]) -> None:
        super().train_k(k, {**hyperparameters, "lr": self.lr})
        self.lr = hyperparameters["lr"]


class AtNextRestore(Sgd):
    lr, wanted = 0.05, 0.05

    def set_state(self, state: Any) -> None:
        super().set_state(state)
        self.lr = self.wanted

    def train_k(self, k: int, hyperparameters: Mapping[str, Any]) -> None:
        self.wanted = hyperparameters["lr"]
        super().train_k(k, {**hyperparameters, "lr": self.lr})


class FirstSticks(Sgd):
    lr: Any = None

    def train_epoch(self, lr: float) -> None:
        self.lr = self.lr or lr
        super().train_epoch(self.lr)


class LowestSticks(Sgd):
    lr = math.inf

    def train_epoch(self, lr: float) -> None:
        self.lr = min(self.lr, lr)
        super().train_epoch(self.lr)


class MiddleRaises(Sgd):
    def train_epoch(self, lr: float) -> None:
        table = {value: value for value in LR["lr"] if value != 0.02}
        super().train_epoch(table[lr])


class MiddleForgets(Sgd):
    """With one of its values, every second epoch is skipped, counted outside the state."""

    count = 0

    def train_epoch(self, lr: float) -> None:
        self.count += lr == 0.08
        super().train_epoch(lr * (1 + self.count % 2))


class Rounds(Sgd):
    def train_epoch(self, lr: float) -> None:
        super().train_epoch(0.05 + round(lr))


class RoundsAndSaysSo(Stored):
    def train_k(self, k: int, hyperparameters: Mapping[str, Any]) -> None:
        self.used = round(hyperparameters["lr"], 1) + 0.01
        super().train_k(k, {"lr": self.used})


class ClipsAndSaysSo(Stored):
    def train_k(self, k: int, hyperparameters: Mapping[str, Any]) -> None:
        self.used = min(hyperparameters["lr"], 0.05)
        super().train_k(k, {"lr": self.used})


class ReadsBackOld(Sgd):
    lr = last = 0.05

    def train_k(self, k: int, hyperparameters: Mapping[str, Any]) -> None:
        super().train_k(k, hyperparameters)
        self.last, self.lr = self.lr, hyperparameters["lr"]

    def hyperparameters(self) -> Any:
        return {"lr": self.last}


class ReadsBackText(Sgd):
    lr = 0.05

    def train_k(self, k: int, hyperparameters: Mapping[str, Any]) -> None:
        super().train_k(k, hyperparameters)
        self.lr = hyperparameters["lr"]

    def hyperparameters(self) -> Any:
        return {"lr": str(self.lr)}


class AnyName(Sgd):
    def check(self, hyperparameters: Mapping[str, Any]) -> None:
        for name, value in hyperparameters.items():
            setattr(self, name, value)


class AnyNameLater(Sgd):
    checked = False

    def check(self, hyperparameters: Mapping[str, Any]) -> None:
        if not self.checked:
            super().check(hyperparameters)
        self.checked = True


class TakesInOrder(Sgd):
    names = ("lr", "decay")

    def train_k(self, k: int, hyperparameters: Mapping[str, Any]) -> None:
        self.check(hyperparameters)
        lr, decay = hyperparameters.values()
        self.w = self.w * (1 - decay)
        super().train_k(k, {"lr": lr, "decay": decay})


class BusyAfterError(Sgd):
    """After an error in an epoch, the next one is not trained."""

    busy = False

    def train_epoch(self, lr: float) -> None:
        if self.busy:
            self.busy = False
            return
        self.busy = lr > 0.09
        if self.busy:
            raise FloatingPointError("diverged")
        super().train_epoch(lr)
