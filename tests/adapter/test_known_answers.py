"""Problems whose answers are known beforehand."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from dynhp import (
    Categorical,
    DynamicGridAdapter,
    History,
    Racing,
    highest,
    lowest,
    phased,
    plan,
    plan_for,
    spent,
)
from dynhp.planning import ema_race
from dynhp.policy import policy_from


class TwoCoordinates:
    """Climb 1.2 - |θ|², seen only through one coordinate at a time; the start is (0.9, 0.9)."""

    def __init__(self) -> None:
        self.theta = (0.9, 0.9)
        self.trained = 0

    def get_state(self) -> tuple[float, float]:
        return self.theta

    def set_state(self, state: tuple[float, float]) -> None:
        self.theta = state

    def train_k(self, k: int, values: Any) -> None:
        weights = {"first": (1, 0), "second": (0, 1)}[values["surrogate"]]
        for _ in range(k):
            self.trained += 1
            first, second = (
                each - 0.01 * 2 * weight * each
                for each, weight in zip(self.theta, weights, strict=True)
            )
            self.theta = (first, second)

    def metrics(self) -> dict[str, float]:
        return {"objective": 1.2 - self.theta[0] ** 2 - self.theta[1] ** 2}


@pytest.mark.parametrize("surrogate", ["first", "second"])
def test_a_fixed_surrogate_ends_near_039(surrogate: str) -> None:
    trainer = TwoCoordinates()
    trainer.train_k(200, {"surrogate": surrogate})
    expected = 1.2 - 0.81 - (0.9 * 0.98**200) ** 2
    assert trainer.metrics()["objective"] == pytest.approx(expected, abs=1e-12)
    assert expected == pytest.approx(0.39, abs=0.001)


@pytest.mark.parametrize(
    ("epochs", "adapt_every", "try_for"), [(250, 10, 1), (200, 2, 1), (260, 13, 2)]
)
def test_the_adapter_reaches_the_top_within_300_steps(
    epochs: int, adapt_every: int, try_for: int
) -> None:
    trainer = TwoCoordinates()
    adapter = DynamicGridAdapter(
        trainer,
        {"surrogate": Categorical("first", "second")},
        criterion=highest("objective"),
        adapt_every=adapt_every,
        try_for=try_for,
        check="off",
    )
    planned = plan_for(adapter, epochs)
    history = adapter.run(epochs)
    assert spent(history) == planned.most
    assert trainer.trained == planned.most.total <= 300
    assert trainer.metrics()["objective"] >= 1.17
    # Each surrogate is best where its coordinate is the farther one, so they take turns.
    chosen = [round_.candidate["surrogate"] for round_ in history]
    assert chosen[:2] == ["first", "second"]
    assert abs(chosen.count("first") - chosen.count("second")) <= 1


class IllConditioned:
    """Momentum SGD on a noisy quadratic of 60 dimensions and condition number 1000.

    An epoch is 25 steps; an exponential average of the weights over about an epoch is kept.
    """

    def __init__(self, seed: int) -> None:
        self.curvature = np.geomspace(1e-3, 1.0, 60)
        self.weights = self.curvature**-0.25
        self.velocity = np.zeros(60)
        self.average = self.weights.copy()
        self.rng = np.random.default_rng(seed)

    def get_state(self) -> tuple[Any, ...]:
        arrays = (self.weights.copy(), self.velocity.copy(), self.average.copy())
        return (*arrays, self.rng.bit_generator.state)

    def set_state(self, state: tuple[Any, ...]) -> None:
        self.weights, self.velocity, self.average = (array.copy() for array in state[:3])
        self.rng.bit_generator.state = state[3]

    def train_k(self, k: int, values: Any) -> None:
        for noise in self.rng.standard_normal((25 * k, 60)):
            gradient = self.curvature * self.weights + 0.3 * np.sqrt(self.curvature) * noise
            self.velocity = 0.9 * self.velocity - values["lr"] * gradient
            self.weights = self.weights + self.velocity
            self.average = 0.95 * self.average + 0.05 * self.weights

    def metrics(self) -> dict[str, float]:
        return {"loss": self._risk(self.weights), "ema_loss": self._risk(self.average)}

    def _risk(self, weights: Any) -> float:
        return float(0.5 * np.sum(self.curvature * weights**2))


EPOCHS = 40
RATES = [0.001, 0.003, 0.01, 0.03, 0.1]
SEEDS = (0, 1, 2, 3, 4)
GREEDY = {"criterion": lowest("loss"), "adapt_every": 2, "try_for": 1}
EMA_RACE = {
    "criterion": phased(lowest("ema_loss"), lowest("loss"), at=0.6),
    "selection": Racing(),
    "adapt_every": EPOCHS // 4,
    "try_for": EPOCHS // 8,
}


def test_they_are_the_preset() -> None:
    preset = ema_race("lr", epochs=EPOCHS, default=0.01, loss="loss")
    assert policy_from(preset, EMA_RACE, caller="adapt") == preset
    assert list(preset.space) == ["lr"]
    assert preset.space["lr"].grid() == pytest.approx(RATES, rel=0.1)


@cache
def adapted(seed: int, *, greedy: bool) -> tuple[float, History]:
    trainer = IllConditioned(seed)
    settings: dict[str, Any] = GREEDY if greedy else EMA_RACE
    history = DynamicGridAdapter(trainer, {"lr": RATES}, **settings).run(EPOCHS)
    return trainer.metrics()["loss"], history


@cache
def constant(seed: int) -> dict[float, float]:
    risks = {}
    for rate in RATES:
        trainer = IllConditioned(seed)
        trainer.train_k(EPOCHS, {"lr": rate})
        risks[rate] = trainer.metrics()["loss"]
    return risks


@pytest.mark.parametrize("seed", SEEDS)
def test_greedy_tries_choose_too_small_a_learning_rate(seed: int) -> None:
    risks = constant(seed)
    best = min(risks, key=risks.__getitem__)
    assert best >= 0.03
    risk, history = adapted(seed, greedy=True)
    middle = [round_.candidate["lr"] for round_ in history if 8 <= round_.start < 28]
    assert len(middle) == 10
    assert max(middle) <= 0.01 < best
    assert risk > 1.2 * risks[best]  # worse than never having adapted


@pytest.mark.parametrize("seed", SEEDS)
def test_a_race_by_averaged_weights_does_not(seed: int) -> None:
    risk, history = adapted(seed, greedy=False)
    assert risk < 0.5 * adapted(seed, greedy=True)[0]
    assert risk < 0.8 * min(constant(seed).values())
    chosen = [round_.candidate["lr"] for round_ in history]
    assert min(chosen[:3]) >= 0.03  # fast while there is far to go
    assert chosen[3] < chosen[2]  # slow to come to rest
    # and they cost less: 1.7 runs as against 3
    assert spent(history) == plan(
        epochs=40, adapt_every=10, try_for=5, candidates=5, selection=Racing()
    )
    assert spent(history).runs < 1.8 < spent(adapted(seed, greedy=True)[1]).runs
