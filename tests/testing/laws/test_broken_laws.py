"""What a trainer does wrong is caught by the right law, with a message that says what was seen."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import pytest

from dynhp.errors import LawBroken
from dynhp.records import Value
from dynhp.testing import LAWS, NoisyQuadratic, check_trainer, trainer_checks
from dynhp.testing.toys.fragile import Fragile
from tests.support.doubles import BROKEN, SPACE, SPACES
from tests.support.forgetful import MadeDifferently
from tests.support.messages import raises


class NoFreshState(NoisyQuadratic):
    """Cannot take a state from before training."""

    def set_state(self, state: Mapping[str, Any]) -> None:
        if not state["steps"]:
            raise KeyError("velocity")
        super().set_state(state)


def test_an_exception_of_the_trainer_is_a_broken_law() -> None:
    checks = dict(trainer_checks(NoFreshState, SPACE))
    with raises(LawBroken) as caught:
        checks["restore"]()
    assert "from before any training" in str(caught.value)


@pytest.mark.parametrize("law", LAWS)
def test_a_space_that_is_not_the_trainers(law: str) -> None:
    check = dict(trainer_checks(NoisyQuadratic, {"rate": [0.1, 0.2]}))[law]
    with raises(LawBroken):
        check()


def measuring(result: Any) -> Callable[[], Any]:
    class MeasuresAnything(NoisyQuadratic):
        def metrics(self) -> Any:
            return result

    return MeasuresAnything


@pytest.mark.parametrize(
    "metrics",
    [
        [],
        {1: 0.5},
        {"loss": 1},
        {"loss": -np.inf},
    ],
)
def test_metrics_that_are_none(metrics: Any) -> None:
    with raises(LawBroken):
        dict(trainer_checks(measuring(metrics), SPACE))["purity"]()


class ReadingHalvesWeights(NoisyQuadratic):
    """Reading the value back changes the weights."""

    def hyperparameters(self) -> dict[str, Value]:
        self.weights = self.weights / 2
        return super().hyperparameters()


class CountsMeasurements(NoisyQuadratic):
    """How often it was measured becomes one of its metrics."""

    measured = 0

    def metrics(self) -> dict[str, float]:
        self.measured += 1
        return {**super().metrics(), "measured": float(self.measured // 9)}


def test_which_method_was_impure_is_told() -> None:
    with raises(LawBroken):
        dict(trainer_checks(ReadingHalvesWeights, SPACE))["purity"]()
    with raises(LawBroken):
        dict(trainer_checks(CountsMeasurements, SPACE, epochs=6))["purity"]()


class SeedsHalf(NoisyQuadratic):
    """Half of its seed comes from Python's global generator."""

    def reseed(self, seed: int) -> None:
        self.rng = np.random.default_rng([seed, random.getrandbits(32)])


def test_the_same_seed_must_give_the_same_future() -> None:
    with raises(LawBroken):
        dict(trainer_checks(SeedsHalf, SPACE))["restore"]()


def test_one_axis_without_effect_is_found_beside_another() -> None:
    class OneOfTwo(NoisyQuadratic):
        def train_k(self, k: int, hyperparameters: Mapping[str, Value]) -> None:
            known = dict(hyperparameters)
            known.pop("momentum")
            super().train_k(k, known)

        def hyperparameters(self) -> dict[str, Value]:
            return {}

    space = {"lr": [0.02, 0.1], "momentum": [0.0, 0.5, 0.9]}
    with raises(LawBroken):
        dict(trainer_checks(OneOfTwo, space))["force"]()
    check_trainer(NoisyQuadratic, space, another_process=False)


def test_values_may_fail_as_tries_may() -> None:
    raising = partial(Fragile, NoisyQuadratic, bad=(0.02, 0.1), failure="raise")
    report = check_trainer(raising, SPACE)
    notes = {verdict.law: verdict.notes for verdict in report.verdicts if verdict.notes}
    assert list(notes) == ["force"]
    assert notes["force"][0].startswith("lr: could not be trained: 0.02 (RuntimeError: cannot")
    assert "'lr' was not judged: fewer than two" in notes["force"][1]
    measuring_nan = partial(Fragile, NoisyQuadratic, bad=(0.1,), failure="nan")
    assert all(not verdict.notes for verdict in check_trainer(measuring_nan, SPACE).verdicts)


class TwoEpochsDiffer(NoisyQuadratic):
    def train_k(self, k: int, hyperparameters: Mapping[str, Value]) -> None:
        super().train_k(k, hyperparameters)
        self.weights = self.weights + (k == 2)


def test_calls_of_unequal_length_compose_too() -> None:
    with raises(LawBroken):
        dict(trainer_checks(TwoEpochsDiffer, SPACE))["composition"]()


@pytest.mark.parametrize(
    "name",
    [
        "is made differently each time",
        "forgets its random state",
        "starts a new optimiser on restore",
        "metrics that train",
        "get_state draws random numbers",
        "lies in hyperparameters()",
        "restores an old value over the new one",
        "hands out live state",
        "trains in place on a handed-in state",
        "sets its value only while training",
        "has no default",
        "has a memory in one category",
        "raises for one of many categories",
    ],
)
def test_the_message_tells_what_was_seen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MadeDifferently, "made", itertools.count())  # whatever tests came before
    make, law = BROKEN[name]
    with raises(LawBroken):
        dict(trainer_checks(make, SPACES.get(name, SPACE)))[law]()


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
    assert dict(trainer_checks(Batches, SPACE))["order"]() == ()
    with raises(LawBroken):
        dict(trainer_checks(MeasuresOthers, SPACE))["order"]()
    with raises(LawBroken):
        dict(trainer_checks(IgnoresK, SPACE))["order"]()


def test_a_read_back_under_other_names_breaks_the_law_of_force() -> None:
    class OtherNames(NoisyQuadratic):
        def hyperparameters(self) -> Any:
            return {"learning_rate": 0.1}

    with raises(LawBroken):
        dict(trainer_checks(OtherNames, SPACE))["force"]()
