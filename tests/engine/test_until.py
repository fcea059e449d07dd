"""Runs without a planned end: they end by themselves, resume, replay and cost what they said."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from dynhp import (
    DynamicGridAdapter,
    History,
    Processes,
    Shadow,
    adapt,
    lowest,
    plan_for,
    replay,
    schedule_of,
    spent,
)
from dynhp.errors import Hint, LoopError, MetricError, SettingsError
from dynhp.loops import Loop
from dynhp.loops.options import CallbackSettings
from dynhp.planning import settled
from dynhp.policy import Policy
from dynhp.records import Round
from dynhp.records.plain import history_from_plain, history_to_plain
from dynhp.spaces import Space
from dynhp.storage import run_with_checkpoints
from dynhp.tails import averaged, scheduled
from dynhp.testing import NoisyQuadratic
from dynhp.triggers import At, LineSoFar, OnPlateau, Settled
from dynhp.wrappers import adapt_trainer
from tests.support.loops import seen
from tests.support.reference import Toy, without_times

SETTLED = Settled("loss", factor=1.3, least=3)
MOST = 60


def adapter(trainer: Any = None, **more: Any) -> DynamicGridAdapter:
    given: dict[str, Any] = {
        "space": {"lr": [0.01, 0.03, 0.1]}, "criterion": lowest("loss"), "adapt_every": 5,
        "try_for": 2, "until": SETTLED, "initial": {"lr": 0.03},
    }  # fmt: skip
    trainer = NoisyQuadratic() if trainer is None else trainer
    return DynamicGridAdapter(trainer, **{**given, **more})


def whole(**more: Any) -> DynamicGridAdapter:
    run = adapter(**more)
    run.run(at_most=MOST)
    assert SETTLED.least_epochs < run.epoch < MOST, "it ends by itself"
    return run


WAYS: list[dict[str, Any]] = [
    {},
    {"try_for": 5},
    {"keep": "value", "randomness": "independent"},
    {"adapt_every": None, "when": At([0, 0.25]), "record_every": 4},
    {"adapt_every": None, "when": OnPlateau("loss", patience=2), "max_rounds": 2},
    {"adapt_every": None, "when": OnPlateau("loss", patience=2), "start_from": "best",
     "max_rounds": 2},
    {"max_rounds": 1},
]  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_it_ends_where_the_rule_says_at_first(way: dict[str, Any]) -> None:
    run = whole(**way)
    last = run.history[-1]
    assert last.ended.startswith("loss was best after")
    assert not any(round_.ended for round_ in run.history[:-1])
    assert run.is_over
    line = LineSoFar(run.memory.line.measured, epoch=run.epoch)  # type: ignore[union-attr]
    assert SETTLED(line) is not None
    if last.winner.own.epochs < last.epochs if last.tries else True:
        before = [each for each in line.measured if each[0] < run.epoch - 1]
        assert SETTLED(LineSoFar(before, epoch=run.epoch - 1)) is None


@pytest.mark.parametrize("way", WAYS)
def test_it_costs_within_its_plan(way: dict[str, Any]) -> None:
    run = adapter(**way)
    plan = plan_for(run, MOST)
    assert not plan.exact
    assert plan.least.main_line == SETTLED.least_epochs
    run.run(at_most=MOST)
    cost = spent(run)
    assert cost.main_line == run.epoch
    assert plan.least.total <= cost.total <= plan.most.total
    after = plan_for(run, MOST)
    assert after.exact
    assert after.most == cost


@pytest.mark.parametrize("way", WAYS)
def test_it_is_replayed_with_the_length_that_came_out(way: dict[str, Any]) -> None:
    run = whole(**way)
    other = NoisyQuadratic()
    schedule = schedule_of(run)
    replay(schedule, other)
    assert seen(other) == repr(run.trainer.get_state())


@pytest.mark.parametrize("way", WAYS)
def test_it_goes_on_where_it_was_killed(way: dict[str, Any], tmp_path: Path) -> None:
    undisturbed = whole(**way)
    for count in range(1, len(undisturbed.history)):
        folder = tmp_path / str(count)
        rounds = iter(range(count))

        def interrupt(event: Any, rounds: Any = rounds) -> None:
            if isinstance(event, Round) and next(rounds, None) is None:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            run_with_checkpoints(adapter(**way, callbacks=interrupt), MOST, checkpoint=folder)
        again = adapter(**way)
        history = run_with_checkpoints(again, MOST, checkpoint=folder)
        assert without_times(history) == without_times(undisturbed.history)
        assert repr(again.trainer.get_state()) == repr(undisturbed.trainer.get_state())
        # One that has ended stays ended.
        third = adapter(**way)
        assert len(run_with_checkpoints(third, MOST, checkpoint=folder)) == len(history)


def test_another_executor_gives_the_same() -> None:
    with Processes(NoisyQuadratic, workers=2) as pool:
        run = whole(executor=pool)
    assert without_times(run.history) == without_times(whole().history)


def test_a_shadow_ends_each_of_its_lines_by_itself() -> None:
    run = Shadow(adapter(check="off"), criterion=lowest("loss"))
    delivery = run.run(MOST)
    assert delivery.adapted[-1].ended
    assert delivery.shadow[-1].ended
    lengths = {"adapted": delivery.adapted.epochs, "shadow": delivery.shadow.epochs}
    assert max(lengths.values()) < MOST
    assert delivery.cost.main_line == lengths[delivery.delivered]
    assert delivery.cost.total == spent(delivery.adapted).total + delivery.shadow.epochs


def test_the_record_goes_through_a_file() -> None:
    history = whole().history
    assert history_from_plain(history_to_plain(history)) == history
    text = str(history).splitlines()[-1]
    assert text == f"ended after {history.epochs} epochs: {history[-1].ended}"
    assert "ended" not in str(History(history[:-1]))


def test_a_rule_of_ones_own_is_a_function_of_the_line() -> None:
    run = adapter(until=lambda line: line.epoch >= 7)
    run.run(at_most=MOST)
    assert run.epoch == 7
    assert "lambda" in run.history[-1].ended


def test_a_rule_is_asked_at_the_end_of_a_kept_try() -> None:
    run = adapter(until=At([2]))
    run.run(at_most=MOST)
    assert [round_.epochs for round_ in run.history] == [2]


def test_a_run_can_be_told_later_when_it_ends() -> None:
    run = adapter(until=None)
    run.run(5)
    run.run(at_most=MOST, until=SETTLED)
    assert run.history[-1].ended
    before = run.epoch
    with pytest.warns(Hint, match="nothing is trained unless another rule is given"):
        run.run(before + 9)
    assert run.epoch == before
    longer = Settled("loss", factor=3, least=3)
    ended = run.epoch
    run.run(at_most=MOST, until=longer)
    assert ended < run.epoch
    assert run.policy.until == longer


def test_a_line_that_breaks_where_it_ends_is_rescued_first() -> None:
    run = adapter(
        Toy(blind=[0.03]), initial={"lr": 0.03}, adapt_every=None, when=lambda line: False,
        start_from="before", max_rounds=0, max_rescues=1, until=lambda line: line.epoch >= 1,
    )  # fmt: skip
    run.run(at_most=MOST)
    assert [round_.rescue for round_ in run.history] == [False, True]
    assert not run.history[0].ended, "the rescue comes first"
    assert run.history[-1].ended
    assert run.is_over


# ---- loops ----------------------------------------------------------------------------------
def loop_of(model: NoisyQuadratic, **more: Any) -> Loop:
    given: dict[str, Any] = {
        "at_most": MOST, "until": SETTLED, "space": {"lr": [0.01, 0.03, 0.1]}, "minimize": "loss",
        "adapt_every": 5, "try_for": 2, "initial": {"lr": 0.03}, "check": "off",
    }  # fmt: skip
    return adapt(state=[model], **{**given, **more})


def train(loop: Loop, model: NoisyQuadratic, *, stop: int = 10**6, every: int = 1) -> Any:
    saved = None
    for passes, epoch in enumerate(loop, start=1):
        model.train_k(1, {"lr": epoch["lr"]})
        if (epoch + 1) % every == 0 or epoch.ends_try:
            epoch.report(**model.metrics())
            if passes >= stop and epoch.main:
                saved = copy.deepcopy((loop.state_dict(), model.get_state()))
                break
    return saved


def test_a_loop_ends_as_the_adapter_does() -> None:
    model = NoisyQuadratic()
    loop = loop_of(model)
    train(loop, model)
    assert without_times(loop.history) == without_times(whole(check="off").history)
    assert f"done   {loop.adapter.epoch} epochs, and ended: loss was best after" in str(loop)
    assert "until  Settled(metric='loss', factor=1.3, least=3, better='lower')" in str(loop)


def test_a_loop_says_at_most() -> None:
    assert f"done   0 of at most {MOST} epochs" in str(loop_of(NoisyQuadratic()))


def test_a_loop_over_steps_counts_them() -> None:
    model = NoisyQuadratic()
    loop = loop_of(model, at_most=200, unit="steps", try_for=4, adapt_every=8)
    train(loop, model, every=2)
    assert loop.history[-1].ended
    assert loop.history[-1].unit == "steps"
    assert loop.adapter.epoch < 200


def test_the_state_of_the_best_epoch_is_kept() -> None:
    model = NoisyQuadratic()
    loop = loop_of(model)
    train(loop, model)
    assert loop.best is not None
    last = model.metrics()["loss"]
    loop.restore_best()
    assert model.metrics()["loss"] == loop.best.metrics["loss"] < last
    assert f"best after {loop.best.epoch + 1}," in loop.history[-1].ended
    assert loop_of(NoisyQuadratic(), keep_best=False).keeper is None


def test_the_best_epoch_is_looked_for_where_the_rule_looks() -> None:
    model = NoisyQuadratic()
    loop = loop_of(model, until=Settled("val", factor=1.3, least=3))
    for epoch in loop:
        model.train_k(1, {"lr": epoch["lr"]})
        loss = model.metrics()["loss"]
        # Measured every second epoch: elsewhere there is no "val", and that is no mistake.
        epoch.report({"loss": loss} | ({"val": loss} if epoch % 2 else {}))
    assert loop.best is not None
    assert loop.best.epoch % 2 == 1


@pytest.mark.parametrize("stop", [1, 5, 7, 9, 14])
def test_a_loop_is_saved_by_hand_and_goes_on(stop: int) -> None:
    undisturbed = NoisyQuadratic()
    train(expected := loop_of(undisturbed), undisturbed)
    model = NoisyQuadratic()
    saved = train(loop_of(model), model, stop=stop)
    assert saved is not None
    other = NoisyQuadratic()
    again = loop_of(other)
    again.load_state_dict(saved[0])
    other.set_state(saved[1])
    train(again, other)
    assert without_times(again.history) == without_times(expected.history)
    assert seen(other) == seen(undisturbed)


# ---- what is refused ------------------------------------------------------------------------
def test_without_a_limit_it_is_refused() -> None:
    with pytest.raises(SettingsError, match="needs a limit: give at_most=500 alone"):
        adapt(state=[NoisyQuadratic()], space={"lr": [0.1, 0.3]}, minimize="loss", adapt_every=5,
              try_for=1, until=SETTLED)  # fmt: skip
    with pytest.raises(SettingsError, match="needs a limit"):
        loop_of(NoisyQuadratic(), epochs=40)
    with pytest.raises(SettingsError, match="say when with until="):
        loop_of(NoisyQuadratic(), until=None)
    with pytest.raises(SettingsError, match="say when with until="):
        adapter(until=None).run(at_most=5)
    with pytest.raises(SettingsError, match="needs a limit"):
        adapter(until=None).run(until=SETTLED)
    with pytest.raises(SettingsError):
        adapter().run()
    with pytest.raises(SettingsError, match="epochs must be a whole number above 0, got 0"):
        adapter().run(at_most=0)
    with pytest.raises(SettingsError, match="unit='steps' says what at_most= counts"):
        adapt(40, state=[NoisyQuadratic()], space={"lr": [0.1, 0.3]}, minimize="loss",
              adapt_every=5, try_for=1, unit="steps")  # fmt: skip
    with pytest.raises(SettingsError, match="unit must be"):
        loop_of(NoisyQuadratic(), unit="batches")


def test_a_metric_that_is_not_there_is_refused_before_the_run() -> None:
    for make in (
        lambda: adapter(until=Settled("los")),
        lambda: adapter(until=None).run(at_most=9, until=Settled("los")),
    ):
        with pytest.raises(MetricError, match="did you mean 'loss'"):
            make()


def test_two_directions_are_refused() -> None:
    with pytest.raises(SettingsError, match="must agree which is better"):
        adapter(until=Settled("loss", better="higher"))


def test_no_rule_is_refused() -> None:
    with pytest.raises(SettingsError, match="until must be a trigger"):
        adapter(until=40)


def test_a_schedule_needs_an_end() -> None:
    with pytest.raises(SettingsError, match="an end that must be known beforehand"):
        adapter(course=scheduled("lr", "wsd"))
    assert averaged().needs_end is False


def test_a_framework_stops_by_its_own_means() -> None:
    given = {"minimize": "loss", "adapt_every": 4, "try_for": 1, "until": SETTLED}
    with pytest.raises(SettingsError, match=r"Adapt is told how long to train, got until=Settled"):
        CallbackSettings({"space": {"lr": [0.1, 0.3]}, **given}, way_out="leave it out")
    with pytest.raises(SettingsError, match="adapt_trainer is told how long to train, got until="):
        adapt_trainer(NoisyQuadratic(), 9, space={"lr": [0.1, 0.3]}, **given)
    del given["until"]
    with pytest.raises(SettingsError, match="got at_most=9"):
        adapt_trainer(NoisyQuadratic(), 9, space={"lr": [0.1, 0.3]}, at_most=9, **given)
    with pytest.raises(SettingsError, match="got unit='steps'"):
        adapt_trainer(NoisyQuadratic(), 9, space={"lr": [0.1, 0.3]}, unit="steps", **given)


# ---- nothing adapted ------------------------------------------------------------------------
class Averages:
    """Averages what it is told, and delivers the average: a stand-in for averaged weights."""

    def __init__(self, model: NoisyQuadratic) -> None:
        self.model, self.sum, self.count = model, 0.0, 0
        self.delivered: dict[str, Any] | None = None

    def state_dict(self) -> dict[str, Any]:
        return {"sum": self.sum, "count": self.count}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.sum, self.count = state["sum"], state["count"]

    def update(self, value: float) -> None:
        self.sum, self.count = self.sum + value, self.count + 1

    def deliver(self, **given: Any) -> None:
        self.delivered = {"count": self.count, **given}


def settle(policy: Policy, *more: Any, stop: int = 10**6) -> tuple[Loop, NoisyQuadratic, Any]:
    model = NoisyQuadratic()
    loop = adapt(at_most=200, state=[model, *more], policy=policy)
    for epoch in loop:
        model.train_k(1, {"lr": 0.3})
        for each in more:
            each.update(model.metrics()["loss"])
        epoch.report(model.metrics())
        if epoch.number + 1 == stop:
            return loop, model, (loop.state_dict(), copy.deepcopy(model.get_state()))
    return loop, model, None


def test_a_run_may_adapt_nothing_and_settle() -> None:
    loop, model, _ = settle(settled("loss", average=False))
    assert loop.history[-1].ended
    assert spent(loop).total == loop.adapter.epoch < 200
    assert not any(round_.tries for round_ in loop.history)
    plain = NoisyQuadratic()
    plain.train_k(loop.adapter.epoch, {"lr": 0.3})
    assert seen(model) == seen(plain)
    assert "at most 200 epochs on the main line + 0 overhead" in str(
        adapt(at_most=200, state=[NoisyQuadratic()], policy=settled("loss", average=False))
    )


def test_what_it_hands_over_is_the_best_epoch_and_its_average() -> None:
    model = NoisyQuadratic()
    averages = Averages(model)
    loop, model, _ = settle(settled("loss"), averages)
    assert averages.count == loop.adapter.epoch
    loop.deliver(batches=[1, 2])
    assert loop.best is not None
    best = loop.best.epoch + 1
    assert averages.delivered == {"count": best, "batches": [1, 2]}
    assert model.metrics()["loss"] == loop.best.metrics["loss"]
    assert best < loop.adapter.epoch


def test_the_best_epoch_or_the_average_may_be_all_there_is() -> None:
    loop, model, _ = settle(settled("loss", average=False))
    loop.deliver()
    assert loop.best is not None
    assert model.metrics()["loss"] == loop.best.metrics["loss"]
    model = NoisyQuadratic()
    averages = Averages(model)
    plain = adapt(4, state=[model, averages], space={"lr": [0.1, 0.3]}, minimize="loss",
                  adapt_every=2, try_for=1)  # fmt: skip
    for epoch in plain:
        model.train_k(1, {"lr": epoch["lr"]})
        averages.update(1.0)
        epoch.report(model.metrics())
    plain.deliver()
    assert averages.delivered == {"count": 4}


def test_each_average_of_the_state_is_handed_over() -> None:
    model = NoisyQuadratic()
    first, second = Averages(model), Averages(model)
    loop = adapt(2, state=[model, first, second], space={"lr": [0.1, 0.3]}, minimize="loss",
                 adapt_every=2, try_for=1)  # fmt: skip
    for epoch in loop:
        model.train_k(1, {"lr": epoch["lr"]})
        epoch.report(model.metrics())
    loop.deliver()
    assert first.delivered == second.delivered == {"count": 0}


def test_there_must_be_something_to_hand_over() -> None:
    loop, _, _ = settle(settled("loss", average=False))
    with pytest.raises(LoopError, match="nothing in the state takes 'batches'"):
        loop.deliver(batches=[])
    plain = adapt(4, state=[NoisyQuadratic()], space={"lr": [0.1, 0.3]}, minimize="loss",
                  adapt_every=2, try_for=1)  # fmt: skip
    with pytest.raises(LoopError, match="there is nothing to deliver"):
        plain.deliver()


def test_it_is_not_handed_over_while_it_runs() -> None:
    model = NoisyQuadratic()
    loop = adapt(9, state=[model, Averages(model)], space={"lr": [0.1, 0.3]}, minimize="loss",
                 adapt_every=3, try_for=1)  # fmt: skip
    for epoch in loop:
        model.train_k(1, {"lr": epoch["lr"]})
        epoch.report(model.metrics())
        with pytest.raises(LoopError, match=r"deliver\(\) is for after the loop"):
            loop.deliver()


@pytest.mark.parametrize("stop", [1, 7, 19])
def test_a_run_that_adapts_nothing_goes_on_where_it_was_left(stop: int) -> None:
    expected, whole_model, _ = settle(settled("loss", average=False))
    _, _, saved = settle(settled("loss", average=False), stop=stop)
    model = NoisyQuadratic()
    again = adapt(at_most=200, state=[model], policy=settled("loss", average=False))
    again.load_state_dict(saved[0])
    model.set_state(saved[1])
    for epoch in again:
        model.train_k(1, {"lr": 0.3})
        epoch.report(model.metrics())
    assert without_times(again.history) == without_times(expected.history)
    assert seen(model) == seen(whole_model)


def test_its_report_is_written(tmp_path: Path) -> None:
    loop, _, _ = settle(settled("loss", average=False))
    loop.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text("utf-8")
    assert "loss was best after" in page


def test_nothing_to_adapt_is_a_mistake_elsewhere() -> None:
    with pytest.raises(SettingsError, match="a space needs at least one hyperparameter"):
        Space({})
    with pytest.raises(SettingsError, match="only a run without rounds"):
        adapter(space=Space.empty())


@pytest.mark.parametrize("given", [{"average": "yes"}, {"factor": 1}, {"metric": ""}])
def test_bad_settings_of_the_preset_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(SettingsError):
        settled(**given)
