"""One try: what is measured, what fails it, and values that are not in force."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from dynhp import DynamicGridAdapter, Serial, lowest, trainer_from
from dynhp.errors import ContractError, MetricError, SettingsError, ValueNotInForce
from dynhp.executors.attempt import attempt, put_in_force, reseed
from dynhp.executors.contract import UNKNOWN_STATE, Job
from dynhp.read_back import check_in_force, check_value, plain_metrics, read_metrics
from dynhp.records import Candidate
from dynhp.testing import NoisyQuadratic
from tests.support.messages import raises
from tests.support.reference import Diary, Toy, bits


def job_of(origin: Any, value: Any = 0, **settings: Any) -> Job:
    given: dict[str, Any] = {"epochs": 2, "watch": ("loss",)}
    return Job(origin=origin, candidate=Candidate({"x": value}), **(given | settings))


@pytest.mark.usefixtures("ticking")
def test_a_job_at_its_origin_restores_nothing() -> None:
    trainer = Diary({0: 1})
    origin = ("here",)
    outcome = attempt(trainer, job_of(origin), at=origin)
    assert trainer.calls == ["train 1 0", "train 1 0"]
    assert (outcome.epochs, outcome.error, outcome.in_place) == (2, None, True)
    assert outcome.series == ({"loss": 1.0}, {"loss": 1.0})
    assert outcome.keep() == (0, 0)
    assert outcome.seconds == 1.0


def test_a_job_elsewhere_is_restored_even_where_states_are_equal() -> None:
    trainer = Diary({0: 1, "here": 2})
    attempt(trainer, job_of(("here",)), at=tuple(list(("here",))))
    assert trainer.diary == ("here", 0, 0)
    trainer.calls.clear()
    attempt(trainer, job_of(("here",)))
    assert trainer.calls[0] == "set"


def test_serial_starts_only_the_first_job_where_it_is() -> None:
    trainer = Diary({0: 1, 1: 2})
    origin = trainer.diary
    outcomes = Serial().run(trainer, [job_of(origin, 0), job_of(origin, 1)], at=origin)
    assert trainer.calls == []  # nothing is trained before it is asked for
    assert next(outcomes).series[-1] == {"loss": 1.0}
    assert trainer.calls == ["train 1 0", "train 1 0"]
    assert next(outcomes).series[-1] == {"loss": 2.0}
    assert trainer.calls[2:] == ["set", "train 1 1", "train 1 1"]
    assert next(outcomes, None) is None


def test_a_seed_is_given_to_the_trainer_after_the_restore() -> None:
    trainer, other = Toy(1), Toy(2)
    origin = other.get_state()
    seeded = Job(origin=origin, candidate=Candidate({"lr": 0.1}), epochs=1, seed=0)
    attempt(trainer, seeded)
    expected = Toy(2)
    expected.curvature = trainer.curvature
    expected.reseed(0)
    expected.train_k(1, {"lr": 0.1})
    assert bits(trainer.get_state()) == bits(expected.get_state())


@pytest.mark.parametrize("failure", [ValueError("bad"), MemoryError(), StopIteration(3)])
def test_an_exception_fails_the_try(failure: Exception) -> None:
    outcome = attempt(Diary({0: failure}), job_of(()))
    assert outcome.error == f"{type(failure).__name__}: {failure}"
    assert (outcome.epochs, outcome.series) == (1, ())


@pytest.mark.parametrize("failure", [ContractError("broken"), SettingsError("unknown name")])
def test_a_broken_contract_is_no_failed_try(failure: Exception) -> None:
    with pytest.raises(type(failure), match=str(failure)):
        attempt(Diary({0: failure}), job_of(()))


@pytest.mark.parametrize("loss", [math.nan, math.inf, -math.inf])
def test_only_watched_metrics_must_be_finite(loss: float) -> None:
    outcome = attempt(Diary({0: loss}), job_of(()))
    assert outcome.error == f"loss is {loss} after epoch 1"
    assert (outcome.epochs, len(outcome.series)) == (1, 1)
    assert attempt(Diary({0: loss}), job_of((), watch=())).error is None


def test_a_watched_metric_must_be_there() -> None:
    with raises(MetricError):
        attempt(Diary({0: 1}), job_of((), watch=("loss", "lose")))


def measuring(value: Any) -> Any:
    return trainer_from(
        get_state=lambda: 0,
        set_state=lambda state: None,
        train_k=lambda k, values: None,
        metrics=lambda: value,
    )


@pytest.mark.parametrize("value", [1, 1.0, True, np.float32(1), np.int64(1), np.array(1.0)])
def test_metrics_become_floats(value: Any) -> None:
    metric = read_metrics(measuring({"loss": value}))["loss"]
    assert metric == 1.0
    assert type(metric) is float


@pytest.mark.parametrize("value", ["1.0", None, [1.0], 1j, 10**400, np.ones(2), object])
def test_what_is_no_number_is_no_metric(value: Any) -> None:
    with raises(MetricError):
        read_metrics(measuring({"acc": 1.0, "loss": value}))


@pytest.mark.parametrize("metrics", [0.5, None, [("loss", 1.0)]])
def test_metrics_must_be_a_mapping(metrics: Any) -> None:
    with raises(MetricError):
        read_metrics(measuring(metrics))


def test_reseed_says_what_is_missing() -> None:
    with raises(SettingsError):
        reseed(Diary({}), 1)


@pytest.mark.parametrize(
    ("wanted", "in_force"),
    [
        (0.1, 0.1),
        (0.1, float(np.float32(0.1))),
        (1, 1.0),
        (1.0, 1.0 + 1e-7),
        ("relu", "relu"),
        (None, None),
        (True, True),
    ],
)
def test_values_that_are_in_force(wanted: Any, in_force: Any) -> None:
    check_value("x", wanted, in_force, "now")


@pytest.mark.parametrize(
    ("wanted", "in_force"),
    [
        (0.1, 0.11),
        (1.0, 1.0 + 2e-6),
        (0.0, 1e-9),
        (0.1, math.nan),
        ("relu", "tanh"),
        ("relu", None),
        (0.1, "0.1"),
        (None, 0.0),
    ],
)
def test_values_that_are_not_in_force(wanted: Any, in_force: Any) -> None:
    with raises(ValueNotInForce):
        check_value("x", wanted, in_force, "after lunch")


class ReadBack(Toy):
    """A toy whose learning rate lives in an optimiser of its own."""

    lr = 0.1

    def train_k(self, k: int, values: Any) -> None:
        self.apply(values["lr"])
        super().train_k(k, {"lr": self.lr})

    def apply(self, lr: float) -> None:
        self.lr = lr

    def hyperparameters(self) -> dict[str, Any]:
        return {"lr": self.lr}


class Ignores(ReadBack):
    """The setter has no effect."""

    def apply(self, lr: float) -> None:
        pass


class Scheduled(ReadBack):
    """A scheduler overwrites the value after some epochs."""

    def train_k(self, k: int, values: Any) -> None:
        super().train_k(k, values)
        if self.steps > 6:
            self.lr *= 0.5


class OnlyInTheStretch(ReadBack):
    """A scheduler overwrites the value only where several epochs are trained at once."""

    def train_k(self, k: int, values: Any) -> None:
        super().train_k(k, values)
        if k > 1:
            self.lr *= 0.5


class RestoresOld(ReadBack):
    """The value is part of the state, and what is restored wins."""

    restored = False

    def get_state(self) -> dict[str, Any]:
        return super().get_state() | {"lr": self.lr}

    def set_state(self, state: Any) -> None:
        super().set_state(state)
        self.lr, self.restored = state["lr"], True

    def apply(self, lr: float) -> None:
        self.lr = self.lr if self.restored else lr


@pytest.mark.parametrize(
    ("kind", "wanted", "in_force", "rounds"),
    [
        (Ignores, 0.01, 0.1, 0),
        (Scheduled, 0.1, 0.05, 1),
        (OnlyInTheStretch, 0.1, 0.05, 0),
        (RestoresOld, 0.01, 0.1, 0),
    ],
)
def test_a_value_that_is_not_in_force_stops_the_run(
    kind: type[Toy], wanted: float, in_force: float, rounds: int
) -> None:
    trainer = kind(3, noise=0.0)
    adapter = DynamicGridAdapter(
        trainer, {"lr": [0.01, 0.1]}, criterion=lowest("loss"), adapt_every=5, try_for=2
    )
    assert adapter.current == {"lr": 0.1}
    states = [bits(trainer.get_state())]
    adapter.callbacks = (lambda event: states.append(bits(trainer.get_state())),)
    with pytest.raises(ValueNotInForce) as caught:
        adapter.run(20)
    assert str(caught.value).startswith(
        f"lr should be {wanted} but is {in_force} after training with it; something overwrote it"
    )
    assert str(caught.value).endswith("or fix the setter")
    assert len(adapter.history) == rounds
    at_origin = {name: value for name, value in trainer.get_state().items() if name != "lr"}
    assert at_origin["steps"] == 5 * rounds
    if not rounds:
        assert dict(states[0])["weights"] == dict(bits(at_origin))["weights"]


def test_a_trainer_may_tell_only_some_of_its_values() -> None:
    class Quiet(ReadBack):
        def hyperparameters(self) -> dict[str, Any]:
            return {}

    trainer = Quiet()
    DynamicGridAdapter(
        trainer, {"lr": [0.01, 0.1]}, criterion=lowest("loss"), adapt_every=2, try_for=1
    ).run(4)
    assert trainer.steps == 4
    reader = trainer_from(
        get_state=lambda: 0,
        set_state=lambda state: None,
        train_k=lambda k, values: None,
        metrics=lambda: {},
        hyperparameters=lambda: {"lr": 0.1},
    )
    check_in_force(reader, Candidate({"wd": 0.5, "lr": 0.1}))
    with raises(ValueNotInForce):
        check_in_force(reader, Candidate({"wd": 0.5, "lr": 0.2}))


@pytest.mark.parametrize(
    "values",
    [
        {"learning_rate": 0.1},
        None,
    ],
)
def test_a_read_back_that_could_read_nothing_is_refused(values: Any) -> None:
    class Mistaken(ReadBack):
        def hyperparameters(self) -> Any:
            return values

    with raises(ContractError):
        DynamicGridAdapter(
            Mistaken(), {"lr": [0.01, 0.1]}, criterion=lowest("loss"), adapt_every=2, try_for=1
        )


def test_nowhere_is_no_state() -> None:
    assert repr(UNKNOWN_STATE) == "UNKNOWN_STATE"
    assert UNKNOWN_STATE is not None


@pytest.mark.parametrize("name", [3, None, ("val", "loss")])
def test_a_metric_is_called_by_a_string(name: Any) -> None:
    with raises(MetricError):
        plain_metrics({"loss": 1.0, name: 2.0})


@pytest.mark.parametrize("value", [float("nan"), -float("nan"), np.float32("nan")])
def test_there_is_one_nan(value: Any) -> None:
    assert plain_metrics({"loss": value})["loss"] is math.nan


class AtZero(NoisyQuadratic):
    """Says which rate it has, and does something at k = 0."""

    rate = 0.01

    def hyperparameters(self) -> Any:
        return {"lr": self.rate}

    def train_k(self, k: int, hyperparameters: Any) -> None:
        self.rate = hyperparameters["lr"]
        self.at_zero(k)
        super().train_k(k, {"lr": self.rate})

    def at_zero(self, k: int) -> None:
        pass


class TrainsAtZero(AtZero):
    def at_zero(self, k: int) -> None:
        if not k:
            super(AtZero, self).train_k(1, {"lr": self.rate})


class RaisesAtZero(AtZero):
    def at_zero(self, k: int) -> None:
        _ = 1 / k


def test_values_are_put_in_force_without_training() -> None:
    trainer = AtZero()
    before = bits(trainer.get_state())
    put_in_force(trainer, Candidate({"lr": 0.2}))
    assert trainer.rate == 0.2
    assert bits(trainer.get_state()) == before


@pytest.mark.parametrize(
    "trainer",
    [
        TrainsAtZero(),
        RaisesAtZero(),
    ],
)
def test_a_trainer_that_cannot_do_nothing_is_stopped(trainer: AtZero) -> None:
    with raises(ContractError):
        put_in_force(trainer, Candidate({"lr": 0.2}))
