"""A shadow: the better of two lines is delivered, and both are paid for."""

from __future__ import annotations

import math
import weakref
from collections.abc import Mapping
from typing import Any

import pytest

from dynhp import DynamicGridAdapter, Shadow, highest, lowest, plan_for, schedule_of
from dynhp.errors import AllTriesFailed, MetricError, SettingsError, ValueNotInForce
from dynhp.tails import scheduled
from dynhp.testing.toys.quadratic import NoisyQuadratic, Quadratic
from dynhp.wrappers.shadow import Delivery
from tests.support.messages import raises


class Scripted:
    """Tries see one score, the end another: a promising value can disappoint, or break."""

    def __init__(self, ends: Mapping[float, float]) -> None:
        self.ends = ends
        self.epochs = 0
        self.values: tuple[float, ...] = ()
        self.fails_at: int | None = None

    def get_state(self) -> tuple[Any, ...]:
        return self.epochs, self.values

    def set_state(self, state: tuple[Any, ...]) -> None:
        self.epochs, self.values = state

    def train_k(self, k: int, hyperparameters: Mapping[str, Any]) -> None:
        if self.epochs == self.fails_at:
            raise KeyboardInterrupt
        self.epochs += k
        self.values += (hyperparameters["x"],) * k

    def metrics(self) -> dict[str, float]:
        last = self.values[-1] if self.values else 0.0
        return {"promise": last, "end": self.ends.get(last, 0.0)}


def shadowed(ends: Mapping[float, float]) -> Shadow:
    adapter = DynamicGridAdapter(
        Scripted(ends),
        {"x": [1.0, 2.0]},
        criterion=highest("promise"),
        adapt_every=3,
        try_for=1,
        initial={"x": 1.0},
    )
    return Shadow(adapter, criterion=highest("end"))


@pytest.mark.parametrize(
    ("adapted", "shadow", "delivered"),
    [
        (0.9, 0.8, "adapted"),
        (0.8, 0.9, "shadow"),
        (0.8, 0.8, "shadow"),  # a tie is no reason to have adapted
        (math.nan, 0.1, "shadow"),
        (math.inf, 0.1, "shadow"),
        (0.1, math.nan, "adapted"),
        (0.1, math.inf, "adapted"),
        (math.nan, math.nan, "adapted"),  # nothing to choose by: what was asked for
    ],
)
def test_the_better_line_is_delivered(adapted: float, shadow: float, delivered: str) -> None:
    run = shadowed({2.0: adapted, 1.0: shadow})
    delivery = run.run(9)
    assert delivery.delivered == delivered
    assert repr((delivery.adapted_score, delivery.shadow_score)) == repr((adapted, shadow))
    value = 2.0 if delivered == "adapted" else 1.0
    assert run.adapter.trainer.get_state() == (9, (value,) * 9)


def test_both_histories_are_there() -> None:
    delivery = shadowed({2.0: 1.0}).run(9)
    assert [round_.candidate["x"] for round_ in delivery.adapted] == [2.0, 2.0, 2.0]
    assert [(round_.candidate["x"], round_.epochs) for round_ in delivery.shadow] == [(1.0, 9)]


@pytest.mark.parametrize("ends", [{2.0: 1.0}, {1.0: 1.0}])
def test_the_cost_is_the_adapters_and_one_run(ends: Mapping[float, float]) -> None:
    run = shadowed(ends)
    planned = plan_for(run.adapter, 10).most
    cost = run.run(10).cost
    assert (cost.main_line, cost.overhead) == (10, planned.overhead + 10)
    assert cost.total == planned.total + 10


def test_the_lines_are_those_trained_alone() -> None:
    def adapter() -> DynamicGridAdapter:
        return DynamicGridAdapter(
            NoisyQuadratic(seed=4),
            {"lr": [0.01, 0.1, 0.5]},
            criterion=lowest("loss"),
            adapt_every=4,
            try_for=1,
        )

    alone = adapter()
    alone.run(10)
    plain = NoisyQuadratic(seed=4)
    plain.train_k(10, {"lr": 0.1})
    run = Shadow(adapter(), criterion=lowest("loss"))
    delivery = run.run(10)
    assert delivery.adapted == alone.history
    assert delivery.shadow_score == -plain.metrics()["loss"]
    assert delivery.adapted_score == -alone.trainer.metrics()["loss"]
    best = alone.trainer if delivery.delivered == "adapted" else plain
    assert repr(run.adapter.trainer.get_state()) == repr(best.get_state())


def test_a_criterion_sees_the_end_of_the_run() -> None:
    seen = []
    run = shadowed({})
    run.criterion = lambda series, progress: seen.append((len(series), progress.share)) or 0.0
    run.run(9)
    assert seen == [(1, 1.0), (1, 1.0)]


def test_an_adapter_that_has_trained_is_refused() -> None:
    run = shadowed({})
    run.adapter.step()
    with raises(SettingsError):
        run.run(9)
    assert run.adapter.trainer.epochs == 3  # type: ignore[attr-defined]


@pytest.mark.parametrize("epochs", [0, 2.5, True])
def test_no_epochs_are_refused(epochs: Any) -> None:
    with raises(SettingsError):
        shadowed({}).run(epochs)


def test_a_criterion_that_is_none_is_refused() -> None:
    adapter = shadowed({}).adapter
    with raises(SettingsError):
        Shadow(adapter, criterion="loss")  # type: ignore[arg-type]


def test_interrupted_in_the_shadow_everything_is_at_the_start() -> None:
    run = shadowed({2.0: 1.0})
    trainer: Any = run.adapter.trainer
    trainer.fails_at = 0
    with pytest.raises(KeyboardInterrupt):
        run.run(9)
    assert trainer.get_state() == (0, ())
    assert run.adapter.epoch == 0
    trainer.fails_at = None
    assert run.run(9).delivered == "adapted"


def test_a_missing_metric_is_found_before_anything_is_adapted() -> None:
    run = shadowed({})
    run.criterion = highest("edn")
    with raises(MetricError):
        run.run(9)
    assert run.adapter.trainer.get_state() == (0, ())
    assert run.adapter.epoch == 0


def test_interrupted_while_adapting_the_round_is_undone() -> None:
    run = shadowed({})
    trainer: Any = run.adapter.trainer
    run.adapter.callbacks = (lambda event: setattr(trainer, "fails_at", 3),)
    with pytest.raises(KeyboardInterrupt):
        run.run(9)
    assert trainer.epochs == run.adapter.epoch == 3


def test_the_start_is_let_go_before_the_adapter_runs() -> None:
    """Alive at once while adapting: the shadow's end, the origin, the best; not the start."""

    class State:
        def __init__(self, x: float) -> None:
            self.x = x

    class Counted(Quadratic):
        handed: list[weakref.ref[State]]

        def get_state(self) -> Any:
            state = State(self.x)
            self.handed.append(weakref.ref(state))
            return state

        def set_state(self, state: Any) -> None:
            self.x = state.x

    trainer = Counted()
    trainer.handed = []
    alive = []

    def count(event: object) -> None:
        alive.append(sum(state() is not None for state in trainer.handed))

    adapter = DynamicGridAdapter(
        trainer,
        {"lr": [0.1, 0.5]},
        criterion=lowest("loss"),
        adapt_every=2,
        try_for=1,
        callbacks=[count],
    )
    Shadow(adapter, criterion=lowest("loss")).run(4)
    assert len(trainer.handed) >= 5
    assert max(alive) == 3


class Frail(Quadratic):
    """Cannot train with some learning rates once it has trained for so many epochs."""

    def __init__(self, *failing: float, after: int = 0) -> None:
        super().__init__()
        self.failing, self.after, self.epochs = failing, after, 0

    def get_state(self) -> Any:
        return self.x, self.epochs

    def set_state(self, state: Any) -> None:
        self.x, self.epochs = state

    def train_k(self, k: int, hyperparameters: Mapping[str, Any]) -> None:
        for _ in range(k):
            if hyperparameters["lr"] in self.failing and self.epochs >= self.after:
                raise ArithmeticError(f"no more with {hyperparameters['lr']}")
            super().train_k(1, hyperparameters)
            self.epochs += 1


def frail_run(trainer: Frail) -> Delivery:
    adapter = DynamicGridAdapter(
        trainer,
        {"lr": [0.1, 0.5]},
        criterion=lowest("loss"),
        adapt_every=5,
        try_for=1,
        initial={"lr": 0.1},
    )
    return Shadow(adapter, criterion=lowest("loss")).run(10)


def test_an_adapted_line_that_fails_leaves_the_shadow() -> None:
    trainer = Frail(0.5, after=3)  # chosen, and then it breaks in the stretch
    delivery = frail_run(trainer)
    assert delivery.delivered == "shadow"
    assert delivery.adapted_error == "ArithmeticError: no more with 0.5"
    assert delivery.shadow_error is None
    assert trainer.metrics() == delivery.shadow[-1].metrics
    assert delivery.cost.main_line == 10


def test_a_shadow_that_fails_leaves_the_adapted_line() -> None:
    trainer = Frail(0.1)
    delivery = frail_run(trainer)
    assert delivery.delivered == "adapted"
    assert delivery.shadow_error == "ArithmeticError: no more with 0.1"
    assert len(delivery.shadow) == 0
    assert trainer.metrics() == delivery.adapted[-1].metrics


def test_where_both_fail_the_error_is_raised() -> None:
    with raises(AllTriesFailed):
        frail_run(Frail(0.1, 0.5))


def test_a_broken_contract_is_nobodys_bad_luck() -> None:
    class Overwritten(Quadratic):
        reported = 0.1

        def train_k(self, k: int, hyperparameters: Mapping[str, Any]) -> None:
            super().train_k(k, hyperparameters)

        def hyperparameters(self) -> dict[str, Any]:
            return {"lr": self.reported}

    adapter = DynamicGridAdapter(
        Overwritten(),
        {"lr": [0.1, 0.5]},
        criterion=lowest("loss"),
        adapt_every=5,
        try_for=1,
        initial={"lr": 0.1},
    )
    with raises(ValueNotInForce):
        Shadow(adapter, criterion=lowest("loss")).run(10)


class Counting(Quadratic):
    """Counts the epochs that were really begun; its tries or its long stretches can fail."""

    begun = 0

    def __init__(self, *, tries_fail_after: int = 1000, long_fail: bool = False) -> None:
        super().__init__()
        self.epochs, self.tries_fail_after, self.long_fail = 0, tries_fail_after, long_fail

    def get_state(self) -> Any:
        return self.x, self.epochs

    def set_state(self, state: Any) -> None:
        self.x, self.epochs = state

    def train_k(self, k: int, hyperparameters: Mapping[str, Any]) -> None:
        for _ in range(k):
            self.begun += 1
            if self.epochs >= self.tries_fail_after and k == 1:
                raise RuntimeError("tries fail from here")
            if self.long_fail and k > 20:
                raise RuntimeError("long stretches fail")
            super().train_k(1, hyperparameters)
            self.epochs += 1


def cost_of(trainer: Any, **settings: Any) -> Delivery:
    adapter = DynamicGridAdapter(
        trainer,
        {"lr": [0.1, 0.2, 0.3]},
        criterion=lowest("loss"),
        **{"adapt_every": 5, "try_for": 2, "initial": {"lr": 0.1}, **settings},
    )
    return Shadow(adapter, criterion=lowest("loss")).run(30)


@pytest.mark.parametrize(
    "trainer",
    [Counting(), Counting(tries_fail_after=10), Counting(long_fail=True)],
    ids=["both fine", "adapted fails", "long stretches"],
)
def test_the_cost_is_what_was_really_begun(trainer: Counting) -> None:
    delivery = cost_of(trainer)
    assert delivery.cost.total == trainer.begun
    assert delivery.cost.main_line == 30


def test_a_shadow_that_fails_costs_no_more_than_the_stretch_it_failed_in() -> None:
    class FailsAtSeven(Counting):
        def train_k(self, k: int, hyperparameters: Mapping[str, Any]) -> None:
            if self.epochs + k > 7 and hyperparameters["lr"] == 0.1:
                self.begun += k
                raise RuntimeError("no more with 0.1")
            super().train_k(k, hyperparameters)

    trainer = FailsAtSeven()
    delivery = cost_of(trainer)
    assert delivery.delivered == "adapted"
    assert delivery.cost.total == trainer.begun


@pytest.mark.parametrize(("settings", "stretch"), [({}, 3), ({"keep": "value"}, 5)])
def test_a_stretch_that_fails_is_paid_for(settings: Any, stretch: int) -> None:
    class FailsInStretches(NoisyQuadratic):
        trained = 0

        def train_k(self, k: int, hyperparameters: Mapping[str, Any]) -> None:
            self.trained += k
            if k == stretch and hyperparameters["lr"] != 0.1:
                raise RuntimeError("cannot train on")
            super().train_k(k, hyperparameters)

    trainer = FailsInStretches()
    delivery = cost_of(trainer, randomness="independent", **settings)
    assert delivery.adapted_error == "RuntimeError: cannot train on"
    assert delivery.cost.total == trainer.trained


def test_a_stretch_that_fails_after_the_check_is_paid_for_once() -> None:
    class FailsLater(NoisyQuadratic):
        trained = 0

        def train_k(self, k: int, hyperparameters: Mapping[str, Any]) -> None:
            self.trained += k
            if k == 3 and self.steps > 6:
                raise RuntimeError("cannot train on")
            super().train_k(k, hyperparameters)

    trainer = FailsLater()
    delivery = cost_of(trainer)
    assert delivery.adapted_error == "RuntimeError: cannot train on"
    assert len(delivery.adapted) == 1
    assert delivery.cost.total == trainer.trained


def test_a_shadow_under_a_schedule_has_its_values_of_all_epochs() -> None:
    adapter = DynamicGridAdapter(
        NoisyQuadratic(), {"lr": [0.1, 0.2]}, criterion=lowest("loss"), adapt_every=5, try_for=1,
        course=scheduled("lr", "linear"), check="off",
    )  # fmt: skip
    delivery = Shadow(adapter, criterion=lowest("loss")).run(10)
    values = [each["lr"] for each in delivery.shadow[0].values_by_epoch]
    assert len(values) == len(set(values)) == 10
    assert sum(epochs for epochs, _ in schedule_of(delivery.shadow).as_list()) == 10
