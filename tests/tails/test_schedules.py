"""A schedule of the values along the main line: the same in every kind of run, to the bit."""

from __future__ import annotations

import copy
import math
import warnings
from pathlib import Path
from typing import Any, ClassVar

import pytest

from dynhp import (
    Batched,
    DynamicGridAdapter,
    Processes,
    Racing,
    Shadow,
    adapt,
    attribute,
    lowest,
    replay,
    schedule_of,
    spent,
)
from dynhp.errors import ContractError, LoopError, SettingsError, ValueNotInForce
from dynhp.loops import copied
from dynhp.planning import Schedule
from dynhp.records import Candidate
from dynhp.records.plain import round_from_plain, round_to_plain
from dynhp.report.scalars import Totals, scalars_of
from dynhp.saved import values_left
from dynhp.storage import run_with_checkpoints
from dynhp.tails import annealed, averaged, scale, scheduled, wsd
from dynhp.tails.contract import Searched, course_values
from dynhp.tails.schedules import Shape
from dynhp.testing import NoisyQuadratic
from dynhp.triggers import At, Every, OnSpike
from tests.support.killing import Killed, MortalTrainer
from tests.support.messages import raises
from tests.support.reference import Toy, bits, without_times

EPOCHS = 12
SETTINGS: dict[str, Any] = {
    "space": {"lr": [0.05, 0.2, 0.6]},
    "minimize": "loss",
    "adapt_every": 4,
    "try_for": 2,
    "initial": {"lr": 0.2},
    "course": scheduled("lr", "wsd"),
}


def adapter_of(trainer: Any, **changes: Any) -> DynamicGridAdapter:
    return DynamicGridAdapter(trainer, **{**SETTINGS, **changes})


def by_hand(trainer: Any, heights: list[float], epochs: int = EPOCHS) -> bytes:
    """The end state of a plain loop in which the rate is set in every epoch."""
    for epoch, height in enumerate(heights):
        trainer.train_k(1, {"lr": height * wsd((epoch + 0.5) / epochs)})
    return bits(trainer.get_state())


def heights_of(adapter: DynamicGridAdapter) -> list[float]:
    return [
        float(round_.candidate["lr"])  # type: ignore[arg-type]
        for round_ in adapter.history
        for _ in range(round_.epochs)
    ]


# ---- the shapes --------------------------------------------------------------------------------
@pytest.mark.parametrize("shape", ["wsd", "cosine", "linear"])
def test_a_schedule_rises_to_one_and_ends_at_zero(shape: Shape) -> None:
    factor = scheduled("lr", shape, warm_up=0.1).factor
    assert (factor(0.0), factor(0.05), factor(0.1), factor(1.0)) == (0.0, 0.5, 1.0, 0.0)
    assert (factor(-0.5), factor(1.5)) == (0.0, 0.0)
    falling = [factor(0.1 + 0.9 * step / 50) for step in range(51)]
    assert falling == sorted(falling, reverse=True)


def test_what_each_shape_is_half_way_down() -> None:
    middle = {shape: scheduled("lr", shape, warm_up=0.0).factor(0.5) for shape in _SHAPES}
    assert middle == {"wsd": 1.0, "cosine": pytest.approx(0.5), "linear": 0.5}
    quarter = {shape: scheduled("lr", shape, warm_up=0.0).factor(0.25) for shape in _SHAPES}
    assert quarter == {
        "wsd": 1.0,
        "cosine": pytest.approx((1 + math.cos(math.pi / 4)) / 2),
        "linear": 0.75,
    }


_SHAPES: tuple[Shape, ...] = ("wsd", "cosine", "linear")


def test_its_text_says_how_it_was_made() -> None:
    for text in ("scheduled('lr', 'wsd')", "scheduled('lr', 'cosine', warm_up=0.1)"):
        assert repr(eval(text)) == text


@pytest.mark.parametrize(
    "make",
    {
        "no name": lambda: scheduled(""),
        "a shape that is not known": lambda: scheduled("lr", "step"),  # type: ignore[arg-type]
        "a warm-up that is all of the run": lambda: scheduled("lr", warm_up=0.7),
        "another name": lambda: adapter_of(Toy(), course=scheduled("rate")),
        "whole numbers": lambda: adapter_of(
            Toy(), space={"lr": [1, 2]}, initial={"lr": 1}, course=scheduled("lr")
        ),
        "no schedule": lambda: adapter_of(Toy(), course=wsd),
    }.items(),
    ids=lambda item: item[0],
)
def test_what_cannot_work_is_refused_at_once(make: Any) -> None:
    with raises(SettingsError, name=make[0]):
        make[1]()


def test_a_run_of_no_known_length_has_no_schedule() -> None:
    trainer = Toy(1)
    adapter = adapter_of(trainer)
    with raises(SettingsError):
        adapter.step()
    assert trainer.steps == 0


def test_values_that_do_not_fit_are_refused() -> None:
    class Lost:
        def at(self, candidate: Any, progress: float) -> Any:
            return {}

    with raises(ContractError):
        adapter_of(Toy(), course=Lost())


# ---- runs --------------------------------------------------------------------------------------
def test_a_dry_run_is_the_plain_loop_under_the_schedule() -> None:
    trainer = Toy(3)
    adapter = adapter_of(trainer, dry_run=True)
    adapter.run(EPOCHS)
    assert bits(trainer.get_state()) == by_hand(Toy(3), [0.2] * EPOCHS)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"try_for": 4},
        {"keep": "value", "randomness": "common"},
        {"selection": Racing(), "try_for": 3},
        {"tail": annealed("lr", epochs=3)},
        {"check": "every"},
        {"adapt_every": None, "when": At([0, 6])},
        {"adapt_every": None, "when": At([0]), "record_every": 3},
    ],
    ids=lambda changes: ", ".join(changes) or "as they are",
)
def test_a_run_is_a_plain_loop_with_the_heights_that_it_chose(changes: dict[str, Any]) -> None:
    trainer = Toy(3)
    adapter = adapter_of(trainer, **changes)
    adapter.run(EPOCHS)
    heights = heights_of(adapter)
    assert bits(trainer.get_state()) == by_hand(Toy(3), heights)
    assert len(set(heights)) > 1 or heights[0] != 0.2
    recorded = [values for round_ in adapter.history for values in round_.values_by_epoch]
    expected = [height * wsd((n + 0.5) / EPOCHS) for n, height in enumerate(heights)]
    assert [values["lr"] for values in recorded] == expected
    again = Toy(3)
    schedule = Schedule.from_json(schedule_of(adapter).to_json())
    replay(schedule, again)
    assert bits(again.get_state()) == bits(trainer.get_state())
    assert schedule.epochs == spent(adapter).main_line == EPOCHS


def test_a_corrected_value_is_scheduled_from_the_end_of_the_try_on() -> None:
    trainer = Toy(3)
    adapter = adapter_of(trainer, space={"lr": [0.1, 0.2, 0.4]}, then=_to_the_lowest)
    adapter.run(4)
    [round_] = adapter.history
    assert (round_.winner.candidate["lr"], round_.candidate["lr"]) == (0.4, 0.1)
    heights = [0.4, 0.4, 0.1, 0.1]
    assert bits(trainer.get_state()) == by_hand(Toy(3), heights, epochs=4)
    assert round_.scheduled["lr"] == tuple(
        height * wsd((n + 0.5) / 4) for n, height in enumerate(heights)
    )
    again = Toy(3)
    replay(schedule_of(adapter), again)
    assert bits(again.get_state()) == bits(trainer.get_state())


def _to_the_lowest(candidate: Candidate, searched: Searched) -> Candidate:
    return candidate.but({"lr": 0.1})


def test_independent_tries_and_their_seeds_are_replayed() -> None:
    trainer = NoisyQuadratic(noise=0.5, seed=2)
    adapter = adapter_of(trainer, randomness="independent", keep="value")
    adapter.run(EPOCHS)
    again = NoisyQuadratic(noise=0.5, seed=2)
    replay(schedule_of(adapter), again)
    assert bits(again.get_state()) == bits(trainer.get_state())


def test_other_executors_come_to_the_same() -> None:
    class InOnePass(NoisyQuadratic):
        """Could carry out all tries at once, if they had no schedule."""

        def try_batch(self, origin: Any, candidates: Any, k: int) -> Any:
            raise AssertionError("one pass has one value for each try")

    def run(executor: Any) -> Any:
        trainer = InOnePass(noise=0.5, seed=2)
        adapter = adapter_of(trainer, executor=executor)
        history = adapter.run(EPOCHS)
        return without_times(history), bits(trainer.get_state())

    wanted = run(None)
    assert run(Batched()) == wanted
    with Processes(_noisy, workers=2) as pool:
        assert run(pool) == wanted


def _noisy() -> NoisyQuadratic:
    return NoisyQuadratic(noise=0.5, seed=2)


@pytest.mark.parametrize("record_every", [None, 3])
def test_a_run_that_was_killed_goes_on_with_its_schedule(
    tmp_path: Path, record_every: int | None
) -> None:
    when = {"adapt_every": None, "when": Every(4), "record_every": record_every}

    calls_of_a_run = []

    def run(folder: Path, dies_after: int | None) -> Any:
        trainer = MortalTrainer(Toy(3), dies_after)
        adapter = adapter_of(trainer, **when)
        history = run_with_checkpoints(adapter, EPOCHS, checkpoint=folder)
        calls_of_a_run.append(trainer.calls)
        return without_times(history), bits(trainer.get_state())

    wanted = run(tmp_path / "whole", None)
    for calls in range(1, calls_of_a_run[0], 3):
        folder = tmp_path / str(calls)
        with pytest.raises(Killed):
            run(folder, calls)
        assert run(folder, None) == wanted


def test_a_run_with_rescues_records_what_is_on_the_main_line() -> None:
    class Breaks(Toy):
        def metrics(self) -> Any:
            good = super().metrics()
            return {"loss": math.nan} if self.steps == 7 and self.values["lr"] > 0.19 else good

    trainer = Breaks(3)
    adapter = adapter_of(
        trainer, adapt_every=None, when=OnSpike("loss", factor=1e9), try_for=1, start_from="before",
        max_rounds=0, max_rescues=1, record_every=3, check="off",
    )  # fmt: skip
    adapter.run(EPOCHS)
    assert sum(round_.rescue for round_ in adapter.history) == 1
    schedule = schedule_of(adapter)
    assert schedule.epochs == EPOCHS
    again = Toy(3)
    replay(schedule, again)
    assert bits(again.get_state()) == bits(trainer.get_state())


def test_the_shadow_follows_it_too() -> None:
    trainer = Toy(3)
    adapter = adapter_of(trainer, space={"lr": [0.2, 1.9]}, criterion=_prefers_high, minimize=None)
    delivery = Shadow(adapter, criterion=lowest("loss")).run(EPOCHS)
    assert delivery.delivered == "shadow"
    assert bits(trainer.get_state()) == by_hand(Toy(3), [0.2] * EPOCHS)


def _prefers_high(series: Any, progress: Any) -> float:
    return float(series[-1]["loss"])


def test_no_epoch_after_the_tries_leaves_the_last_value_in_force() -> None:
    class Remembers(Toy):
        """Its rate is no part of its state, and can be read back."""

        def hyperparameters(self) -> Any:
            return {"lr": self.values.get("lr", 0.2)}

    trainer = Remembers(3)
    adapter = adapter_of(trainer, adapt_every=2, space={"lr": [0.2, 1.9]})
    adapter.run(EPOCHS)
    height = adapter.current["lr"]
    assert trainer.values["lr"] == height * wsd((EPOCHS - 0.5) / EPOCHS)  # type: ignore[operator]
    assert adapter.history[-1].last_values["lr"] == trainer.values["lr"]


def test_its_records_are_plain_data() -> None:
    adapter = adapter_of(Toy(3))
    round_ = adapter.run(4)[0]
    plain = round_to_plain(round_)
    assert plain["scheduled"] == {"lr": list(round_.scheduled["lr"])}
    assert round_from_plain(plain) == round_


def test_a_schedule_that_is_another_is_another_setting() -> None:
    adapter = adapter_of(Toy(3))
    adapter.run(4)
    with raises(SettingsError):
        adapter_of(Toy(3), course=None).load_state_dict(adapter.state_dict())


# ---- loops -------------------------------------------------------------------------------------
class Model(Toy):
    """A toy whose rate is an attribute, as that of an optimiser is."""

    lr = 0.2

    def epoch(self) -> None:
        self.train_k(1, {"lr": self.lr})


def loop_of(model: Model, **changes: Any) -> Any:
    settings = {**SETTINGS, "bind": {"lr": attribute(model, "lr")}, **changes}
    del settings["initial"]
    return adapt(EPOCHS, state=[model], **settings)


def test_a_loop_is_the_run_of_a_trainer() -> None:
    trainer, model = Toy(3), Model(3)
    adapter = adapter_of(trainer)
    adapter.run(EPOCHS)
    loop = loop_of(model)
    for epoch in loop:
        assert epoch["lr"] == model.lr
        model.epoch()
        epoch.report(loss=model.metrics()["loss"])
    assert bits(model.get_state()) == bits(trainer.get_state())
    assert [round_.scheduled for round_ in loop.history] == [
        round_.scheduled for round_ in adapter.history
    ]


@pytest.mark.parametrize("changes", [{}, {"adapt_every": None, "when": At([0]), "record_every": 5}])
def test_a_loop_that_was_saved_anywhere_goes_on_with_its_schedule(changes: Any) -> None:
    def trained(loop: Any, model: Model, stop: int | None = None) -> Any:
        for epoch in loop:
            model.epoch()
            epoch.report(loss=model.metrics()["loss"])
            if epoch.main and epoch == stop:
                return copy.deepcopy((loop.state_dict(), model.get_state(), model.lr))
        return without_times(loop.history), bits(model.get_state()), model.lr

    model = Model(3)
    wanted = trained(loop_of(model, **changes), model)
    on_main_line = [2, 3, 6, 7, 10, 11] if not changes else [3, 4, 5, 7, 9, 10]
    for stop in on_main_line:
        first, second = Model(3), Model(3)
        saved, state, lr = trained(loop_of(first, **changes), first, stop)
        again = loop_of(second, **changes)
        again.load_state_dict(saved)
        second.set_state(state)
        second.lr = lr
        assert trained(again, second) == wanted


def test_a_report_for_an_epoch_with_another_value_comes_too_late() -> None:
    model = Model(3)
    kept = []
    with raises(LoopError):
        for epoch in loop_of(model):
            if kept:
                kept[-1].report(loss=1.0)
            kept.append(epoch)
            model.epoch()
            epoch.report(loss=model.metrics()["loss"])


def test_a_value_that_something_else_sets_is_an_error() -> None:
    model = Model(3)
    with raises(ValueNotInForce):
        for epoch in loop_of(model):
            model.epoch()
            if epoch.main:
                model.lr = 0.123
            epoch.report(loss=model.metrics()["loss"])


def test_steps_have_their_schedule_too() -> None:
    model, plain = Model(3), Toy(3)
    loop = adapt(
        steps=40, state=[model], space={"lr": [0.05, 0.2]}, minimize="loss", adapt_every=20,
        try_for=5, bind={"lr": attribute(model, "lr")}, course=scheduled("lr", "cosine"),
    )  # fmt: skip
    for step in loop:
        model.epoch()
        if step % 5 == 4:
            step.report(loss=model.metrics()["loss"])
    values = [values for round_ in loop.history for values in round_.values_by_epoch]
    heights = [round_.candidate for round_ in loop.history for _ in range(20)]
    assert values == [
        course_values(scheduled("lr", "cosine"), height, step, 1, 40)[0]
        for step, height in enumerate(heights)
    ]
    for each in values:
        plain.train_k(1, each)
    assert bits(plain.get_state()) == bits(model.get_state())


def test_the_presets_search_runs_under_its_own_tail() -> None:
    trainer = Toy(3)
    adapter = DynamicGridAdapter(
        trainer, {"lr": [0.05, 0.2, 0.6]}, minimize="loss", when=At([0]), try_for=0,
        tail=annealed("lr", epochs=3), keep="value", then=scale(1.0), initial={"lr": 0.2},
        course=scheduled("lr"),
    )  # fmt: skip
    adapter.run(EPOCHS)
    heights = heights_of(adapter)
    assert bits(trainer.get_state()) == by_hand(Toy(3), heights)


# ---- one schedule, not two, and not none ------------------------------------------------------
class Driven:
    """A binding to a rate that a scheduler may drive."""

    value = 0.2

    def __init__(self, driven_by: str | None = "StepLR") -> None:
        self.driven_by = driven_by

    def set(self, value: Any) -> None:
        self.value = value

    def get(self) -> Any:
        return self.value


@pytest.mark.parametrize("driver", ["StepLR", None])
def test_what_a_scheduler_drives_gets_no_second_schedule(driver: str | None) -> None:
    binding = Driven(driver)
    loop = adapt(
        EPOCHS, state=[Model(3)], space={"lr": [0.05, 0.2]}, minimize="loss", adapt_every=4,
        try_for=1, bind={"lr": binding}, course=scheduled("lr"),
    )  # fmt: skip
    assert (loop.adapter.policy.course is None) is (driver is not None)


class Scheduling(Toy):
    """A trainer with a schedule of its own, which says so."""

    driven_by: ClassVar[dict[str, str]] = {"lr": "its own schedule"}

    def deliver(self) -> None:
        """There is nothing better to hand over."""


def test_a_trainer_may_say_that_a_schedule_of_its_own_drives_the_value() -> None:
    adapter = adapter_of(Scheduling(3), course=scheduled("lr", "cosine"))
    assert adapter.policy.course is None
    other = adapter_of(Scheduling(3), course=averaged())
    assert other.policy.course == averaged(), "which changes no value"


class OnlyAtTheBegin:
    """Halves the value at the very begin, and is defined within the run alone."""

    def at(self, candidate: Candidate, progress: float) -> Candidate:
        assert 0 <= progress <= 1
        return candidate.but({"lr": float(candidate["lr"]) / (1 if progress else 2)})  # type: ignore[arg-type]


def test_what_a_schedule_changes_is_seen_from_its_begin_to_its_end() -> None:
    assert adapter_of(Scheduling(3), course=OnlyAtTheBegin()).policy.course is None


def test_a_schedule_of_what_is_not_adapted_is_refused_also_beside_one_of_the_trainers() -> None:
    with raises(SettingsError):
        adapter_of(Scheduling(3), course=scheduled("momentum"))


class Average:
    """What averages weights, beside a model in the state of a loop."""

    def state_dict(self) -> dict[str, Any]:
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """There is nothing to take back."""

    def deliver(self) -> None:
        """Give the model the averaged weights."""


def averaging_loop(*more: Any) -> Any:
    model = NoisyQuadratic()
    return adapt(
        EPOCHS, state=[model, *more], space={"lr": [0.05, 0.2]}, minimize="loss", adapt_every=4,
        try_for=1, course=averaged(),
    )  # fmt: skip


@pytest.mark.parametrize("average", [Average(), copied(Average())])
def test_a_loop_may_end_by_averages_if_its_state_has_one(average: Any) -> None:
    assert averaging_loop(average).adapter.policy.course == averaged()


def test_without_an_average_a_run_cannot_end_by_one() -> None:
    with raises(SettingsError):
        averaging_loop()
    with raises(SettingsError):
        adapter_of(Toy(3), course=averaged())


# ---- what a reader is shown ---------------------------------------------------------------------
def test_loggers_get_the_values_that_epochs_were_trained_with() -> None:
    trainer = Toy(3)
    round_ = adapter_of(trainer).run(4)[0]
    scalars = scalars_of(round_, Totals())
    logged = {each.step: each.value for each in scalars if each.series == "schedule/lr"}
    values = [values["lr"] for values in round_.values_by_epoch]
    assert logged == {0: values[0], 1: values[1], 3: values[3]}  # 2 was not measured
    steps = [each.step for each in scalars if each.axis == "main"]
    assert steps == sorted(steps)


def test_a_loop_says_how_its_values_go() -> None:
    model = Model(3)
    assert "course  scheduled('lr', 'wsd')" in str(loop_of(model))
    assert "course" not in str(loop_of(model, course=None))


# ---- what a review found ------------------------------------------------------------------------
class Own:
    """A schedule of one's own: half in the first half of a run."""

    def at(self, candidate: Candidate, progress: float) -> Candidate:
        rate: Any = candidate["lr"]
        return candidate.but({"lr": rate * (0.5 if progress < 0.5 else 1.0)})


class OfBoth(Own):
    """One that changes another value, too."""

    def at(self, candidate: Candidate, progress: float) -> Candidate:
        other: Any = candidate["other"]
        return super().at(candidate, progress).but({"other": other * progress})


def test_a_schedule_of_ones_own_is_left_out_where_a_scheduler_drives_the_value() -> None:
    given: Any = {
        "state": [Model(3)], "minimize": "loss", "adapt_every": 4, "try_for": 1,
        "bind": {"lr": Driven()},
    }  # fmt: skip
    loop = adapt(EPOCHS, space={"lr": [0.05, 0.2]}, course=Own(), **given)
    assert loop.adapter.policy.course is None
    with raises(SettingsError):
        adapt(EPOCHS, space={"lr": [0.05, 0.2], "other": [1.0, 2.0]}, course=OfBoth(), **given)


def test_values_that_happen_to_be_the_corrected_ones_are_recorded() -> None:
    trainer = Toy(3)
    adapter = adapter_of(
        trainer, space={"lr": [0.05, 0.1, 0.2, 0.4]}, course=Own(), then=_half_of_high_ones
    )
    adapter.run(4)
    again = Toy(3)
    replay(schedule_of(adapter), again)
    assert bits(again.get_state()) == bits(trainer.get_state())


def _half_of_high_ones(candidate: Candidate, searched: Searched) -> Candidate:
    rate: Any = candidate["lr"]
    return candidate.but({"lr": rate / 2}) if rate > 0.06 else candidate


@pytest.mark.parametrize("course", [scheduled("lr"), None])
def test_a_loop_whose_state_is_put_back_first_takes_its_own_at_every_epoch(course: Any) -> None:
    """In the order of the docs: first the objects, then ``adapt``, then ``load_state_dict``."""
    settings: Any = {"course": course, "adapt_every": 4, "space": {"lr": [0.05, 0.2, 0.6]}}

    def goes_on(loop: Any, model: Model) -> Any:
        for epoch in loop:
            model.epoch()
            epoch.report(loss=model.metrics()["loss"])
        return without_times(loop.history), bits(model.get_state())

    model = Model(3)
    wanted = goes_on(loop_of(model, **settings), model)
    for stop in (2, 3, 6, 7, 10, 11):
        first = Model(3)
        loop = loop_of(first, **settings)
        saved: Any = None
        for epoch in loop:
            first.epoch()
            epoch.report(loss=first.metrics()["loss"])
            if epoch.main and epoch == stop:
                saved = copy.deepcopy((loop.state_dict(), first.get_state(), first.lr))
                break
        second = Model(3)
        second.set_state(saved[1])
        second.lr = saved[2]
        again = loop_of(second, **settings)
        again.load_state_dict(saved[0])
        assert goes_on(again, second) == wanted


def test_what_is_no_state_has_left_no_values() -> None:
    assert values_left(None) == values_left({}) == []
    assert values_left({"current": {"lr": 1}}) == [{"lr": 1}]
    plain = {"current": {"lr": 1}, "history": [{"scheduled": {"lr": [0.5, 0.25]}}]}
    assert values_left(plain) == [{"lr": 1}, {"lr": 0.25}, {"lr": 1}]
    assert values_left(plain, {"lr": 0.1})[-1] == {"lr": 0.1}


@pytest.mark.parametrize("course", [scheduled("lr"), None])
@pytest.mark.parametrize("way", ["run", "checkpoints", "loop"])
def test_a_run_that_becomes_longer_jumps_back_and_says_so(
    way: str, course: Any, tmp_path: Path
) -> None:
    def longer() -> None:
        if way == "run":
            adapter = adapter_of(Toy(3), course=course)
            adapter.run(4)
            adapter.run(4)  # as long as it was: nothing to say
            adapter.run(8)
        elif way == "checkpoints":
            for epochs in (4, 8):
                run_with_checkpoints(adapter_of(Toy(3), course=course), epochs, checkpoint=tmp_path)
        else:
            model = Model(3)
            loop = loop_of(model, course=course)
            loop.adapter.epochs = 8
            state = loop.state_dict()
            loop_of(model, course=course).load_state_dict(state)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        longer()
    hints = [each for each in caught if "the whole length" in str(each.message)]
    assert len(hints) == (course is not None)
