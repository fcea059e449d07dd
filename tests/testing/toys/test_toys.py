"""The toys have the answers that can be worked out for them."""

from __future__ import annotations

import math

import pytest

from dynhp.errors import SettingsError
from dynhp.testing import NoisyQuadratic, Quadratic
from dynhp.testing.toys.fragile import Fragile
from tests.support.messages import raises


def test_quadratic() -> None:
    trainer = Quadratic()
    trainer.train_k(3, {"lr": 0.5})
    assert trainer.metrics() == {"loss": 0.5**6 / 2}
    trainer.set_state(2.0)
    assert trainer.get_state() == 2.0
    with raises(SettingsError):
        trainer.train_k(1, {"lx": 0.5})


def test_noisy_quadratic_without_noise_or_momentum_is_gradient_descent() -> None:
    trainer = NoisyQuadratic(dimensions=2, condition=4.0, noise=0.0)
    trainer.train_k(2, {"lr": 0.5, "momentum": 0.0})
    assert trainer.weights == pytest.approx([0.875**2, 0.25])
    assert trainer.hyperparameters() == {"lr": 0.5, "momentum": 0.0}
    assert trainer.metrics()["steps"] == 2.0


def test_momentum_is_09_where_nobody_says_otherwise() -> None:
    default, given = NoisyQuadratic(), NoisyQuadratic()
    default.train_k(3, {"lr": 0.1})
    given.train_k(3, {"lr": 0.1, "momentum": 0.9})
    assert default.metrics() == given.metrics()


def test_fragile_raises_or_measures_nan_until_set_back() -> None:
    trainer = Fragile(NoisyQuadratic, bad=(0.5,), failure="raise")
    trainer.train_k(1, {"lr": 0.1})
    with raises(RuntimeError):
        trainer.train_k(1, {"lr": 0.5})
    trainer = Fragile(NoisyQuadratic, bad=(0.5,), failure="nan")
    origin = trainer.get_state()
    trainer.train_k(1, {"lr": 0.5})
    trainer.train_k(1, {"lr": 0.1})
    assert math.isnan(trainer.metrics()["loss"])
    trainer.set_state(origin)
    assert math.isfinite(trainer.metrics()["loss"])
