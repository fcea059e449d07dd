"""Toys at random, and one whose value is a category: for tests of laws and executors."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, TypeAlias

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from dynhp.records import Value
from dynhp.spaces import Space
from dynhp.testing import NoisyQuadratic, Quadratic
from dynhp.testing.laws.experiments import Make
from dynhp.testing.toys.fragile import Fragile
from dynhp.testing.toys.quadratic import only_known

Toy: TypeAlias = tuple[Make, Space]
"""What builds a toy trainer, and the space it is adapted in."""

RATES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)


class TwoSurrogates:
    """The toy of the population-based-training paper: climb 1.2 - θ0² - θ1², seeing half of it.

    Each epoch is one step of gradient ascent on a surrogate that knows only the ``"first"`` or
    the ``"second"`` of the two terms; only switching between them reaches the top.
    """

    def __init__(self) -> None:
        self.theta = (0.9, 0.9)

    def get_state(self) -> tuple[float, float]:
        """The two numbers."""
        return self.theta

    def set_state(self, state: tuple[float, float]) -> None:
        """Take them back."""
        self.theta = state

    def train_k(self, k: int, hyperparameters: Mapping[str, Value]) -> None:
        """``k`` steps up the surrogate, with learning rate 0.01."""
        only_known(hyperparameters, ("surrogate",))
        sees = {"first": (1.0, 0.0), "second": (0.0, 1.0)}[str(hyperparameters["surrogate"])]
        for _ in range(k):
            first, second = (x - 0.01 * 2 * h * x for h, x in zip(sees, self.theta, strict=True))
            self.theta = (first, second)

    def metrics(self) -> dict[str, float]:
        """The true objective."""
        return {"value": 1.2 - (self.theta[0] ** 2 + self.theta[1] ** 2)}


def toy_trainers() -> SearchStrategy[Toy]:
    """A quick trainer with or without noise, and a space for it.

    Some trainers raise or measure nan for some values, never for all of them.
    """
    without_noise = _rates().map(lambda rates: (Quadratic, Space({"lr": rates})))
    return st.one_of(without_noise, _noisy(), _fragile())


def _rates(least: int = 1) -> SearchStrategy[list[float]]:
    return st.lists(st.sampled_from(RATES), min_size=least, max_size=5, unique=True).map(sorted)


@st.composite
def _noisy(draw: st.DrawFn) -> Toy:
    axes: dict[str, Any] = {"lr": draw(_rates())}
    if draw(st.booleans()):
        axes["momentum"] = draw(st.sampled_from([[0.0, 0.9], [0.0, 0.5, 0.9]]))
    return draw(_noisy_makes()), Space(axes)


@st.composite
def _fragile(draw: st.DrawFn) -> Toy:
    rates = draw(_rates(2))
    bad = rates[draw(st.integers(1, len(rates) - 1)) :]  # as large rates do
    failure: Any = draw(st.sampled_from(["raise", "nan"]))
    make = functools.partial(Fragile, draw(_noisy_makes()), bad=tuple(bad), failure=failure)
    return make, Space({"lr": rates})


def _noisy_makes() -> SearchStrategy[Any]:
    return st.builds(
        functools.partial,
        st.just(NoisyQuadratic),
        dimensions=st.integers(1, 4),
        condition=st.sampled_from([1.0, 10.0, 100.0]),
        noise=st.sampled_from([0.0, 0.1, 1.0]),
        seed=st.integers(0, 2**16),
    )
