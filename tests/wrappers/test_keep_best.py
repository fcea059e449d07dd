"""KeepBest: a trainer like any other, that also knows its best state."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynhp import DynamicGridAdapter, KeepBest, Trainer, highest, lowest
from dynhp.errors import MetricError, SettingsError
from dynhp.records import Metrics, Progress
from dynhp.tails import averaged
from dynhp.testing.toys.quadratic import NoisyQuadratic, Quadratic
from dynhp.trainer import ReadsBack, Reseeds
from tests.support.messages import raises
from tests.support.reference import Toy


class Path:
    """A walk whose state is where it has been; the score is the last value trained with."""

    def __init__(self) -> None:
        self.been: tuple[float, ...] = ()

    def get_state(self) -> list[float]:
        return list(self.been)  # a new object every time, so that sharing can be seen

    def set_state(self, state: Sequence[float]) -> None:
        self.been = tuple(state)

    def train_k(self, k: int, hyperparameters: Mapping[str, Any]) -> None:
        self.been += (hyperparameters["x"],) * k

    def metrics(self) -> dict[str, float]:
        return {"score": self.been[-1]} if self.been else {}


def walked(*values: float) -> KeepBest:
    trainer = KeepBest(Path(), highest("score"))
    for value in values:
        trainer.train_k(1, {"x": value})
    return trainer


def test_the_best_state_is_delivered() -> None:
    trainer = walked(1.0, 3.0, 2.0)
    assert trainer.metrics() == {"score": 2.0, "best_score": 3.0}
    trainer.deliver()
    assert trainer.trainer.get_state() == [1.0, 3.0]


def test_the_first_of_equals_is_the_best() -> None:
    trainer = walked(3.0, 1.0, 3.0)
    trainer.deliver()
    assert trainer.trainer.get_state() == [3.0]


def test_a_score_that_is_not_finite_is_never_best() -> None:
    trainer = walked(math.nan, -2.0, math.inf, math.nan, -3.0)
    trainer.deliver()
    assert repr(trainer.trainer.get_state()) == "[nan, -2.0]"
    assert trainer.metrics()["best_score"] == -2.0


@pytest.mark.parametrize("values", [(), (math.nan,)])
def test_without_a_best_nothing_is_delivered(values: tuple[float, ...]) -> None:
    trainer = walked(*values)
    trainer.deliver()
    assert repr(trainer.trainer.get_state()) == repr(list(values))
    assert math.isnan(trainer.metrics().get("best_score", math.nan))


def test_training_is_the_same_with_and_without() -> None:
    plain = NoisyQuadratic(seed=3)
    kept = KeepBest(NoisyQuadratic(seed=3), lowest("loss"))
    for k, value in ((2, 0.1), (3, 0.5), (1, 0.01)):
        plain.train_k(k, {"lr": value})
        kept.train_k(k, {"lr": value})
    assert repr(kept.get_state().own) == repr(plain.get_state())
    assert {**plain.metrics(), "best_score": kept.metrics()["best_score"]} == kept.metrics()


@given(st.integers(0, 5), st.integers(0, 5), st.sampled_from([0.1, 0.9, 2.5]))
def test_composition(a: int, b: int, value: float) -> None:
    parts, whole = (KeepBest(NoisyQuadratic(seed=1), lowest("loss")) for _ in range(2))
    parts.train_k(a, {"lr": value})
    parts.train_k(b, {"lr": value})
    whole.train_k(a + b, {"lr": value})
    assert repr(parts.get_state()) == repr(whole.get_state())


@given(st.lists(st.sampled_from([0.1, 0.9, 2.5]), max_size=6), st.sampled_from([0.1, 2.5]))
def test_restore(before: list[float], value: float) -> None:
    trainer = KeepBest(NoisyQuadratic(seed=1), lowest("loss"))
    for earlier in before:
        trainer.train_k(1, {"lr": earlier})
    state = trainer.get_state()
    trainer.train_k(3, {"lr": value})
    expected = repr(trainer.get_state())
    other = KeepBest(NoisyQuadratic(seed=8), lowest("loss"))
    for again in (trainer, other):
        again.set_state(state)
        again.train_k(3, {"lr": value})
        assert repr(again.get_state()) == expected


def test_states_share_the_best_and_copy_nothing() -> None:
    trainer = walked(3.0, 1.0)
    earlier = trainer.get_state()
    trainer.train_k(2, {"x": 2.0})
    later = trainer.get_state()
    assert earlier.best is later.best
    assert earlier.best is not None
    assert earlier.best.state == [3.0]
    trainer.set_state(earlier)
    assert trainer.get_state().best is earlier.best


def test_a_new_best_does_not_change_what_was_handed_out() -> None:
    trainer = walked(1.0)
    state = trainer.get_state()
    trainer.train_k(1, {"x": 5.0})
    trainer.set_state(state)
    assert trainer.metrics()["best_score"] == 1.0
    trainer.deliver()
    assert trainer.trainer.get_state() == [1.0]


def test_the_old_best_is_let_go_before_the_new_one_is_taken() -> None:
    held: list[object] = []

    class Watched(Path):
        def get_state(self) -> list[float]:
            held.append(trainer._keeper.best)
            return super().get_state()

    trainer = KeepBest(Watched(), highest("score"))
    trainer.train_k(1, {"x": 1.0})
    trainer.train_k(1, {"x": 2.0})
    assert held == [None, None]


def test_a_best_that_could_not_be_taken_is_none() -> None:
    trainer = walked(1.0)

    def fail() -> list[float]:
        raise MemoryError

    trainer.trainer.get_state = fail  # type: ignore[method-assign]
    with pytest.raises(MemoryError):
        trainer.train_k(1, {"x": 2.0})
    trainer.deliver()  # puts nothing back, least of all None
    assert trainer.trainer.metrics() == {"score": 2.0}


class Spike:
    """The score rises until 10 and falls off from there."""

    def __init__(self) -> None:
        self.x = 0.0

    def get_state(self) -> float:
        return self.x

    def set_state(self, state: float) -> None:
        self.x = state

    def train_k(self, k: int, hyperparameters: Mapping[str, Any]) -> None:
        for _ in range(k):
            self.x += hyperparameters["gain"]

    def metrics(self) -> dict[str, float]:
        return {"score": self.x if self.x <= 10 else 10 - self.x, "steady": -self.x}


def test_every_epoch_of_a_stretch_is_looked_at() -> None:
    trainer = KeepBest(Spike(), highest("score"))
    trainer.train_k(6, {"gain": 3.0})
    assert trainer.metrics() == {"score": -8.0, "steady": -18.0, "best_score": 9.0}
    trainer.deliver()
    assert trainer.trainer.get_state() == 9.0


def test_the_best_is_kept_across_the_tries_of_an_adapter() -> None:
    trainer = KeepBest(Spike(), highest("score"))
    space = {"gain": [1.0, 3.0]}
    settings: dict[str, Any] = {"adapt_every": 3, "try_for": 1, "initial": {"gain": 3.0}}
    DynamicGridAdapter(trainer, space, criterion=lowest("steady"), **settings).run(9)
    assert trainer.trainer.get_state() == 27.0
    trainer.deliver()
    assert trainer.trainer.get_state() == 9.0


def test_values_are_put_in_force_where_no_epoch_follows_the_tries() -> None:
    inner = Toy(1)  # which says what is in force
    adapter = DynamicGridAdapter(
        KeepBest(inner, lowest("loss")), {"lr": [0.6, 0.05]}, criterion=highest("loss"),
        adapt_every=2, try_for=2, initial={"lr": 0.6},
    )  # fmt: skip
    adapter.run(4)
    assert inner.hyperparameters() == adapter.current


class Timed(Quadratic):
    """Measures something that differs each time."""

    looks = 0

    def metrics(self) -> dict[str, float]:
        self.looks += 1
        return {**super().metrics(), "seconds": float(self.looks)}


def test_a_metric_that_differs_each_time_is_no_part_of_the_state() -> None:
    trainer = KeepBest(Timed(), lowest("loss"))
    settings: dict[str, Any] = {"adapt_every": 2, "try_for": 1, "check": "every"}
    DynamicGridAdapter(trainer, {"lr": [0.1, 0.5]}, criterion=lowest("loss"), **settings).run(4)
    assert trainer.metrics()["best_score"] < 0


def test_what_a_losing_try_saw_is_forgotten() -> None:
    trainer = KeepBest(Spike(), highest("score"))
    space = {"gain": [1.0, 9.0]}
    settings: dict[str, Any] = {"adapt_every": 2, "try_for": 1, "initial": {"gain": 9.0}}
    adapter = DynamicGridAdapter(trainer, space, criterion=highest("steady"), **settings)
    adapter.run(4)  # 9 is tried first and scores 9; the main line never gets above 4
    assert [round_.tries[0].series[0]["best_score"] for round_ in adapter.history] == [9.0, 3.0]
    trainer.deliver()
    assert trainer.trainer.get_state() == 4.0


def test_the_criterion_is_told_the_epoch_of_the_main_line() -> None:
    seen: list[Progress] = []

    def watch(series: Sequence[Metrics], progress: Progress) -> float:
        seen.append(progress)
        return -float(len(series))

    trainer = KeepBest(Quadratic(), watch)
    trainer.train_k(2, {"lr": 0.1})
    state = trainer.get_state()
    trainer.train_k(2, {"lr": 0.1})
    trainer.set_state(state)
    trainer.train_k(1, {"lr": 0.1})
    assert seen == [Progress(1), Progress(2), Progress(3), Progress(4), Progress(3)]
    assert trainer.metrics()["best_score"] == -1.0


def test_powers_are_there_where_the_trainer_has_them() -> None:
    bare = KeepBest(Quadratic(), lowest("loss"))
    assert isinstance(bare, Trainer)
    assert not isinstance(bare, ReadsBack)
    assert not isinstance(bare, Reseeds)
    able = KeepBest(NoisyQuadratic(), lowest("loss"))
    assert isinstance(able, ReadsBack)
    assert isinstance(able, Reseeds)
    able.train_k(1, {"lr": 0.3})
    assert able.hyperparameters() == {"lr": 0.3}


def test_reseeding_reaches_the_trainer() -> None:
    first, second, other = (KeepBest(NoisyQuadratic(seed=s), lowest("loss")) for s in (0, 1, 2))
    for trainer, seed in ((first, 5), (second, 5), (other, 6)):
        trainer.reseed(seed)
        trainer.train_k(1, {"lr": 0.1})
    assert first.metrics() == second.metrics() != other.metrics()


def test_a_missing_metric_stops_training() -> None:
    trainer = KeepBest(Quadratic(), highest("los"))
    with raises(MetricError):
        trainer.train_k(1, {"lr": 0.1})


@pytest.mark.parametrize(
    ("trainer", "criterion"),
    [
        (object(), lowest("loss")),
        (Quadratic(), "loss"),
    ],
)
def test_what_cannot_work_is_refused(trainer: Any, criterion: Any) -> None:
    with raises(SettingsError):
        KeepBest(trainer, criterion)


def test_the_best_state_is_no_average_of_weights_and_the_one_in_it_is_delivered() -> None:
    class Averaging(Path):
        """Its average is its last value but one."""

        def deliver(self) -> None:
            self.been = self.been[:-1]

    policy: Any = {"maximize": "score", "adapt_every": 3, "try_for": 1, "course": averaged()}
    space = {"x": [1.0, 2.0]}
    with raises(SettingsError):
        DynamicGridAdapter(KeepBest(Path(), highest("score")), space, **policy)
    trainer = Averaging()
    keeper = KeepBest(trainer, highest("score"))
    DynamicGridAdapter(keeper, space, **policy).run(6)
    best = keeper.get_state().best
    assert best is not None
    keeper.deliver()
    assert trainer.been == tuple(best.state)[:-1]
