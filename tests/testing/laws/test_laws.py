"""Checking the laws: what is asked for, what is refused, what is reported and left untouched."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dynhp.errors import LawBroken, SettingsError
from dynhp.frameworks import Integration
from dynhp.testing import (
    LAWS,
    NoisyQuadratic,
    Quadratic,
    check_trainer,
    trainer_checks,
)
from dynhp.testing.laws.check import Verdict, verdicts
from dynhp.testing.laws.experiments import generators_put_back
from dynhp.trainer import trainer_from
from tests.support.doubles import BROKEN, SPACE
from tests.support.messages import raises

SPACES = {"lr": [0.02, 0.05, 0.1]}


@pytest.mark.parametrize(("name", "check"), trainer_checks(NoisyQuadratic, SPACES))
def test_two_lines_with_pytest(name: str, check: Callable[[], object]) -> None:
    assert name in LAWS
    assert check() == ()


def test_all_laws_of_a_sound_trainer_hold() -> None:
    report = check_trainer(NoisyQuadratic, SPACES)
    assert [verdict.law for verdict in report.verdicts] == list(LAWS)
    assert {str(verdict) for verdict in report.verdicts} == {f"ok       {law}" for law in LAWS}
    assert report.broken == ()


def test_one_epoch_is_enough_for_an_experiment() -> None:
    check_trainer(NoisyQuadratic, SPACES, epochs=1, another_process=False)
    make, _ = BROKEN["starts a new optimiser in each call"]
    with raises(LawBroken):
        check_trainer(make, SPACE, epochs=1, another_process=False)


def test_all_broken_laws_are_told_in_one_error() -> None:
    make, _ = BROKEN["forgets its random state"]
    with raises(LawBroken) as caught:
        check_trainer(make, SPACE)
    assert "isolation" not in str(caught.value)


def test_a_check_raises_on_its_own() -> None:
    make, _ = BROKEN["ignores the value"]
    checks = dict(trainer_checks(make, SPACE))
    assert checks["order"]() == ()
    with raises(LawBroken):
        checks["force"]()


# --- expected failures


def test_an_expected_failure_is_none() -> None:
    make, law = BROKEN["metrics that train"]
    report = check_trainer(
        make, SPACE, another_process=False, expected_failures={law: "it measures by training"}
    )
    (verdict,) = (verdict for verdict in report.verdicts if verdict.law == law)
    assert str(verdict) == "expected purity (it measures by training)"
    checks = dict(trainer_checks(make, SPACE, expected_failures={law: "why"}))
    assert checks[law]() == ("why",)


def test_an_expected_failure_that_holds_is_an_error() -> None:
    with raises(LawBroken):
        check_trainer(
            Quadratic, SPACES, another_process=False, expected_failures={"force": "never"}
        )


@pytest.mark.parametrize("call", [check_trainer, trainer_checks, verdicts])
def test_an_unknown_law_is_an_error_at_once(call: Callable[..., object]) -> None:
    with raises(SettingsError):
        call(Quadratic, SPACES, expected_failures={"isolatoin": "x"})


# --- bad input


def without_data() -> Any:
    raise OSError("no data")


@pytest.mark.parametrize(
    ("make", "space", "epochs"),
    [
        (Quadratic(), SPACES, 3),
        (Quadratic, {}, 3),
        (Quadratic, SPACES, 0),
        (Quadratic, SPACES, True),
        (Quadratic, SPACES, 1.5),
        (dict, SPACES, 3),
        (without_data, SPACES, 3),
        ((lambda trainer: lambda: trainer)(Quadratic()), SPACES, 3),
    ],
)
def test_bad_input_is_refused(make: Any, space: Any, epochs: Any) -> None:
    with raises(SettingsError):
        check_trainer(make, space, epochs=epochs)


def test_a_check_refuses_what_is_no_trainer() -> None:
    checks = dict(trainer_checks(dict, SPACES))  # type: ignore[arg-type]
    with raises(SettingsError):
        checks["order"]()


def test_functions_make_a_trainer_that_can_be_checked() -> None:
    def make() -> Any:
        inner = NoisyQuadratic()
        return trainer_from(
            get_state=inner.get_state,
            set_state=inner.set_state,
            train_k=inner.train_k,
            metrics=inner.metrics,
        )

    report = check_trainer(make, SPACES)
    assert "use a function or class of a module" in str(report)


# --- cost


@pytest.mark.parametrize(
    ("epochs", "values", "most"),
    [(2, [0.02, 0.05, 0.1], 205), (1, [0.02, 0.05, 0.1], 150), (2, [0.01, 0.02, 0.05, 0.1], 215)],
)
def test_how_many_epochs_are_trained(epochs: int, values: list[float], most: int) -> None:
    trained = []

    class Counts(NoisyQuadratic):
        def train_k(self, k: int, hyperparameters: Any) -> None:
            super().train_k(k, hyperparameters)
            trained.append(k)

    check_trainer(Counts, {"lr": values}, epochs=epochs, another_process=False)
    assert most - 15 < sum(trained) <= most


# --- side effects


def test_global_generators_are_put_back() -> None:
    before = random.getstate(), np.random.get_state()[1].tolist()  # type: ignore[index, union-attr]
    for name in ("uses numpy's global generator", "uses Python's global generator"):
        list(verdicts(BROKEN[name][0], SPACE, another_process=False))
    after = random.getstate(), np.random.get_state()[1].tolist()  # type: ignore[index, union-attr]
    assert before == after


def test_a_verdict_is_one_line() -> None:
    assert str(Verdict(law="order", status="BROKEN", message="order: x")) == "BROKEN   order: x"
    assert str(Verdict(law="order", status="ok", notes=("a", "b"))) == "ok       order (a; b)"


def test_generators_of_a_framework_are_put_back(registry: Callable[[Integration], None]) -> None:
    acme = SimpleNamespace(state="before")

    def hold_generators() -> Callable[[], None]:
        return partial(setattr, acme, "state", acme.state)

    registry(Integration(package="dynhp_other"))
    registry(Integration(package="dynhp_acme", hold_generators=hold_generators))
    with generators_put_back():
        acme.state = "used"
    assert acme.state == "before"
