"""The trainers and models of the golden runs: small, the same for both versions, and watched."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

CURVATURE = np.array([0.1, 0.4, 1.0])
KNOWN = ("lr", "momentum", "decay", "kind")


class Descent:
    """Gradient descent with momentum on a quadratic, without noise; it counts its calls.

    ``on_call(kind, number)`` is called before each call of a method, from 1, and may raise.
    """

    noise = 0.0

    def __init__(self, seed: int = 4) -> None:
        self.weights = np.array([1.0, -1.0, 0.5])
        self.velocity = np.zeros(3)
        self.average = self.weights.copy()
        self.steps = 0
        self.rng = np.random.default_rng(seed)
        self.in_force: dict[str, Any] = {"lr": 0.1}
        self.calls: Counter[str] = Counter()
        self.on_call: Callable[[str, int], None] | None = None

    def count(self, kind: str) -> None:
        """Note a call."""
        self.calls[kind] += 1
        if self.on_call is not None:
            self.on_call(kind, self.calls[kind])

    def content(self) -> dict[str, Any]:
        """A copy of all that decides the future."""
        return {
            "weights": self.weights.copy(),
            "velocity": self.velocity.copy(),
            "average": self.average.copy(),
            "steps": self.steps,
            "generator": self.rng.bit_generator.state,
        }

    def get_state(self) -> dict[str, Any]:
        """A copy of all that decides the future, and counted."""
        self.count("get_state")
        return self.content()

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Take it back."""
        self.count("set_state")
        self.weights = state["weights"].copy()
        self.velocity = state["velocity"].copy()
        self.average = state["average"].copy()
        self.steps = state["steps"]
        self.rng.bit_generator.state = state["generator"]

    def train_k(self, k: int, hyperparameters: Mapping[str, Any]) -> None:
        """Train; without epochs, put the values in force."""
        if unknown := set(hyperparameters) - set(KNOWN):
            raise KeyError(sorted(unknown))
        self.in_force = dict(hyperparameters)
        if k == 0:
            self.count("train_0")
            return
        self.count("train_k")
        for _ in range(k):
            self.count("epochs")
            self.step(**hyperparameters)

    def step(self, lr: float = 0.1, **others: Any) -> None:
        """One epoch."""
        drawn = self.rng.standard_normal(3)
        decay = 0.01 * others.get("decay", 0)
        gradient = CURVATURE * self.weights + self.noise * drawn + decay * self.weights
        if others.get("kind") == "sign":
            gradient = np.sign(gradient) * 0.3
        self.velocity = others.get("momentum", 0.5) * self.velocity - lr * gradient
        self.weights = self.weights + self.velocity
        self.average = 0.7 * self.average + 0.3 * self.weights
        self.steps += 1

    def metrics(self) -> dict[str, float]:
        """The losses under the names that presets know, and others."""
        self.count("metrics")
        loss = float(np.sum(CURVATURE * self.weights**2) / 2)
        averaged = float(np.sum(CURVATURE * self.average**2) / 2)
        return {
            "loss": loss,
            "train_loss": 0.9 * loss,
            "val_loss": loss,
            "ema_val_loss": averaged,
            "auc": 1 / (1 + loss),
            "train_auc": 1 / (1 + 0.8 * averaged),
            "norm": float(np.abs(self.weights).max()),
        }


class Noisy(Descent):
    """With noise, and a generator that can be seeded."""

    noise = 0.5

    def reseed(self, seed: int) -> None:
        """Seed the generator."""
        self.count("reseed")
        self.rng = np.random.default_rng(seed)


class Restless(Noisy):
    """So noisy that it soon gets no better, and often worse."""

    noise = 2.5


class ReadableDescent(Noisy):
    """Tells the values in force."""

    def hyperparameters(self) -> dict[str, Any]:
        """Those last trained with."""
        return dict(self.in_force)


class FailingDescent(Noisy):
    """Some rates raise, at once or later, or lead to what is not finite."""

    def __init__(self, fails: Mapping[float, str], seed: int = 4) -> None:
        super().__init__(seed)
        self.fails = dict(fails)

    def step(self, lr: float = 0.1, **others: Any) -> None:
        """One epoch, or not."""
        how = self.fails.get(lr, "")
        if how == "raise" or (how == "later" and self.steps % 3 == 1):
            raise FloatingPointError(f"lr {lr} does not work")
        super().step(lr, **others)
        if how in ("nan", "inf"):
            self.weights = self.weights * (math.nan if how == "nan" else math.inf)


class Breaking(Noisy):
    """Breaks on the way with a high rate: it raises, spikes or is not finite any more.

    It breaks in the steps named by ``at``; with new random numbers it may get past them.
    """

    noise = 0.1

    def __init__(
        self, how: str, at: Sequence[int] = (6,), limit: float = 0.05, seed: int = 4
    ) -> None:
        super().__init__(seed)
        self.how = how
        self.at = tuple(at)
        self.limit = limit

    def step(self, lr: float = 0.1, **others: Any) -> None:
        """One epoch, or a break."""
        super().step(lr, **others)
        if lr >= self.limit and self.steps in self.at:
            if self.how == "raise":
                raise FloatingPointError(f"broke in step {self.steps}")
            self.weights = self.weights * (30.0 if self.how == "spike" else math.nan)


class OnePassDescent(Noisy):
    """All tries in one pass; those that fail make the pass raise."""

    def __init__(self, fails: Sequence[float] = (), seed: int = 4) -> None:
        super().__init__(seed)
        self.fails = tuple(fails)

    def step(self, lr: float = 0.1, **others: Any) -> None:
        """One epoch, or an exception."""
        if lr in self.fails:
            raise ArithmeticError(f"lr {lr} does not work")
        super().step(lr, **others)

    def try_batch(
        self, origin: Mapping[str, Any], candidates: Sequence[Mapping[str, Any]], k: int
    ) -> list[tuple[list[dict[str, float]], dict[str, Any]]]:
        """Train each candidate from the origin, epoch by epoch."""
        self.count("try_batch")
        done = []
        for candidate in candidates:
            one = OnePassDescent(self.fails)
            one.set_state(origin)
            series = []
            for _ in range(k):
                one.train_k(1, candidate)
                series.append(one.metrics())
            done.append((series, one.content()))
        return done


class ForgetfulDescent(Noisy):
    """Its generator is not in its state, so nothing can be repeated."""

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Take all but the generator back."""
        super().set_state({**state, "generator": self.rng.bit_generator.state})


class Unused(Noisy):
    """Ignores the rate."""

    def step(self, lr: float = 0.1, **others: Any) -> None:
        """One epoch with a rate of its own."""
        super().step(0.05, **others)


class Reverting(ReadableDescent):
    """A scheduler of its own puts another rate in force after two epochs of a call."""

    def train_k(self, k: int, hyperparameters: Mapping[str, Any]) -> None:
        """Train, then fall back to the old rate."""
        super().train_k(k, hyperparameters)
        if k >= 2:
            self.in_force = {**self.in_force, "lr": 0.1}


class Drifting(Noisy):
    """Each call of train_k leaves a tiny difference: not repeatable to the bit, but nearly."""

    drift = 1e-9

    def step(self, lr: float = 0.1, **others: Any) -> None:
        """One epoch, a little off."""
        super().step(lr, **others)
        self.weights = self.weights + self.drift * self.calls["epochs"]


class Tolerant(Drifting):
    """Says itself how far it may be off."""

    tolerance = 1e-5


class UncopyableDescent:
    """A model that cannot be copied: only training it again leads back to where it was."""

    def __init__(self) -> None:
        self.rng = random.Random(3)
        self.x = 1.0
        self.lr = 0.1

    def train_k(self, k: int, hyperparameters: Mapping[str, Any]) -> None:
        """Train."""
        self.lr = hyperparameters["lr"]
        for _ in range(k):
            self.x = self.x * (1 - self.lr) + 0.05 * self.rng.random()

    def metrics(self) -> dict[str, float]:
        """Measure."""
        return {"loss": self.x**2}

    def hyperparameters(self) -> dict[str, Any]:
        """The rate."""
        return {"lr": self.lr}

    def digest(self) -> str:
        """What it came to."""
        return repr(self.x)


class LoopModel:
    """A model for loops: it draws from the global generators, as scripts do, and counts."""

    def __init__(self) -> None:
        self.weight = 3.0
        self.lr = 0.1
        self.trained = 0
        self.calls: Counter[str] = Counter()

    def state_dict(self) -> dict[str, Any]:
        """All that decides the future beside the global generators."""
        self.calls["get_state"] += 1
        return {"weight": self.weight, "trained": self.trained}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take it back."""
        self.calls["set_state"] += 1
        self.weight = state["weight"]
        self.trained = state["trained"]

    def content(self) -> dict[str, Any]:
        """The state, not counted."""
        return {"weight": self.weight, "trained": self.trained}

    def train(self, lr: float) -> None:
        """One epoch."""
        self.calls["epochs"] += 1
        self.trained += 1
        noise = 0.3 * float(np.random.normal()) + 0.05 * random.random()
        self.weight = self.weight * (1 - lr) + noise

    def measure(self) -> dict[str, float]:
        """The loss."""
        return {"loss": self.weight**2 + 0.01, "norm": abs(self.weight)}
