"""Checking the laws: what is asked for, what is refused, what is reported and left untouched."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dynhp.errors import LawBroken, SettingsError
from dynhp.testing import (
    LAWS,
    NoisyQuadratic,
    Quadratic,
    Verdict,
    check_trainer,
    trainer_checks,
    verdicts,
)
from dynhp.testing.laws.probe import generators_put_back
from dynhp.trainer import trainer_from
from tests.support.doubles import BROKEN, SPACE

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
    make, law = BROKEN["starts a new optimiser in each call"]
    with pytest.raises(LawBroken, match=law):
        check_trainer(make, SPACE, epochs=1, another_process=False)


def test_all_broken_laws_are_told_in_one_error() -> None:
    make, _ = BROKEN["forgets its random state"]
    with pytest.raises(LawBroken, match=r"(?s)restore: .*Usual cause: .*\norder: ") as caught:
        check_trainer(make, SPACE)
    assert "isolation" not in str(caught.value)


def test_a_check_raises_on_its_own() -> None:
    make, _ = BROKEN["ignores the value"]
    checks = dict(trainer_checks(make, SPACE))
    assert checks["order"]() == ()
    with pytest.raises(LawBroken, match=r"^force: lr made no difference: 0\.05, 0\.02, 0\.1 led"):
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
    with pytest.raises(LawBroken, match=r"^force: holds, .*\('never'\); take it out$"):
        check_trainer(
            Quadratic, SPACES, another_process=False, expected_failures={"force": "never"}
        )


@pytest.mark.parametrize("call", [check_trainer, trainer_checks, verdicts])
def test_an_unknown_law_is_an_error_at_once(call: Callable[..., object]) -> None:
    with pytest.raises(SettingsError, match="no law 'isolatoin'; did you mean 'isolation'"):
        call(Quadratic, SPACES, expected_failures={"isolatoin": "x"})


# --- bad input


def raises() -> Any:
    raise OSError("no data")


@pytest.mark.parametrize(
    ("make", "space", "epochs", "message"),
    [
        (Quadratic(), SPACES, 3, "make must be a function that builds a fresh trainer"),
        (Quadratic, {}, 3, "at least one hyperparameter"),
        (Quadratic, SPACES, 0, "epochs must be a whole number above 0, got 0"),
        (Quadratic, SPACES, True, "epochs must be a whole number above 0, got True"),
        (Quadratic, SPACES, 1.5, "epochs must be a whole number above 0, got 1.5"),
        (dict, SPACES, 3, "lacks get_state, set_state, train_k, metrics"),
        (raises, SPACES, 3, "but raised OSError: no data"),
        (
            (lambda trainer: lambda: trainer)(Quadratic()),
            SPACES,
            3,
            "a fresh trainer each time, got",
        ),
    ],
)
def test_bad_input_is_refused(make: Any, space: Any, epochs: Any, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        check_trainer(make, space, epochs=epochs)


def test_a_check_refuses_what_is_no_trainer() -> None:
    checks = dict(trainer_checks(dict, SPACES))  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match="lacks get_state"):
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


def test_torchs_generator_is_put_back_where_torch_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = SimpleNamespace(state="before")
    torch.get_rng_state = lambda: torch.state
    torch.set_rng_state = lambda state: setattr(torch, "state", state)
    monkeypatch.setitem(sys.modules, "torch", torch)
    with generators_put_back():
        torch.state = "used"
    assert torch.state == "before"
