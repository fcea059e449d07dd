"""Sound small trainers: short enough to read, complete enough to prove things with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dynhp.errors import SettingsError, nearest
from dynhp.records import Value
from dynhp.spaces import Float, Space

__all__ = ["NoisyQuadratic", "Quadratic", "divided", "example", "only_known"]


def example() -> tuple[type[NoisyQuadratic], Space]:
    """A ready trainer and its space, for ``dynhp check`` and for trying things out.

    >>> make, space = example()
    >>> make().train_k(1, space.start())
    """
    return NoisyQuadratic, Space({"lr": Float(0.001, 0.1, log=True, points=5)})


def only_known(hyperparameters: Mapping[str, Value], known: tuple[str, ...]) -> None:
    """Refuse a name that the trainer does not know, as the contract demands.

    >>> only_known({"lr": 0.1}, ("lr", "momentum"))
    """
    for name in hyperparameters:
        if name not in known:
            raise SettingsError(f"unknown hyperparameter {name!r}{nearest(name, known)}")


class Quadratic:
    """Gradient descent on x²/2 from x = 1: no noise, so every answer can be worked out.

    >>> trainer = Quadratic()
    >>> trainer.train_k(1, {"lr": 0.5}); trainer.metrics()
    {'loss': 0.125}
    """

    def __init__(self) -> None:
        self.x = 1.0

    def get_state(self) -> float:
        """The one number there is."""
        return self.x

    def set_state(self, state: float) -> None:
        """Take it back."""
        self.x = state

    def train_k(self, k: int, hyperparameters: Mapping[str, Value]) -> None:
        """``k`` steps of x ← x - lr·x."""
        only_known(hyperparameters, ("lr",))
        for _ in range(k):
            self.x -= float(hyperparameters["lr"]) * self.x  # type: ignore[arg-type]

    def metrics(self) -> dict[str, float]:
        """The loss."""
        return {"loss": self.x**2 / 2}


class NoisyQuadratic:
    """Momentum SGD on a noisy quadratic, with everything a real trainer has in its state.

    Weights, velocity, a step counter and a generator of its own; it knows the values in force and
    can be reseeded. The momentum is 0.9 if the hyperparameters have none.

    >>> trainer = NoisyQuadratic(seed=1)
    >>> trainer.train_k(2, {"lr": 0.1}); trainer.hyperparameters()
    {'lr': 0.1}
    """

    def __init__(
        self, *, dimensions: int = 4, condition: float = 10.0, noise: float = 0.1, seed: int = 0
    ) -> None:
        self.curvature = np.geomspace(1 / condition, 1.0, dimensions)
        self.noise = noise
        self.weights = np.ones(dimensions)
        self.velocity = np.zeros(dimensions)
        self.steps = 0
        self.rng = np.random.default_rng(seed)
        self.in_force: dict[str, Any] = {"lr": 0.1}

    def get_state(self) -> dict[str, Any]:
        """A copy of all that decides the future."""
        return {
            "weights": self.weights.copy(),
            "velocity": self.velocity.copy(),
            "steps": self.steps,
            "generator": self.rng.bit_generator.state,
        }

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Take it back, copying, so that training never writes into it."""
        self.weights = state["weights"].copy()
        self.velocity = state["velocity"].copy()
        self.steps = state["steps"]
        self.rng.bit_generator.state = state["generator"]

    def train_k(self, k: int, hyperparameters: Mapping[str, Value]) -> None:
        """``k`` noisy steps with momentum."""
        only_known(hyperparameters, ("lr", "momentum"))
        self.in_force = {"lr": hyperparameters["lr"], **hyperparameters}
        for _ in range(k):
            self.step(self.in_force["lr"], self.in_force.get("momentum", 0.9))

    def step(self, lr: float, momentum: float) -> None:
        """One noisy step."""
        noise = self.noise * self.draw()
        gradient = self.curvature * self.weights + noise
        self.velocity = momentum * self.velocity - lr * gradient
        self.weights = self.weights + self.velocity
        self.steps += 1

    def draw(self) -> Any:
        """The noise of one step."""
        return self.rng.standard_normal(self.weights.size)

    def metrics(self) -> dict[str, float]:
        """The excess risk, and how many steps were taken."""
        risk = float(0.5 * np.sum(self.curvature * self.weights**2))
        return {"loss": risk, "steps": float(self.steps)}

    def hyperparameters(self) -> dict[str, Value]:
        """The values last trained with."""
        return dict(self.in_force)

    def reseed(self, seed: int) -> None:
        """Seed the generator."""
        self.rng = np.random.default_rng(seed)


def divided(a: float, b: float) -> dict[str, float]:
    """Divide: the smallest run of a campaign, and one that can fail.

    >>> divided(6, 3)
    {'quotient': 2.0}
    """
    return {"quotient": a / b}
