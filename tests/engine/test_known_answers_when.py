"""Known results: plateaus, spikes, poisoned batches, rates that are far too high."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import pytest

from dynhp import (
    DynamicGridAdapter,
    FullGrid,
    Processes,
    Shadow,
    fixed,
    lowest,
    plan_for,
    plateau,
    replay,
    rescue,
    schedule_of,
    spent,
)
from dynhp.errors import AllTriesFailed, RescuesSpent
from dynhp.proposers import Ladder
from dynhp.snapshots import Snapshots
from dynhp.testing import NoisyQuadratic, Quadratic
from dynhp.triggers import At, LineSoFar, OnPlateau, OnSpike, any_of
from tests.support.messages import raises
from tests.support.reference import Diary, Toy, bits, without_times

NEVER = OnSpike("loss", factor=1e9)


def tried(adapter: DynamicGridAdapter) -> list[Any]:
    return [round_ for round_ in adapter.history if round_.tries]


def test_a_run_in_which_nothing_happens_is_the_plain_loop() -> None:
    trainer, plain = Toy(3), Toy(3)
    adapter = DynamicGridAdapter(
        trainer,
        {"lr": [0.05, 0.2, 0.6]},
        criterion=lowest("loss"),
        when=any_of(NEVER, At([99])),
        try_for=2,
        start_from="before",
        max_rounds=3,
        max_rescues=3,
    )
    adapter.run(50)
    plain.train_k(50, {"lr": 0.2})
    assert bits(trainer.get_state()) == bits(plain.get_state())
    assert trainer.trained == 50
    assert str(spent(adapter)).endswith("= 50: 1.00 runs")
    assert [round_.tries for round_ in adapter.history] == [()] * 17
    assert schedule_of(adapter).as_list() == [(50, {"lr": 0.2})]


def test_a_rate_that_is_far_too_high_is_rescued() -> None:
    rates = [3.0 / 3**step for step in range(7)]
    best = min(
        fixed(curved(), {"lr": rate}, epochs=60)[-1].metrics["loss"] for rate in rates if rate < 2
    )
    trainer = curved()
    with np.errstate(over="ignore", invalid="ignore"):
        plain = fixed(curved(), {"lr": 100.0}, epochs=300)
    assert not math.isfinite(plain[-1].metrics["loss"])
    adapter = DynamicGridAdapter(trainer, **rescue("lr", default=100.0, loss="loss"))
    adapter.run(60)
    assert trainer.metrics()["loss"] <= 1.01 * best
    assert [round_.rescue for round_ in tried(adapter)] == [True] * len(tried(adapter))
    assert adapter.current["lr"] < 2


class Floor(Toy):
    """A quadratic whose lowest value is a thousandth."""

    def metrics(self) -> dict[str, float]:
        return {"loss": super().metrics()["loss"] + 1e-3}


def curved() -> Toy:
    return Floor(5, noise=0.0)


def test_a_plateau_is_found_where_ten_plain_lines_find_it() -> None:
    values = [5.0, 4.0, 4.1, 4.2, 3.0, 3.5, 3.4, 3.3, 3.2, 3.1]
    trainer = ScriptedLoss(values)
    adapter = DynamicGridAdapter(
        trainer, {"x": [1, 2]}, criterion=lowest("loss"), when=OnPlateau("loss", patience=3),
        try_for=1, record_every=50, check="off",
    )  # fmt: skip
    adapter.run(10)
    best, waited, expected = math.inf, 0, None
    for epoch, value in enumerate(values, start=1):
        waited = 0 if value < best else waited + 1
        best = min(best, value)
        if waited == 3:
            expected = epoch
            break
    assert tried(adapter)[0].start == expected == 8
    assert tried(adapter)[0].because == "loss has not improved for 3 epochs"


class ScriptedLoss:
    """Measures what is written, whatever it is trained with."""

    def __init__(self, values: list[float]) -> None:
        self.values, self.epoch = values, 0

    def get_state(self) -> int:
        return self.epoch

    def set_state(self, state: int) -> None:
        self.epoch = state

    def train_k(self, k: int, values: Mapping[str, Any]) -> None:
        self.epoch += k

    def metrics(self) -> dict[str, float]:
        return {"loss": self.values[min(self.epoch, len(self.values)) - 1]}


class Poisoned(NoisyQuadratic):
    """One batch in about fifty throws the weights far away."""

    def train_k(self, k: int, hyperparameters: Mapping[str, Any]) -> None:
        super().train_k(0, hyperparameters)  # puts them in force
        for _ in range(k):
            super().train_k(1, hyperparameters)
            if self.rng.random() > 0.98:
                self.weights = self.weights + 1e4


def test_a_spike_from_one_poisoned_batch_is_skipped() -> None:
    plain, trainer = Poisoned(seed=1), Poisoned(seed=1)
    plain.train_k(60, {"lr": 0.05})
    seen = max(fixed(Poisoned(seed=1), {"lr": 0.05}, epochs=60, measure_every=1).measured,
               key=lambda each: each[1]["loss"])  # fmt: skip
    assert seen[1]["loss"] > 1e6  # without a rescue it is there
    adapter = DynamicGridAdapter(
        trainer, **{**rescue("lr", default=0.05, loss="loss", spike=50.0), "max_rescues": 9}
    )
    adapter.run(60)
    rescues = tried(adapter)
    assert rescues
    assert all(round_.rescue and round_.abandoned == 1 for round_ in rescues)
    assert max(metrics["loss"] for _, metrics in adapter.history.measured) < 1e3
    assert all(round_.winner.seed is not None for round_ in rescues)
    again = Poisoned(seed=1)
    replay(schedule_of(adapter), again)
    assert bits(again.get_state()) == bits(trainer.get_state())


def test_two_triggers_in_one_epoch_are_one_round() -> None:
    adapter = DynamicGridAdapter(
        ScriptedLoss([1.0, 1.0, 9.0, 1.0, 1.0]), {"x": [1, 2]}, criterion=lowest("loss"),
        when=any_of(OnPlateau("loss", patience=2), OnSpike("loss", factor=2.0), At([3])),
        try_for=1, max_rounds=1, check="off",
    )  # fmt: skip
    adapter.run(5)
    [round_] = tried(adapter)
    assert round_.start == 3
    assert round_.because == "loss has not improved for 2 epochs; loss is 9 after 1; epoch 3"


def test_out_of_rescues_the_error_and_a_healthy_state() -> None:
    trainer = ScriptedLoss([1.0, 1.0, math.nan, 1.0, math.nan, math.nan, 1.0])
    adapter = DynamicGridAdapter(
        trainer, {"x": [1, 2]}, criterion=lowest("loss"), when=NEVER, try_for=1, check="off",
        start_from="before", max_rounds=0, max_rescues=1, record_every=2,
    )  # fmt: skip
    with raises(AllTriesFailed):
        adapter.run(7)  # from the state after 2 epochs, the third is nan whatever is tried
    assert (trainer.epoch, adapter.epoch) == (2, 3)  # the next round goes back again
    trainer.values[2] = 1.0
    with raises(RescuesSpent):
        adapter.run(7)
    assert math.isfinite(trainer.metrics()["loss"])
    assert trainer.epoch == 4
    assert [(round_.start, round_.epochs, round_.rescue) for round_ in adapter.history] == [
        (0, 2, False),
        (2, 1, False),
        (2, 2, True),
        (4, 1, False),  # it broke there: that is recorded too
    ]


@pytest.mark.parametrize("record_every", [1, 2, 3, 4, 5, 8, 40])
def test_where_a_rescue_starts_does_not_depend_on_how_much_is_recorded_at_a_time(
    record_every: int,
) -> None:
    class BreaksAfterTwelveEpochs(ScriptedLoss):
        """Its loss is nan after epoch 12, until it is rescued there, and after epoch 16."""

        rescued = False

        def train_k(self, k: int, hyperparameters: Mapping[str, Any]) -> None:
            super().train_k(k, hyperparameters)
            if self.epoch == 12:
                self.values[11] = 1.0 if hyperparameters["x"] == 2 else math.nan

    trainer = BreaksAfterTwelveEpochs([1.0] * 15 + [math.nan] + [1.0] * 30)
    adapter = DynamicGridAdapter(
        trainer, {"x": [1, 2]}, criterion=lowest("loss"), when=NEVER, try_for=4, check="off",
        initial={"x": 1}, start_from="before", max_rounds=0, max_rescues=1,
        record_every=record_every,
    )  # fmt: skip
    with pytest.raises(RescuesSpent):
        adapter.run(40)
    assert [round_.start for round_ in tried(adapter)] == [11]
    assert (trainer.epoch, adapter.epoch) == (15, 16)  # the end of the try that was kept


class Stuck(Toy):
    """Raises in its sixth epoch, and from then on also if it is asked for its state."""

    broken = False

    def train_k(self, k: int, hyperparameters: Mapping[str, Any]) -> None:
        super().train_k(k, hyperparameters)
        if self.steps == 6 and hyperparameters["lr"] == 0.2:
            self.broken = True
            raise ArithmeticError("no memory left")

    def get_state(self) -> Any:
        if self.broken:
            raise RuntimeError("it is broken")
        return super().get_state()

    def set_state(self, state: Any) -> None:
        super().set_state(state)
        self.broken = False


def test_a_trainer_that_cannot_even_give_its_state_is_rescued() -> None:
    trainer = Stuck(1)
    adapter = DynamicGridAdapter(
        trainer, {"lr": [0.01, 0.05, 0.2]}, criterion=lowest("loss"), when=NEVER, try_for=1,
        initial={"lr": 0.2}, proposer=Ladder(), check="off", start_from="before", max_rounds=0,
        max_rescues=1,
    )  # fmt: skip
    adapter.run(40)
    assert (adapter.epoch, [round_.start for round_ in tried(adapter)]) == (40, [5])


@pytest.mark.parametrize("left", [0, 1])
def test_an_exception_is_rescued_or_raised(left: int) -> None:
    trainer = Toy(1, raising=[0.2])
    adapter = DynamicGridAdapter(
        trainer, {"lr": [0.01, 0.05, 0.2]}, criterion=lowest("loss"), when=NEVER, try_for=1,
        initial={"lr": 0.2}, proposer=Ladder(), check="off", start_from="best", max_rounds=0,
        max_rescues=left, record_every=4,
    )  # fmt: skip
    if not left:
        with pytest.raises(ArithmeticError):
            adapter.run(8)
        assert (adapter.epoch, trainer.steps, adapter.history.rounds) == (0, 0, ())
        return
    adapter.run(8)
    first, second = adapter.history[:2]
    assert first.failure == "ArithmeticError: step 1 with 0.2"
    assert (first.epochs, second.start, second.rescue) == (1, 1, True)
    assert adapter.current["lr"] < 0.2
    assert spent(adapter).total == trainer.trained
    assert spent(adapter).abandoned == 1


def test_a_lower_rate_must_prove_itself_on_a_plateau() -> None:
    losses = {9.0: 1.0, 3.0: 0.5, 1.0: 2.0}
    trainer = Diary(losses)
    policy = plateau("x", default=9.0, loss="loss", patience=2, steps=2, max_rounds=4)
    adapter = DynamicGridAdapter(trainer, policy=policy, check="off")
    adapter.run(12)
    assert [round_.candidate["x"] for round_ in tried(adapter)] == [3.0, 3.0, 3.0, 3.0]
    assert [round_.start for round_ in tried(adapter)] == [1, 2, 2, 2]  # the first of equals
    assert trainer.diary == (9.0,) + (3.0,) * 11


def test_proposers_and_selections_see_rounds_with_tries_only() -> None:
    seen = []

    class Curious(FullGrid):
        __slots__ = ()

        def propose(self, known: Any, rng: Any) -> Any:
            seen.append([round_.index for round_ in known.history])
            return super().propose(known, rng)

    adapter = DynamicGridAdapter(
        Quadratic(), {"lr": [0.1, 0.5]}, criterion=lowest("loss"), when=At([2, 6]), try_for=1,
        record_every=1, proposer=Curious(),
    )  # fmt: skip
    adapter.run(8)
    assert seen == [[], [], [2], [2]]  # each round asks until there is nothing more


def test_the_first_round_with_tries_is_checked() -> None:
    adapter = DynamicGridAdapter(
        Quadratic(), {"lr": [0.1, 0.5]}, criterion=lowest("loss"), when=At([2, 6]), try_for=1
    )
    adapter.run(8)
    assert [round_.checked for round_ in tried(adapter)] == [2, 0]
    assert plan_for(adapter, 8).most.total == spent(adapter).total == 12


def test_processes_give_the_same() -> None:
    arguments: dict[str, Any] = {
        "space": {"lr": [0.01, 0.1, 0.5]}, "criterion": lowest("loss"), "try_for": 2,
        "when": OnPlateau("loss", patience=2), "start_from": "best", "max_rounds": 3,
    }  # fmt: skip
    serial = DynamicGridAdapter(NoisyQuadratic(seed=2), **arguments)
    with Processes(partial(NoisyQuadratic, seed=2), workers=2) as processes:
        other = DynamicGridAdapter(NoisyQuadratic(seed=2), **arguments, executor=processes)
        other.run(20)
    serial.run(20)
    assert len(tried(serial)) == 3
    assert without_times(serial.history) == without_times(other.history)


def test_a_shadow_beside_a_rescue() -> None:
    arguments = rescue("lr", default=100.0, loss="loss")
    delivery = Shadow(DynamicGridAdapter(curved(), **arguments), criterion=lowest("loss")).run(20)
    assert delivery.delivered == "adapted"
    cost = spent(delivery.adapted)
    assert delivery.cost.total == cost.total + 20
    assert delivery.cost.abandoned == cost.abandoned > 0


def test_a_shadow_counts_a_round_without_tries_that_failed() -> None:
    class Tired(Toy):
        """Raises in the second epoch after the shadow's four."""

        def train_k(self, k: int, values: Any) -> None:
            if self.trained >= 5:
                raise ArithmeticError("tired")
            super().train_k(k, values)

    adapter = DynamicGridAdapter(
        Tired(1), {"lr": [0.05, 0.2]}, criterion=lowest("loss"), when=At([3]), try_for=1,
        initial={"lr": 0.05}, check="off", record_every=2,
    )  # fmt: skip
    delivery = Shadow(adapter, criterion=lowest("loss")).run(4)
    assert (delivery.delivered, delivery.adapted_error) == ("shadow", "ArithmeticError: tired")
    assert (
        delivery.cost.total == 4 + 2 + 1
    )  # the adapted line was in the epoch after its first round


def test_a_run_with_a_clock_of_your_own_is_planned_to_the_epoch() -> None:
    class Sevens:
        metrics = ()

        def __call__(self, line: LineSoFar) -> bool:
            return line.epoch % 7 == 0 and line.epoch not in line.fired

        def next_look(self, line: LineSoFar) -> int:
            return line.epoch + 2 - line.epoch % 2

    for changes in ({}, {"max_rounds": 1}, {"keep": "value", "randomness": "independent"}):
        trainer = Toy(2)
        adapter = DynamicGridAdapter(
            trainer, {"lr": [0.05, 0.2, 0.6]}, criterion=lowest("loss"), when=Sevens(),
            try_for=2, record_every=5, **changes,
        )  # fmt: skip
        plan = plan_for(adapter, 40)
        adapter.run(40)
        assert plan.exact
        assert plan.most == spent(adapter)
        assert plan.most.total == trainer.trained


def below(line: LineSoFar) -> bool:
    return line.began is None and line.now is not None and line.now["loss"] < 0.1


class BelowNow:
    """Says when it must be asked, and not what it reads."""

    def __call__(self, line: LineSoFar) -> bool:
        return below(line)

    def next_look(self, line: LineSoFar) -> int:
        return line.epoch + 1


@pytest.mark.parametrize(
    "when", [below, BelowNow(), any_of(below), any_of(At([99]), any_of(BelowNow()))]
)
def test_a_trigger_of_ones_own_sees_what_was_measured_also_among_others(when: Any) -> None:
    adapter = DynamicGridAdapter(
        Quadratic(), {"lr": [0.1, 0.5]}, criterion=lowest("loss"), when=when, try_for=1,
        initial={"lr": 0.1}, record_every=20,
    )  # fmt: skip
    plan = plan_for(adapter, 20)
    adapter.run(20)
    assert [round_.start for round_ in tried(adapter)] == [8]
    assert not plan.exact
    assert spent(adapter).total <= plan.most.total


def test_dry_runs_and_limits_of_rounds() -> None:
    trainer, plain = Toy(2), Toy(2)
    adapter = DynamicGridAdapter(
        trainer, {"lr": [0.05, 0.2, 0.6]}, criterion=lowest("loss"), dry_run=True, try_for=1,
        when=OnPlateau("loss", patience=1), start_from="best", max_rounds=2,
    )  # fmt: skip
    adapter.run(20)
    plain.train_k(20, {"lr": 0.2})
    assert bits(trainer.get_state()) == bits(plain.get_state())
    assert len(tried(adapter)) == 2


def test_snapshots_are_as_far_apart_as_asked_for() -> None:
    trainer = Diary({1: 1.0})
    adapter = DynamicGridAdapter(
        trainer, {"x": [1]}, criterion=lowest("loss"), when=OnPlateau("loss", patience=9),
        try_for=1, start_from="before", max_rounds=1, snapshots=Snapshots(k=2, every=4),
        record_every=100, check="off",
    )  # fmt: skip
    adapter.run(9)
    assert trainer.calls.count("get") == 1 + 2  # where the round starts, then after 4 and 8
    held = adapter.memory.held
    assert [each.epoch for each in held] == [4, 8]


def test_each_adapter_has_a_line_of_its_own() -> None:
    line = LineSoFar(epoch=1)
    assert line.now is None
    shared = Snapshots()
    one, other = (
        DynamicGridAdapter(
            Quadratic(), {"lr": [0.1, 2.0]}, criterion=lowest("loss"), initial={"lr": 2.0},
            when=OnPlateau("loss", patience=2), try_for=1, start_from="before", max_rounds=1,
            snapshots=shared,
        )
        for _ in range(2)
    )  # fmt: skip
    assert one.run(6) == other.run(6)
