"""A loop driven from hooks: the same run as with a ``for``, and what a framework must be told."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynhp import BestByMargin, Placebo, Racing, lowest
from dynhp.errors import LoopError, NotRepeatable, SettingsError
from dynhp.loops import Epoch, LoopDriver, Move
from dynhp.records import Candidate
from dynhp.tails import scheduled
from dynhp.testing.toys.quadratic import NoisyQuadratic
from dynhp.triggers import At, OnPlateau
from tests.support.loops import loop_over, run, seen, train
from tests.support.messages import raises


def drive(driver: LoopDriver, model: NoisyQuadratic) -> list[tuple[Epoch, Move, tuple[int, ...]]]:
    """Drive as a framework would, and note what it was told."""
    notes = []
    move = Move.GO_ON
    while move is not Move.STOP:
        epoch = driver.begin_epoch()
        model.train_k(1, epoch.values)
        move = driver.end_epoch(model.metrics())
        notes.append((epoch, move, tuple(int(each) for each in driver.kept)))
    return notes


SETTINGS: dict[str, dict[str, Any]] = {
    "plain": {},
    "at two moments": {"adapt_every": None, "when": At([2, 5])},
    "never": {"adapt_every": None, "when": OnPlateau("loss", patience=99)},
    "all of a round is tried": {"try_for": 3},
    "dry": {"dry_run": True},
    "checked": {"check": "every"},
    "restarted": {"keep": "value", "randomness": "independent"},
    "race": {"selection": Racing(), "try_for": 2},
    "equal candidates": {"proposer": Placebo(3)},
    "margin": {"selection": BestByMargin(noise=1.0)},
    "a short last round": {"epochs": 8},
}


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_a_driven_run_is_that_of_a_loop(settings: dict[str, Any]) -> None:
    plain, model = NoisyQuadratic(), NoisyQuadratic()
    loop, driven = loop_over(plain, **settings), loop_over(model, **settings)
    run(loop, lambda epoch: train(plain, epoch))
    drive(LoopDriver(driven), model)
    assert driven.history == loop.history
    assert seen(model) == seen(plain)


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_the_main_line_is_whole_and_in_order(settings: dict[str, Any]) -> None:
    """What a logger gets: passes of the main line as they come, those of a try once it is kept."""
    model = NoisyQuadratic()
    loop = loop_over(model, **settings)
    logged: list[tuple[int, Any]] = []
    driver = LoopDriver(loop)
    move = Move.GO_ON
    while move is not Move.STOP:
        epoch = driver.begin_epoch()
        model.train_k(1, epoch.values)
        move = driver.end_epoch(model.metrics())
        if epoch.main:
            logged.append((int(epoch), epoch.metrics))
        logged += [(int(each), each.metrics) for each in driver.kept]
    assert logged == list(loop.history.measured)
    assert [number for number, _ in logged] == list(range(len(loop)))


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_restored_says_that_the_state_was_put_back(settings: dict[str, Any]) -> None:
    model = NoisyQuadratic()
    driver = LoopDriver(loop_over(model, **settings))
    moves = {Move.GO_ON: 0, Move.RESTORED: 0, Move.STOP: 0}
    while not moves[Move.STOP]:
        model.train_k(1, driver.begin_epoch().values)
        before = seen(model)
        move = driver.end_epoch(model.metrics())
        moves[move] += 1
        assert seen(model) == before or move is not Move.GO_ON
    assert moves[Move.RESTORED] >= sum(len(each.tries) - 1 for each in driver.loop.history)


def test_a_try_that_raises_has_failed_and_the_main_line_raises() -> None:
    model = NoisyQuadratic()
    driver = LoopDriver(loop_over(model))
    driver.begin_epoch()
    assert driver.fail_epoch(ValueError("burst")) is Move.RESTORED
    while (epoch := driver.begin_epoch()).trying:
        model.train_k(1, epoch.values)
        driver.end_epoch(model.metrics())
    with pytest.raises(ValueError, match="torn"):
        driver.fail_epoch(ValueError("torn"))
    driver.close()
    [round_] = driver.loop.history  # the kept try is of the main line; the pass that raised is not
    assert round_.tries[0].error == "ValueError: burst"
    assert round_.epochs == 1


def test_closing_in_a_try_puts_everything_back() -> None:
    model = NoisyQuadratic()
    driver = LoopDriver(loop_over(model))
    before = seen(model)
    model.train_k(1, driver.begin_epoch().values)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # no advice on a body that nobody wrote
        driver.close()
    assert seen(model) == before
    assert driver.epoch is None


@pytest.mark.parametrize("back", [{"max_rounds": 3}, {"max_rounds": 3, "max_rescues": 1}])
def test_a_way_back_is_refused_where_a_framework_has_counted_already(back: dict[str, Any]) -> None:
    with raises(SettingsError):
        LoopDriver(loop_over(NoisyQuadratic(), start_from="best", **back))


def test_hooks_in_the_wrong_order_are_refused() -> None:
    model = NoisyQuadratic()
    driver = LoopDriver(loop_over(model, epochs=3))
    assert "LoopDriver(Loop(epochs=3" in repr(driver)
    for call in (driver.end_epoch, lambda: driver.report({"loss": 1.0})):
        with raises(LoopError):
            call()
    assert driver.begin_epoch()["lr"] == driver.epoch["lr"]  # type: ignore[index]
    with raises(LoopError):
        driver.begin_epoch()
    driver.report({"loss": 1.0})
    with raises(LoopError):
        driver.end_epoch({"loss": 1.0})
    driver.end_epoch()
    assert not driver.complete
    drive(driver, model)
    assert driver.complete
    with raises(LoopError):
        driver.begin_epoch()


def test_after_an_error_of_the_run_nothing_goes_on() -> None:
    model, left_out = NoisyQuadratic(), [0.0]
    driver = LoopDriver(loop_over(model, check="first"))

    def hooks() -> None:
        while True:
            epoch = driver.begin_epoch()
            model.train_k(1, epoch.values)
            left_out[0] += 1.0
            driver.end_epoch({"loss": model.metrics()["loss"] + left_out[0]})

    with pytest.raises(NotRepeatable):
        hooks()
    assert driver.epoch is None
    with raises(LoopError):
        driver.begin_epoch()


@pytest.mark.many
@given(st.integers(1, 12), st.integers(1, 4), st.data())
def test_any_lengths_give_the_run_of_a_loop(epochs: int, every: int, data: st.DataObject) -> None:
    settings: dict[str, Any] = {
        "epochs": epochs,
        "adapt_every": every,
        "try_for": data.draw(st.integers(1, every)),
        "check": data.draw(st.sampled_from(["off", "first", "every"])),
        "criterion": lowest("loss"),
    }
    plain, model = NoisyQuadratic(), NoisyQuadratic()
    loop, driven = loop_over(plain, **settings), loop_over(model, **settings)
    run(loop, lambda epoch: train(plain, epoch))
    drive(LoopDriver(driven), model)
    assert (driven.history, seen(model)) == (loop.history, seen(plain))


class Unmoved:
    """A schedule that leaves all values where they are."""

    def at(self, candidate: Candidate, progress: float) -> Candidate:
        return candidate


@pytest.mark.parametrize(
    ("course", "refused"),
    [(None, False), (scheduled("lr", "linear"), True), (Unmoved(), False)],
)
def test_what_is_left_of_a_kept_try_is_not_trained_anew_under_a_schedule(
    course: Any, refused: bool
) -> None:
    driver = LoopDriver(loop_over(NoisyQuadratic(), course=course))
    driver.require_end_of_try(2, 2)  # saved at its end
    if refused:
        with pytest.raises(SettingsError, match="inside a try that was kept and ended after 2"):
            driver.require_end_of_try(1, 2)
    else:
        driver.require_end_of_try(1, 2)
