"""The examples run as they stand, and their classifier does what its docstring says."""

from __future__ import annotations

import doctest
import math
import os
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import dynhp
from dynhp.errors import SettingsError
from examples import softmax
from examples.softmax import SoftmaxRegression
from tests.support.messages import raises

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
PRINTED = ("Plan: at least 10 epochs", "learning_rate", "weight_decay", "Cost: 10 epochs")


def test_digits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("sklearn", reason="the example trains on scikit-learn's digits")
    monkeypatch.setattr(sys, "argv", ["digits.py", "--epochs", "10", "--out", str(tmp_path)])
    monkeypatch.syspath_prepend(str(EXAMPLES))
    runpy.run_path(str(EXAMPLES / "digits.py"), run_name="__main__")
    printed = capsys.readouterr().out
    assert all(expected in printed for expected in PRINTED)
    assert (tmp_path / "digits.html").read_text().startswith("<!doctype html>")


@pytest.mark.parametrize("place", ["the root", "another folder"])
def test_digits_runs_from_any_folder(place: str, tmp_path: Path) -> None:
    pytest.importorskip("sklearn", reason="the example trains on scikit-learn's digits")
    script = Path("examples/digits.py") if place == "the root" else EXAMPLES / "digits.py"
    done = subprocess.run(
        [sys.executable, str(script), "--epochs", "10", "--out", str(tmp_path / "out")],
        cwd=ROOT if place == "the root" else tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(dynhp.__file__).parents[1])},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert all(expected in done.stdout for expected in PRINTED)


def test_the_docstring_of_the_classifier_runs() -> None:
    assert doctest.testmod(softmax) == doctest.TestResults(failed=0, attempted=3)


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
    ("x", "y", "validation"),
    [
        ([1.0, 2.0], [0, 1], 0.5),
        ([[1.0], [2.0]], [0], 0.5),
        ([[1.0], [2.0]], [0, 1], 0.0),
        ([[1.0], [2.0]], [0, 1], 1.0),
    ],
)
def test_softmax_regression_bad_data(x: object, y: object, validation: float) -> None:
    with raises(SettingsError):
        SoftmaxRegression(x, y, validation=validation)
