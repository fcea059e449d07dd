"""The kit itself: what it asks for, what it tells, and what it does where it cannot judge."""

from __future__ import annotations

import random
import sys
import threading
from collections.abc import Callable, Mapping
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dynhp.errors import LawBroken, SettingsError
from dynhp.records import Value
from dynhp.testing import (
    LAWS,
    Fragile,
    NoisyQuadratic,
    Quadratic,
    Verdict,
    check_trainer,
    difference,
    trainer_checks,
    verdicts,
)
from dynhp.testing.laws.probe import copy_of, generators_put_back
from dynhp.testing.toys.doubles import BROKEN, SPACE
from dynhp.trainer import trainer_from

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
    ("make", "space", "epochs", "told"),
    [
        (Quadratic(), SPACES, 3, "make must be a function that builds a fresh trainer"),
        (Quadratic, {}, 3, "at least one hyperparameter"),
        (Quadratic, SPACES, 0, "epochs must be a whole number above 0, got 0"),
        (Quadratic, SPACES, True, "epochs must be a whole number above 0, got True"),
        (Quadratic, SPACES, 1.5, "epochs must be a whole number above 0, got 1.5"),
        (dict, SPACES, 3, "lacks get_state, set_state, train_k, metrics"),
        (raises, SPACES, 3, "but raised OSError: no data"),
        ((lambda one: lambda: one)(Quadratic()), SPACES, 3, "a fresh trainer each time, got"),
    ],
)
def test_bad_input_is_refused(make: Any, space: Any, epochs: Any, told: str) -> None:
    with pytest.raises(SettingsError, match=told):
        check_trainer(make, space, epochs=epochs)


def test_a_check_refuses_what_is_no_trainer() -> None:
    checks = dict(trainer_checks(dict, SPACES))  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match="lacks get_state"):
        checks["order"]()


# --- what the trainer does wrong


class NoFreshState(NoisyQuadratic):
    """Cannot take a state from before training."""

    def set_state(self, state: Mapping[str, Any]) -> None:
        if not state["steps"]:
            raise KeyError("velocity")
        super().set_state(state)


def test_an_exception_of_the_trainer_is_a_broken_law() -> None:
    checks = dict(trainer_checks(NoFreshState, SPACES))
    with pytest.raises(LawBroken, match="restore: the trainer raised KeyError: 'velocity'") as told:
        checks["restore"]()
    assert "from before any training" in str(told.value)


@pytest.mark.parametrize("law", LAWS)
def test_a_space_that_is_not_the_trainers(law: str) -> None:
    check = dict(trainer_checks(NoisyQuadratic, {"rate": [0.1, 0.2]}))[law]
    told = f"^{law}: none of 2 candidates could be trained; {{'rate': 0.1}} raised SettingsError: "
    with pytest.raises(LawBroken, match=told):
        check()


def returning(found: Any) -> Callable[[], Any]:
    class Odd(NoisyQuadratic):
        def metrics(self) -> Any:
            return found

    return Odd


@pytest.mark.parametrize(
    ("found", "told"),
    [
        ([], r"purity: metrics\(\) gave \[\]"),
        ({1: 0.5}, r"purity: metrics\(\) has the name 1"),
        ({"loss": 1}, "purity: metric 'loss' is 1, a int"),
        ({"loss": -np.inf}, "purity: metric 'loss' is -inf after an epoch with {'lr': 0.05}"),
    ],
)
def test_metrics_that_are_none(found: Any, told: str) -> None:
    with pytest.raises(LawBroken, match=told):
        dict(trainer_checks(returning(found), SPACES))["purity"]()


class TalksTooMuch(NoisyQuadratic):
    """Telling the value changes it."""

    def hyperparameters(self) -> dict[str, Value]:
        self.weights = self.weights / 2
        return super().hyperparameters()


class Restless(NoisyQuadratic):
    """Metrics are pure only if asked for once: a counter of questions goes into the answer."""

    asked = 0

    def metrics(self) -> dict[str, float]:
        self.asked += 1
        return {**super().metrics(), "asked": float(self.asked // 9)}


def test_which_method_was_impure_is_told() -> None:
    told = r"calling hyperparameters\(\) changed what followed: state\['weights'\]\[0\]"
    with pytest.raises(LawBroken, match=told):
        dict(trainer_checks(TalksTooMuch, SPACES))["purity"]()
    told = r"calling metrics\(\) changed what followed: metrics\(\)"
    with pytest.raises(LawBroken, match=told):
        dict(trainer_checks(Restless, SPACES, epochs=6))["purity"]()


class SeedsHalf(NoisyQuadratic):
    """The trainer's place in memory decides after reseed."""

    def reseed(self, seed: int) -> None:
        self.rng = np.random.default_rng([seed, random.getrandbits(32)])


def test_the_same_seed_must_give_the_same_future() -> None:
    with pytest.raises(LawBroken, match=r"the same reseed\(1\) went another way"):
        dict(trainer_checks(SeedsHalf, SPACES))["restore"]()


# --- values of the space


def test_one_axis_without_effect_is_found_beside_another() -> None:
    class OneOfTwo(NoisyQuadratic):
        def train_k(self, k: int, hyperparameters: Mapping[str, Value]) -> None:
            known = dict(hyperparameters)
            known.pop("momentum")
            super().train_k(k, known)

        def hyperparameters(self) -> dict[str, Value]:
            return {}

    space = {"lr": [0.02, 0.1], "momentum": [0.0, 0.5, 0.9]}
    told = "force: momentum made no difference: 0.5, 0.0, 0.9 led"
    with pytest.raises(LawBroken, match=told):
        dict(trainer_checks(OneOfTwo, space))["force"]()
    check_trainer(NoisyQuadratic, space, another_process=False)


def test_values_may_fail_as_tries_may() -> None:
    raising = partial(Fragile, NoisyQuadratic, bad=(0.02, 0.1), how="raise")
    report = check_trainer(raising, SPACES)
    notes = {verdict.law: verdict.notes for verdict in report.verdicts if verdict.notes}
    assert list(notes) == ["force", "order"]
    assert "'lr' was not judged: fewer than two" in notes["force"][0]
    assert "only one candidate" in notes["order"][0]
    measuring_nan = partial(Fragile, NoisyQuadratic, bad=(0.1,), how="nan")
    assert all(not verdict.notes for verdict in check_trainer(measuring_nan, SPACES).verdicts)


class StumblesAtTwo(NoisyQuadratic):
    def train_k(self, k: int, hyperparameters: Mapping[str, Value]) -> None:
        super().train_k(k, hyperparameters)
        self.weights = self.weights + (k == 2)


def test_calls_of_unequal_length_compose_too() -> None:
    with pytest.raises(
        LawBroken, match=r"composition: train_k\(3\) and train_k\(1\), train_k\(2\) d"
    ):
        dict(trainer_checks(StumblesAtTwo, SPACES))["composition"]()


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("is made differently each time", "restore: a new trainer set to the same state and"),
        ("forgets its random state", "restore: set back to the same state and trained with"),
        ("starts a new optimiser on restore", "restore: training on with {'lr': 0.05} and"),
        ("metrics that train", r"purity: two calls of metrics\(\) in a row differ"),
        ("get_state draws random numbers", r"purity: calling get_state\(\) changed what followed"),
        ("lies in hyperparameters()", "force: after train_k with {'lr': 0.05}, hyperpar"),
        ("restores an old value over the new one", "force: after set_state and train_k with"),
        ("hands out live state", "isolation: a state handed out by get_state changed"),
        ("trains in place on a handed-in state", "isolation: training wrote into a state that"),
    ],
)
def test_the_message_tells_what_was_seen(name: str, told: str) -> None:
    make, law = BROKEN[name]
    with pytest.raises(LawBroken, match=f"^{told}"):
        dict(trainer_checks(make, SPACE))[law]()


# --- tries in one pass


class Batches(NoisyQuadratic):
    def try_batch(self, origin: Any, candidates: Any, k: int) -> Any:
        done = []
        for candidate in candidates:
            self.set_state(origin)
            series = []
            for _ in range(k):
                self.train_k(1, candidate)
                series.append(self.metrics())
            done.append((series, self.get_state()))
        return done


class IgnoresK(Batches):
    def try_batch(self, origin: Any, candidates: Any, k: int) -> Any:
        return super().try_batch(origin, candidates, 1)


class MeasuresOthers(Batches):
    def try_batch(self, origin: Any, candidates: Any, k: int) -> Any:
        series, states = zip(*super().try_batch(origin, candidates, k), strict=True)
        return list(zip(series[::-1], states, strict=True))


def test_tries_in_one_pass_must_equal_tries_alone() -> None:
    assert dict(trainer_checks(Batches, SPACES))["order"]() == ()
    told = r"in try_batch than alone: metrics\(\)\[0\]\['loss'\]"
    with pytest.raises(LawBroken, match=told):
        dict(trainer_checks(MeasuresOthers, SPACES))["order"]()
    with pytest.raises(LawBroken, match="try_batch gave 1 epochs where 2 were asked for"):
        dict(trainer_checks(IgnoresK, SPACES))["order"]()


def test_a_read_back_under_other_names_breaks_the_law_of_force() -> None:
    class OtherNames(NoisyQuadratic):
        def hyperparameters(self) -> Any:
            return {"learning_rate": 0.1}

    with pytest.raises(LawBroken, match=r"tells of \['learning_rate'\]"):
        dict(trainer_checks(OtherNames, SPACES))["force"]()


# --- what cannot be judged


def test_what_restore_breaks_is_not_blamed_on_others() -> None:
    make, _ = BROKEN["uses numpy's global generator"]
    notes = {verdict.law: verdict.notes for verdict in verdicts(make, SPACE)}
    for law in ("composition", "purity", "force"):
        assert "see restore" in notes[law][0]


class Sealed:
    """A state that can be neither copied nor compared nor pickled, as of a compiled thing."""

    def __init__(self, state: Any) -> None:
        self.state, self.lock = state, threading.Lock()


class KeepsSealed(NoisyQuadratic):
    def get_state(self) -> Any:
        return Sealed(super().get_state())

    def set_state(self, state: Any) -> None:
        super().set_state(state.state)


class WritesIntoSealed(KeepsSealed):
    def set_state(self, state: Any) -> None:
        super().set_state(state)
        self.sealed = state

    def train_k(self, k: int, hyperparameters: Mapping[str, Value]) -> None:
        super().train_k(k, hyperparameters)
        if hasattr(self, "sealed"):
            self.sealed.state = super().get_state().state


def test_states_that_allow_nothing_are_judged_by_behaviour() -> None:
    report = check_trainer(KeepsSealed, SPACES)
    note, isolation = (note for verdict in report.verdicts for note in verdict.notes)
    assert isolation == "not judged: the state can be neither deep-copied nor pickled"
    assert "cannot be pickled (TypeError: cannot pickle '_thread.lock' object)" in note
    with pytest.raises(LawBroken, match="restore: set back to the same state"):
        check_trainer(WritesIntoSealed, SPACES)


class OnlyPickles:
    def __init__(self) -> None:
        self.items = [1]

    def __deepcopy__(self, memo: object) -> Any:
        raise TypeError("no")


@pytest.mark.parametrize("state", [OnlyPickles(), {"items": [1], "function": lambda: None}])
def test_a_state_is_copied_in_the_way_it_allows(state: Any) -> None:
    copied = copy_of(state)
    assert copied is not state
    items = copied["items"] if isinstance(copied, dict) else copied.items
    items.append(2)
    assert difference(state, copied) is not None


class Melting:
    """A state that compares equal to anything, but copies well."""

    def __init__(self, state: Any) -> None:
        self.state = state

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]


class WritesIntoMelting(NoisyQuadratic):
    def get_state(self) -> Any:
        return Melting(super().get_state())

    def set_state(self, state: Any) -> None:
        self.melting = state
        super().set_state(state.state)

    def train_k(self, k: int, hyperparameters: Mapping[str, Value]) -> None:
        super().train_k(k, hyperparameters)
        if hasattr(self, "melting"):
            self.melting.state = super().get_state()


def test_isolation_is_judged_by_behaviour_where_looking_does_not_help() -> None:
    with pytest.raises(LawBroken, match=r"isolation: training wrote into .* metrics\(\)"):
        dict(trainer_checks(WritesIntoMelting, SPACES))["isolation"]()


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
