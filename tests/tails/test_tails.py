"""What a tail is to the parts of a run: loops, workers, the self-check, the schedule, records."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dynhp import (
    Best,
    BestByMargin,
    DynamicGridAdapter,
    Processes,
    Racing,
    adapt,
    attribute,
    lowest,
    plan,
    plan_for,
    replay,
    schedule_of,
    smoothed,
    spent,
)
from dynhp.errors import Hint, NotRepeatable, SettingsError, ValueNotInForce, ValueNotUsed
from dynhp.loops import LoopDriver, Move
from dynhp.records import Candidate, Progress
from dynhp.spaces import Around
from dynhp.storage.journal import Journal, history_from_journal
from dynhp.tails import annealed, scale
from dynhp.testing import NoisyQuadratic
from dynhp.triggers import At
from tests.support.messages import raises
from tests.support.reference import Diary, Toy, bits, without_times

TAIL = annealed("lr", epochs=3)
SETTINGS: dict[str, Any] = {
    "space": {"lr": [0.01, 0.05, 0.2]},
    "minimize": "loss",
    "adapt_every": 5,
    "try_for": 2,
    "tail": TAIL,
}


def adapter_of(trainer: Any, **changes: Any) -> DynamicGridAdapter:
    return DynamicGridAdapter(trainer, **{**SETTINGS, **changes})


def test_a_try_is_judged_by_its_tail_and_kept_without_it() -> None:
    losses = {0.4: 5.0, 0.2: 4.0, 0.1: 1.0, 0.05: 2.0}
    trainer = Diary(losses)

    class HalfOfIt:
        def length(self, planned: int | None, unit: str) -> int:
            return 1

        def at(self, candidate: Any, progress: float) -> Any:
            return candidate.but({"x": candidate["x"] / 4})

    adapter = DynamicGridAdapter(
        trainer,
        {"x": [0.4, 0.2]},
        criterion=lowest("loss"),
        adapt_every=3,
        try_for=1,
        tail=HalfOfIt(),
        initial={"x": 0.4},
    )
    round_ = adapter.step()
    # By the tail 0.4 is better (1 against 2), by its own epoch 0.2 would be (4 against 5).
    assert round_.candidate == {"x": 0.4}
    assert trainer.diary == (0.4, 0.4, 0.4)
    assert [(try_.epochs, try_.tail, try_.own.epochs) for try_ in round_.tries] == [(2, 1, 1)] * 2
    assert round_.winner.own.series == ({"loss": 5.0},)
    assert round_.measured == ((0, {"loss": 5.0}), (2, {"loss": 5.0}))
    assert round_.overhead == (2 + 2) + 2 * 2 - 1


@pytest.mark.parametrize("changes", [{}, {"try_for": 0}, {"try_for": 0, "keep": "value"}])
def test_loops_and_trainers_do_the_same(changes: dict[str, Any]) -> None:
    plain = Toy(3)
    expected = adapter_of(plain, **changes).run(12)
    model = Toy(3)
    loop = adapt(12, state=[model], **{**SETTINGS, **changes})
    kinds = []
    for epoch in loop:
        kinds.append((epoch.trying, epoch.tail))
        model.train_k(1, epoch.values)
        epoch.report(model.metrics())
    assert [
        (round_.candidate, [try_.score for try_ in round_.tries]) for round_ in loop.history
    ] == [(round_.candidate, [try_.score for try_ in round_.tries]) for round_ in expected]
    assert bits(model.get_state()) == bits(plain.get_state())
    # Three rounds of three tries, and two repeats in the first.
    assert kinds.count((True, True)) == (3 * 3 + 2) * 3
    assert kinds.count((False, True)) == 0


def test_bound_values_are_those_of_the_tail_and_are_put_back() -> None:
    model, seen = Toy(1), []

    class Rate:
        lr = 0.05

    rate = Rate()
    loop = adapt(
        6,
        state=[model],
        bind={"lr": attribute(rate, "lr")},
        **{**SETTINGS, "try_for": 1, "check": "off", "tail": annealed("lr", epochs=2)},
    )
    for epoch in loop:
        assert epoch["lr"] == rate.lr
        seen.append((epoch.tail, rate.lr))
        model.train_k(1, {"lr": rate.lr})
        epoch.report(model.metrics())
    assert seen[:3] == [(False, 0.05), (True, 0.046875), (True, 0.015625)]
    assert rate.lr == loop.history[-1].candidate["lr"]


def test_a_value_that_is_overwritten_in_the_tail_ends_the_run() -> None:
    class RateFloor(Toy):  # which never goes below this rate
        def hyperparameters(self) -> Any:
            return {"lr": max(0.02, self.values.get("lr", 0.05))}

    with raises(ValueNotInForce):
        adapter_of(RateFloor(1), space={"lr": [0.05, 0.2]}).run(5)


def test_a_driver_keeps_no_epoch_of_a_tail() -> None:
    model = Toy(2)
    run = LoopDriver(adapt(6, state=[model], **{**SETTINGS, "check": "off"}))
    kept, move = [], Move.GO_ON
    while move is not Move.STOP:
        epoch = run.begin_epoch()
        model.train_k(1, epoch.values)
        move = run.end_epoch(model.metrics())
        kept += [int(each) for each in run.kept]
    assert kept == [0, 1, 5]  # of each round the epochs of the kept try: two, and the last one


def test_steps_that_are_not_reported_before_the_tail() -> None:
    model = Toy(2)
    loop = adapt(None, steps=12, state=[model], **{**SETTINGS, "try_for": 2})
    for step in loop:
        model.train_k(1, step.values)
        if step.tail or step.main:
            step.report(model.metrics())
    assert loop.history[0].winner.own.series == ()
    assert loop.history[0].measured[0][0] == 2


@pytest.mark.parametrize("changes", [{}, {"try_for": 0}])
def test_what_a_tail_leaves_behind_is_noticed(changes: dict[str, Any]) -> None:
    class Leaks(Toy):
        count = 0

        def train_k(self, k: int, values: Any) -> None:
            if values["lr"] not in (0.01, 0.05, 0.2):  # in a tail alone
                self.count += 1
                self.velocity = self.velocity + 1e-9 * self.count
            super().train_k(k, values)

    with pytest.raises(NotRepeatable):
        adapter_of(Leaks(1), **changes).run(5)


@pytest.mark.parametrize("changes", [{}, {"try_for": 0, "keep": "value"}])
def test_a_value_that_nobody_uses_is_noticed(changes: dict[str, Any]) -> None:
    class Deaf(Toy):
        def train_k(self, k: int, values: Any) -> None:
            super().train_k(k, {"lr": 0.1})
            self.values = values

    with pytest.raises(ValueNotUsed):
        adapter_of(Deaf(1), **changes).run(5)


def test_coarse_metrics_do_not_make_a_used_value_look_unused() -> None:
    class Coarse(Toy):
        def metrics(self) -> dict[str, float]:
            return {"loss": 1.0}

    adapter_of(Coarse(1), try_for=0, keep="value").run(5)  # the states after the tails differ


def test_a_dry_run_is_the_plain_run() -> None:
    plain, tried = Toy(4), Toy(4)
    plain.train_k(12, {"lr": 0.05})
    history = adapter_of(tried, dry_run=True, then=None).run(12)
    assert bits(tried.get_state()) == bits(plain.get_state())
    assert all(round_.restarted for round_ in history)
    corrected = Toy(4)
    adapter_of(corrected, dry_run=True, space={"lr": Around(0.05)}, then=scale(0.1)).run(12)
    assert bits(corrected.get_state()) == bits(plain.get_state())


@pytest.mark.parametrize("keep", ["winner", "value"])
@pytest.mark.parametrize("try_for", [0, 2])
@pytest.mark.parametrize("then", [None, scale(0.5)])
def test_the_schedule_has_no_tail_and_its_replay_ends_the_same(
    keep: str, try_for: int, then: Any
) -> None:
    trainer, again = Toy(5), Toy(5)
    changes = {"keep": keep, "try_for": try_for, "then": then, "space": {"lr": Around(0.02)}}
    history = adapter_of(trainer, **changes, randomness="independent").run(12)
    schedule = schedule_of(history)
    assert schedule.epochs == 12
    replay(schedule, again)
    assert bits(again.get_state()) == bits(trainer.get_state())


def test_the_journal_has_tails_and_corrections(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    adapter = adapter_of(
        Toy(6), space={"lr": Around(0.02)}, then=scale(0.5), callbacks=[Journal(path)]
    )
    history = adapter.run(12)
    assert without_times(history_from_journal(path).rounds) == without_times(history.rounds)
    lines = path.read_text("utf-8")
    assert '"tail":3' in lines.replace(" ", "")
    assert '"corrected":{' in lines.replace(" ", "")


def test_an_adapter_of_other_tails_does_not_take_a_saved_state() -> None:
    adapter = adapter_of(Toy(6))
    adapter.run(5)
    other = adapter_of(Toy(6), tail=annealed("lr", epochs=4))
    with raises(SettingsError):
        other.load_state_dict(adapter.state_dict())
    without = adapter_of(Toy(6), tail=None)
    assert "tail" not in without.state_dict()["settings"]
    with raises(SettingsError):
        without.load_state_dict(adapter.state_dict())


def test_a_corrected_value_is_saved_and_refused_where_it_is_damaged() -> None:
    settings: dict[str, Any] = {"space": {"lr": Around(0.02)}, "then": scale(0.5)}
    adapter, other = adapter_of(Toy(6), **settings), adapter_of(Toy(6), **settings)
    adapter.run(10)
    other.load_state_dict(adapter.state_dict())
    assert other.current == adapter.current
    damaged = adapter.state_dict()
    damaged["history"][0]["corrected"] = {"lr": -1.0}
    with raises(SettingsError):
        other.load_state_dict(damaged)


@pytest.mark.parametrize("changes", [{}, {"try_for": 0, "keep": "value"}])
def test_workers_do_the_same(changes: dict[str, Any]) -> None:
    settings = {"space": {"lr": [0.01, 0.05, 0.2]}, **changes}
    serial, pooled = NoisyQuadratic(seed=3), NoisyQuadratic(seed=3)
    expected = adapter_of(serial, **settings).run(10)
    with Processes(NoisyQuadratic, workers=2) as executor:
        history = adapter_of(pooled, executor=executor, **settings).run(10)
    assert history == expected
    assert str(pooled.get_state()) == str(serial.get_state())


@pytest.mark.parametrize("selection", [Best(), BestByMargin(delta=0.1)])
@pytest.mark.parametrize("try_for", [0, 2])
@pytest.mark.parametrize("check", ["first", "every", "off"])
def test_the_plan_is_what_is_spent(selection: Any, try_for: int, check: Any) -> None:
    trainer = Toy(7)
    adapter = adapter_of(trainer, selection=selection, try_for=try_for, check=check)
    planned = plan_for(adapter, 12)
    cost = spent(adapter.run(12))
    assert planned.exact
    assert planned.most == cost
    assert cost.total == trainer.trained
    if try_for:
        given: Any = {"adapt_every": 5, "try_for": try_for, "candidates": 3, "check": check}
        assert plan(epochs=12, tail=3, selection=selection, **given) == cost


def test_the_plan_of_a_tail_that_is_a_share_of_the_run() -> None:
    adapter = adapter_of(Toy(7), tail=annealed("lr", epochs=0.25))
    planned = plan_for(adapter, 12)
    assert planned.exact
    assert planned.most == spent(adapter.run(12))
    assert {try_.tail for round_ in adapter.history for try_ in round_.tries} == {3}


def test_a_race_has_no_tail() -> None:
    with raises(SettingsError):
        adapter_of(Toy(), selection=Racing())
    assert adapter_of(Toy(), selection=Racing(), try_for=0).run(5).epochs == 5  # one stage
    later = adapter_of(Toy(), selection=Racing(), try_for=0.3)
    with raises(SettingsError):
        later.run(10)


def test_shares_of_the_run() -> None:
    history = adapter_of(Toy(), try_for=0.15, when=At([0.5]), adapt_every=None).run(20)
    tried = [(round_.start, [try_.own.epochs for try_ in round_.tries]) for round_ in history]
    assert [each for each in tried if each[1]] == [(10, [3, 3, 3])]
    adapter = adapter_of(Toy(), try_for=0.4)
    with raises(SettingsError):
        adapter.run(20)
    with raises(SettingsError):
        adapter_of(Toy(), try_for=0.1).step()
    assert "tries of 2 and a tail of 3" in str(adapt(20, state=[Toy()], **SETTINGS))
    share = adapt(20, state=[Toy()], **{**SETTINGS, "try_for": 0.15, "tail": None})
    assert "tries of 3" in str(share)


@pytest.mark.parametrize(("window", "entries"), [(1 / 3, 3), (0.05, 1), (0.5, 4), (9, 9)])
def test_the_last_share_of_a_try_is_judged(window: float, entries: int) -> None:
    series = [{"loss": float(number)} for number in range(9)]
    wanted = -sum(range(9 - entries, 9)) / entries
    assert smoothed(lowest("loss"), window)(series, Progress(0)) == pytest.approx(wanted)


def test_a_history_says_what_a_value_was_made_of() -> None:
    adapter = adapter_of(Toy(6), space={"lr": Around(0.02)}, then=scale(0.5))
    adapter.run(5)
    assert "; made of lr=" in str(adapter.history)
    assert "; made of lr=" in str(adapter.history[0])


def test_a_value_rises_in_the_first_fifth_and_then_falls_to_zero() -> None:
    one = Candidate({"lr": 1.0})
    factors = [annealed("lr").at(one, at)["lr"] for at in (0.0, 0.1, 0.2, 0.6, 1.0)]
    assert factors == pytest.approx([0.0, 0.5, 1.0, 0.5, 0.0])


@pytest.mark.filterwarnings("error")
def test_half_as_much_again_as_was_asked_for_is_not_much_longer() -> None:
    assert annealed("lr", epochs=0.02).length(100, "epochs") == 3


def test_each_search_in_a_run_that_is_short_gets_a_hint() -> None:
    for name in ("lr", "momentum"):
        with pytest.warns(Hint):
            assert annealed(f"{name} of this test", epochs=0.02).length(50, "epochs") == 3
