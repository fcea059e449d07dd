"""A toy that fails for some values, as real training does."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from typing import Any, Literal

from dynhp.records import Value
from dynhp.testing.toys.quadratic import NoisyQuadratic

__all__ = ["Fragile"]


class Fragile:
    """Around another toy: for the ``bad`` values of ``lr`` it raises or measures nan.

    >>> trainer = Fragile(NoisyQuadratic, bad={0.5}, failure="nan")
    >>> trainer.train_k(1, {"lr": 0.5}); trainer.metrics()
    {'loss': nan, 'steps': nan}
    """

    def __init__(
        self,
        make: Callable[[], NoisyQuadratic],
        *,
        bad: Collection[Value],
        failure: Literal["raise", "nan"],
    ) -> None:
        self.inner = make()
        self.bad = bad
        self.failure = failure
        self.failed = False

    def get_state(self) -> tuple[dict[str, Any], bool]:
        """The inner state, and whether a bad value was met."""
        return self.inner.get_state(), self.failed

    def set_state(self, state: tuple[dict[str, Any], bool]) -> None:
        """Take both back."""
        inner, self.failed = state
        self.inner.set_state(inner)

    def train_k(self, k: int, hyperparameters: Mapping[str, Value]) -> None:
        """Train, unless the value is a bad one."""
        self.inner.train_k(k, hyperparameters)
        if hyperparameters["lr"] in self.bad:
            if self.failure == "raise":
                raise RuntimeError(f"cannot bear lr={hyperparameters['lr']!r}")
            self.failed = True

    def metrics(self) -> dict[str, float]:
        """What the inner trainer measures, or nan."""
        metrics = self.inner.metrics()
        return dict.fromkeys(metrics, math.nan) if self.failed else metrics

    def hyperparameters(self) -> dict[str, Value]:
        """The values last trained with."""
        return self.inner.hyperparameters()

    def reseed(self, seed: int) -> None:
        """Seed the generator."""
        self.inner.reseed(seed)
