"""A trainer that can become any toy, so that tests of executors start their workers only once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dynhp.read_back import check_in_force
from dynhp.records import Candidate, Metrics, Value
from dynhp.testing.laws.experiments import Make
from dynhp.testing.toys import NoisyQuadratic
from dynhp.trainer import State

__all__ = ["Chameleon", "LiesAboutValues", "RaisesLater"]


class Chameleon:
    """The trainer that ``make`` builds, until it is given a state of another toy and becomes that.

    With ``Chameleon`` as their factory the same workers serve any toy, so a test starts them once.
    It has every optional method; one that the toy lacks does nothing.

    >>> from dynhp.testing.toys import Quadratic
    >>> trainer = Chameleon()
    >>> trainer.set_state(Chameleon(Quadratic).get_state()); trainer.metrics()
    {'loss': 0.5}
    """

    def __init__(self, make: Make = NoisyQuadratic) -> None:
        self.make = make
        self.inner: Any = make()

    def get_state(self) -> tuple[Make, State]:
        """The function that makes the present toy, and the toy's state."""
        return self.make, self.inner.get_state()

    def set_state(self, state: tuple[Make, State]) -> None:
        """Become the toy that the state comes from, and give it that state."""
        make, inner = state
        if make is not self.make:
            self.make, self.inner = make, make()
        self.inner.set_state(inner)

    def train_k(self, k: int, hyperparameters: Mapping[str, Value]) -> None:
        """Train the toy."""
        self.inner.train_k(k, hyperparameters)

    def metrics(self) -> Metrics:
        """The metrics of the toy."""
        metrics: Metrics = self.inner.metrics()
        return metrics

    def hyperparameters(self) -> Mapping[str, Value]:
        """The values in force, if the toy knows them."""
        return self.inner.hyperparameters() if hasattr(self.inner, "hyperparameters") else {}

    def reseed(self, seed: int) -> None:
        """Reseed the toy, if it has anything to seed."""
        if hasattr(self.inner, "reseed"):
            self.inner.reseed(seed)

    def try_batch(
        self, origin: State, candidates: Sequence[Mapping[str, Value]], k: int
    ) -> list[tuple[list[Metrics], State]]:
        """Train each candidate from ``origin``, one after the other in one call."""
        done: list[tuple[list[Metrics], State]] = []
        for candidate in candidates:
            self.set_state(origin)
            series = []
            for _ in range(k):
                self.train_k(1, candidate)
                check_in_force(self, Candidate(candidate))
                series.append(self.metrics())
            done.append((series, self.get_state()))
        return done


class LiesAboutValues(NoisyQuadratic):
    """Always says that its default is in force.

    >>> trainer = LiesAboutValues()
    >>> trainer.train_k(1, {"lr": 0.3}); trainer.hyperparameters()
    {'lr': 0.1}
    """

    def hyperparameters(self) -> dict[str, Value]:
        """The default, whatever values it was last trained with."""
        return {"lr": 0.1}


class RaisesLater(NoisyQuadratic):
    """Trains for one epoch, then raises if the learning rate is high.

    >>> RaisesLater().train_k(2, {"lr": 0.3})
    Traceback (most recent call last):
    ArithmeticError: no more steps with lr=0.3 after 1
    """

    def step(self, lr: float, momentum: float) -> None:
        """One noisy step; later ones than the first fail at a high learning rate."""
        if self.steps >= 1 and lr > 0.1:
            raise ArithmeticError(f"no more steps with lr={lr} after {self.steps}")
        super().step(lr, momentum)
