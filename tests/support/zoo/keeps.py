"""Broken trainers that keep states, gradients or snapshots, and take them for others."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from tests.support.zoo.base import Sgd


class OneFile(Sgd):
    """Its state is the name of a file, and always the same one."""

    def __init__(self) -> None:
        super().__init__()
        self.file = Path(tempfile.mkdtemp()) / "state.npz"

    def get_state(self) -> Any:
        np.savez(self.file, state=np.array([super().get_state()], dtype=object))
        return str(self.file)

    def set_state(self, state: Any) -> None:
        super().set_state(np.load(state, allow_pickle=True)["state"][0])


class KeepsStateByEpoch(Sgd):
    """What get_state gave for an epoch is kept and given again."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[int, Any] = {}

    def get_state(self) -> Any:
        return self.kept.setdefault(self.epoch, super().get_state())


class GradientByEpoch(Sgd):
    """Gradients are kept by epoch, though other weights have others."""

    def __init__(self) -> None:
        super().__init__()
        self.full = functools.lru_cache(lambda epoch: self.gradient(np.arange(12)))

    def train_epoch(self, lr: float) -> None:
        self.update(lr, self.full(self.epoch))
        self.epoch += 1


KEPT: dict[int, Any] = {}


class GradientInModule(GradientByEpoch):
    """Gradients are kept by epoch for all trainers."""

    def __init__(self) -> None:
        super().__init__()
        self.full = lambda epoch: KEPT.setdefault(epoch, self.gradient(np.arange(12)))


class OwnSnapshot(Sgd):
    """Prefers a state of its own to the one it is handed, where it has one of that epoch."""

    def __init__(self) -> None:
        super().__init__()
        self.own: dict[int, Any] = {}

    def get_state(self) -> Any:
        self.own[self.epoch] = super().get_state()
        return super().get_state()

    def set_state(self, state: Any) -> None:
        super().set_state(self.own.get(state["epoch"], state))


class LastHandedOut(Sgd):
    """Thinks that it is still where it was when it handed out this object."""

    last: Any = None

    def get_state(self) -> Any:
        self.last = super().get_state()
        return self.last

    def set_state(self, state: Any) -> None:
        if state is not self.last:
            super().set_state(state)


class StateById(Sgd):
    """States are taken apart once for each object, and then trained in place."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[int, Any] = {}

    def set_state(self, state: Any) -> None:
        super().set_state(state)
        self.w = self.kept.setdefault(id(state), (self.w, state))[0]

    def update(self, lr: float, gradient: Any) -> None:
        self.v = 0.8 * self.v - lr * gradient
        self.w += self.v
