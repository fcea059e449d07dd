"""Values that hooks move from step to step within an epoch: the run of a loop over these steps."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from dynhp import adapt, attribute, replay, schedule_of
from dynhp.errors import SettingsError, ValueNotInForce
from dynhp.loops import Epoch, Loop, LoopDriver, Move
from dynhp.planning import Schedule
from dynhp.records.plain import round_from_plain, round_to_plain
from dynhp.tails import annealed, at_peak, scheduled
from dynhp.triggers import At
from tests.support.messages import raises
from tests.support.reference import Toy, bits, without_times

EPOCHS, STEPS = 12, 4


class Model(Toy):
    """A toy whose rate is an attribute, as that of an optimiser is; it notes what it uses."""

    lr = 0.2

    def __init__(self) -> None:
        super().__init__(3)
        self.used: list[float] = []

    def step(self) -> None:
        self.used.append(self.lr)
        self.train_k(1, {"lr": self.lr})


class Stepwise(Toy):
    unit = "steps"


def settings_of(kind: str, times: int) -> dict[str, Any]:
    """The same settings in epochs (times 1) and in their steps."""
    shared = {"minimize": "loss", "course": scheduled("lr", "cosine"), "initial": {"lr": 0.2}}
    space = {"lr": [0.05, 0.2, 0.6]}
    if kind == "kept":
        return {**shared, "space": space, "adapt_every": 4 * times, "try_for": 2 * times}
    if kind == "whole rounds":
        return {**shared, "space": space, "adapt_every": 3 * times, "try_for": 3 * times}
    if kind == "tail":
        tail = annealed("lr", epochs=2 * times)
        every = {"adapt_every": 4 * times, "try_for": 1 * times}
        return {**shared, "space": space, "tail": tail, **every}
    search = {"when": At([0]), "try_for": 0, "keep": "value", "then": at_peak("lr", power=0.5)}
    tail = annealed("lr", epochs=3 * times)
    return {**shared, **search, "space": space, "tail": tail, "record_every": 5 * times}


KINDS = ["kept", "whole rounds", "tail", "search"]


def driver_of(model: Model, kind: str = "search", steps: int = STEPS, **changes: Any) -> LoopDriver:
    bind = {"lr": attribute(model, "lr")}
    settings = {**settings_of(kind, 1), **changes}
    del settings["initial"]
    return LoopDriver(adapt(EPOCHS, state=[model], bind=bind, **settings), steps=steps)


def drive(
    driver: LoopDriver, model: Model, steps: int = STEPS, stop: int | None = None
) -> tuple[Any, ...] | None:
    """Drive as a framework would; what it saved, if it stopped after this epoch."""
    move = Move.GO_ON
    while move is not Move.STOP:
        epoch = driver.begin_epoch()
        for step in range(steps):
            driver.move(step)
            assert epoch["lr"] == model.lr
            model.step()
        driver.report({"loss": model.metrics()["loss"]})
        if epoch.main and epoch == stop:
            return copy.deepcopy((driver.state_dict(), model.get_state(), model.lr))
        move = driver.end_epoch()
    return None


def over_steps(model: Model, kind: str) -> Loop:
    settings = settings_of(kind, STEPS)
    del settings["initial"]
    loop = adapt(
        steps=EPOCHS * STEPS, state=[model], bind={"lr": attribute(model, "lr")}, **settings
    )
    for step in loop:
        model.step()
        if step % STEPS == STEPS - 1:
            step.report(loss=model.metrics()["loss"])
    return loop


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_the_run_of_a_loop_over_these_steps(kind: str) -> None:
    model, plain = Model(), Model()
    driver = driver_of(model, kind)
    drive(driver, model)
    loop = over_steps(plain, kind)
    assert bits(model.get_state()) == bits(plain.get_state())
    assert model.used == plain.used
    assert model.lr == plain.lr
    ours, theirs = driver.loop.history, loop.history
    assert [each.scheduled for each in ours] == [each.scheduled for each in theirs]
    assert [each.candidate for each in ours] == [each.candidate for each in theirs]
    assert {each.steps_per_epoch for each in ours} == {STEPS}
    assert {each.steps_per_epoch for each in theirs} == {1}


@pytest.mark.parametrize("kind", KINDS)
def test_its_schedule_replays_step_by_step(kind: str) -> None:
    model, again = Model(), Stepwise(3)
    driver = driver_of(model, kind)
    drive(driver, model)
    schedule = schedule_of(driver.loop)
    assert (schedule.epochs, schedule.steps_per_epoch) == (EPOCHS, STEPS)
    assert schedule.as_list() == schedule_of(over_steps(Model(), kind)).as_list()
    read = Schedule.from_json(schedule.to_json())
    assert read == schedule
    with raises(SettingsError):
        replay(read, again)  # its epochs may have more steps than the schedule has values
    again.steps_per_epoch = STEPS  # type: ignore[attr-defined]
    replay(read, again)
    assert bits(again.get_state()) == bits(model.get_state())
    with raises(SettingsError):
        replay(read, Toy(3))


def test_rounds_without_a_schedule_count_in_the_same_steps() -> None:
    model = Model()
    driver = driver_of(model, "kept")
    drive(driver, model)
    first, second, third = driver.loop.history
    plain = round_to_plain(second) | {"scheduled": {}}
    mixed = schedule_of([first, round_from_plain(plain), third])
    assert [count for count, _ in mixed.as_list()] == [1] * 16 + [16] + [1] * 16


@pytest.mark.parametrize("kind", ["kept", "search"])
@pytest.mark.parametrize("other", [STEPS, 2])
def test_a_run_that_was_saved_anywhere_goes_on(kind: str, other: int) -> None:
    """Also where an epoch has other steps then: what is recorded is spread over them."""
    model = Model()
    driver = driver_of(model, kind)
    drive(driver, model)
    on_main_line = [2, 3, 6, 7, 10] if kind == "kept" else [3, 4, 5, 9]
    for stop in on_main_line:
        first, second = Model(), Model()
        saved = drive(driver_of(first, kind), first, stop=stop)
        assert saved is not None
        again = driver_of(second, kind, steps=other)
        again.load_state_dict(saved[0])
        second.set_state(saved[1])
        second.lr = saved[2]
        drive(again, second, steps=other)
        if other == STEPS:
            assert without_times(again.loop.history) == without_times(driver.loop.history)
            assert bits(second.get_state()) == bits(model.get_state())
        else:
            assert again.loop.history.epochs == EPOCHS
            done = [each for round_ in again.loop.history for each in round_.values_by_epoch]
            wanted = [each for round_ in driver.loop.history for each in round_.values_by_epoch]
            begun = stop + 1 - (stop + 1) % (4 if kind == "kept" else 5)
            assert done[:begun] == wanted[:begun]
            assert schedule_of(again.loop).epochs == EPOCHS


def test_the_values_of_an_epoch_are_those_in_its_middle() -> None:
    model = Model()
    driver = driver_of(model)
    drive(driver, model)
    [first, *_] = driver.loop.history
    by_step = first.values_by_step
    assert first.values_by_epoch == by_step[2::4]
    assert first.last_values == by_step[-1]


def test_a_value_that_something_else_sets_within_an_epoch_is_an_error() -> None:
    model = Model()
    driver = driver_of(model)
    driver.begin_epoch()
    driver.move(0)
    model.lr = 0.123
    with raises(ValueNotInForce):
        driver.move(1)


def test_a_long_run_has_as_many_values_as_are_worth_recording() -> None:
    model = Model()
    driver = driver_of(model, steps=10**6)
    epoch = driver.begin_epoch()
    assert driver.loop.adapter.per_epoch == 20_000 // EPOCHS
    rates = set()
    for step in (0, 1, 599, 601, 10**6 - 1, 10**6):
        driver.move(step)
        rates.add(epoch["lr"])
    assert len(rates) == 3


def test_without_a_schedule_nothing_moves() -> None:
    model = Model()
    driver = driver_of(model, "kept", course=None)
    drive(driver, model)
    assert all(round_.scheduled == {} for round_ in driver.loop.history)
    assert schedule_of(driver.loop).steps_per_epoch == 1


def test_steps_are_counted() -> None:
    with raises(SettingsError):
        driver_of(Model(), steps=0)


def test_an_epoch_by_itself_has_one_value() -> None:
    epoch = Epoch({"lr": 0.1}, number=3, trying=True)  # type: ignore[arg-type]
    assert epoch._passes.at_step(7, 9) == {"lr": 0.1}


@pytest.mark.parametrize(("shape", "changes"), [("wsd", 1), ("linear", 6)])
def test_a_driver_says_beforehand_whether_a_value_changes(shape: Any, changes: int) -> None:
    model = Model()
    driver = driver_of(model, "kept", course=scheduled("lr", shape), check="off")
    said, seen = [], []
    for _ in range(2):
        driver.begin_epoch()
        for step in range(STEPS):
            before = model.lr
            said.append(driver.moves(step))
            driver.move(step)
            seen.append(model.lr != before)
            model.step()
        driver.end_epoch(model.metrics())
    assert said == seen
    assert sum(said) == changes
