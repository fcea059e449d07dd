"""The toys have the answers that can be worked out for them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dynhp.errors import SettingsError
from dynhp.testing import Fragile, NoisyQuadratic, Quadratic, TwoSurrogates
from examples.softmax import SoftmaxRegression


def test_quadratic() -> None:
    trainer = Quadratic()
    trainer.train_k(3, {"lr": 0.5})
    assert trainer.metrics() == {"loss": 0.5**6 / 2}
    trainer.set_state(2.0)
    assert trainer.get_state() == 2.0
    with pytest.raises(SettingsError, match="unknown hyperparameter 'lx'; Known: 'lr'"):
        trainer.train_k(1, {"lx": 0.5})


def test_noisy_quadratic_without_noise_or_momentum_is_gradient_descent() -> None:
    trainer = NoisyQuadratic(dimensions=2, condition=4.0, noise=0.0)
    trainer.train_k(2, {"lr": 0.5, "momentum": 0.0})
    assert trainer.weights == pytest.approx([0.875**2, 0.25])
    assert trainer.hyperparameters() == {"lr": 0.5, "momentum": 0.0}
    assert trainer.metrics()["steps"] == 2.0


def test_momentum_is_09_where_nobody_says_otherwise() -> None:
    one, other = NoisyQuadratic(), NoisyQuadratic()
    one.train_k(3, {"lr": 0.1})
    other.train_k(3, {"lr": 0.1, "momentum": 0.9})
    assert one.metrics() == other.metrics()


def test_two_surrogates_alone_and_in_turn() -> None:
    for name in ("first", "second"):
        trainer = TwoSurrogates()
        assert trainer.metrics()["value"] == pytest.approx(1.2 - 2 * 0.81)
        trainer.train_k(200, {"surrogate": name})
        assert trainer.metrics()["value"] == pytest.approx(0.39, abs=0.001)
    trainer.train_k(200, {"surrogate": "first"})
    assert trainer.metrics()["value"] > 1.199
    with pytest.raises(KeyError, match="third"):
        trainer.train_k(1, {"surrogate": "third"})


def test_fragile_raises_or_measures_nan_until_set_back() -> None:
    trainer = Fragile(NoisyQuadratic, bad=(0.5,), how="raise")
    trainer.train_k(1, {"lr": 0.1})
    with pytest.raises(RuntimeError, match=r"cannot bear lr=0\.5"):
        trainer.train_k(1, {"lr": 0.5})
    trainer = Fragile(NoisyQuadratic, bad=(0.5,), how="nan")
    origin = trainer.get_state()
    trainer.train_k(1, {"lr": 0.5})
    trainer.train_k(1, {"lr": 0.1})
    assert math.isnan(trainer.metrics()["loss"])
    trainer.set_state(origin)
    assert math.isfinite(trainer.metrics()["loss"])


def data(rows: int = 120) -> tuple[np.ndarray, np.ndarray]:
    x = np.random.default_rng(5).normal(size=(rows, 4))
    return x, np.where(x[:, 0] + x[:, 1] > 0, "yes", "no")


def test_softmax_regression_learns() -> None:
    trainer = SoftmaxRegression(*data())
    before = trainer.metrics()
    assert before["train_loss"] == pytest.approx(math.log(2))
    trainer.train_k(30, {"learning_rate": 1.0})
    after = trainer.metrics()
    assert after["val_accuracy"] > 0.9
    assert after["val_loss"] < before["val_loss"] / 2
    assert after["ema_val_loss"] != after["val_loss"]


def test_softmax_regression_holds_rows_out() -> None:
    trainer = SoftmaxRegression(*data(), validation=0.25)
    assert (len(trainer.train[0]), len(trainer.held[0])) == (90, 30)
    rows = np.vstack([trainer.train[0], trainer.held[0]])
    assert len(np.unique(rows[:, 0])) == 120


def test_softmax_regression_gradient() -> None:
    """One step on all rows at once against numbers worked out by finite differences."""
    trainer = SoftmaxRegression(*data(20), batch_size=100)
    trainer.weights = np.random.default_rng(1).normal(size=(5, 2))

    def loss(change: float, at: tuple[int, int]) -> float:
        changed = SoftmaxRegression(*data(20))
        changed.weights = trainer.weights.copy()
        changed.weights[at] += change
        return changed.metrics()["train_loss"] + 0.05 * float(np.sum(changed.weights**2))

    slope = (loss(1e-5, (2, 1)) - loss(-1e-5, (2, 1))) / 2e-5
    before = trainer.weights[2, 1]
    trainer.train_k(1, {"learning_rate": 0.5, "weight_decay": 0.1})
    assert (before - trainer.weights[2, 1]) / 0.5 == pytest.approx(slope, rel=1e-6)
    assert (trainer.average == trainer.weights).all()  # one batch is an epoch: no memory


def test_softmax_regression_defaults_are_in_force_where_nothing_is_passed() -> None:
    trainer = SoftmaxRegression(*data(), learning_rate=0.5)
    trainer.train_k(1, {"weight_decay": 0.1})
    assert trainer.hyperparameters() == {"learning_rate": 0.5, "weight_decay": 0.1}
    trainer.train_k(1, {"learning_rate": 0.2})
    assert trainer.hyperparameters() == {"learning_rate": 0.2, "weight_decay": 0.0}


def test_softmax_regression_that_diverges_measures_nan() -> None:
    trainer = SoftmaxRegression(*data())
    trainer.train_k(40, {"learning_rate": 1e300, "weight_decay": 1e10})
    assert math.isnan(trainer.metrics()["val_loss"])


def test_softmax_regression_can_be_reseeded() -> None:
    ends = []
    for seed in (1, 1, 2):
        trainer = SoftmaxRegression(*data())
        trainer.reseed(seed)
        trainer.train_k(1, {})
        ends.append(trainer.metrics()["train_loss"])
    assert ends[0] == ends[1] != ends[2]


@pytest.mark.parametrize(
    ("x", "y", "validation", "told"),
    [
        ([1.0, 2.0], [0, 1], 0.5, r"got shapes \(2,\) and \(2,\)"),
        ([[1.0], [2.0]], [0], 0.5, r"got shapes \(2, 1\) and \(1,\)"),
        ([[1.0], [2.0]], [0, 1], 0.0, "must leave rows on both sides, got 0.0 of 2 rows"),
        ([[1.0], [2.0]], [0, 1], 1.0, "must leave rows on both sides, got 1.0 of 2 rows"),
    ],
)
def test_softmax_regression_bad_data(x: object, y: object, validation: float, told: str) -> None:
    with pytest.raises(SettingsError, match=told):
        SoftmaxRegression(x, y, validation=validation)
