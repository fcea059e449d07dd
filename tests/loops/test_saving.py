"""A loop in a checkpoint of the user's: saved in any epoch of the main line, and gone on with."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from dynhp import Placebo, Racing
from dynhp.errors import LoopError, SettingsError
from dynhp.loops import Loop, LoopDriver, Move
from dynhp.records import Round, Try
from dynhp.selfcheck.difference import difference
from dynhp.testing.toys.quadratic import NoisyQuadratic
from tests.support.loops import loop_over, run, seen, train
from tests.support.messages import raises

SETTINGS: dict[str, dict[str, Any]] = {
    "plain": {},
    "dry": {"dry_run": True},
    "checked": {"check": "every"},
    "restarted": {"keep": "value", "randomness": "independent"},
    "race": {"selection": Racing(), "try_for": 2},
    "best": {"keep_best": True},
    "a short last round": {"epochs": 11},
}


def saved_everywhere(loop: Loop, model: NoisyQuadratic) -> list[tuple[Any, Any]]:
    """The loop's state and the model's, in every epoch of the main line, before and after."""
    saved = [(loop.state_dict(), model.get_state())]
    for epoch in loop:
        train(model, epoch)
        if epoch.main:
            saved.append((loop.state_dict(), model.get_state()))
    return [*saved, (loop.state_dict(), model.get_state())]


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_a_loop_goes_on_from_any_epoch_of_the_main_line_as_if_never_left(
    settings: dict[str, Any],
) -> None:
    settings = {"epochs": 12, "adapt_every": 4, **settings}
    model = NoisyQuadratic()
    whole = loop_over(model, **settings)
    saved = saved_everywhere(whole, model)
    assert len(saved) > 6
    for state, weights in saved:
        again = NoisyQuadratic()
        again.set_state(weights)
        loop = loop_over(again, **settings)
        loop.load_state_dict(copy.deepcopy(state))
        run(loop, lambda epoch, again=again: train(again, epoch))  # type: ignore[misc]
        assert (loop.history, seen(again)) == (whole.history, seen(model))
        assert loop.history.measured == whole.history.measured
        if "keep_best" in settings:
            assert difference(loop.best, whole.best) is None


def test_the_state_is_plain_data() -> None:
    model = NoisyQuadratic()
    for state, _ in saved_everywhere(loop_over(model), model):
        assert json.loads(json.dumps(state)) == state


def test_a_driver_saves_between_report_and_the_end_of_an_epoch() -> None:
    model = NoisyQuadratic()
    whole = LoopDriver(loop_over(model))
    saved, move = [], Move.GO_ON
    while move is not Move.STOP:
        epoch = whole.begin_epoch()
        model.train_k(1, epoch.values)
        whole.report(model.metrics())
        if epoch.main:
            saved.append((whole.state_dict(), model.get_state()))
        move = whole.end_epoch()
    for state, weights in saved:
        again = NoisyQuadratic()
        again.set_state(weights)
        driver = LoopDriver(loop_over(again))
        driver.load_state_dict(state)
        for epoch in driver.loop:  # a driver or a ``for``, whoever goes on
            train(again, epoch)
        assert (driver.loop.history, seen(again)) == (whole.loop.history, seen(model))


def test_a_loop_over_steps_is_saved_in_a_step_that_reports() -> None:
    def steps(loop: Loop, model: NoisyQuadratic) -> list[Any]:
        saved = []
        for step in loop:
            model.train_k(1, step.values)
            if step % 2 == 1:
                step.report(model.metrics())
                if step.main:
                    saved.append((loop.state_dict(), model.get_state()))
            elif step.main:
                with raises(LoopError):
                    loop.state_dict()
        return saved

    def loop_of(model: NoisyQuadratic) -> Loop:
        return loop_over(model, epochs=None, steps=24, adapt_every=8, try_for=2)  # type: ignore[arg-type]

    model = NoisyQuadratic()
    whole = loop_of(model)
    for state, weights in steps(whole, model):
        again = NoisyQuadratic()
        again.set_state(weights)
        loop = loop_of(again)
        loop.load_state_dict(state)
        steps(loop, again)
        assert (loop.history, seen(again)) == (whole.history, seen(model))


def test_a_try_is_not_saved_and_a_loop_that_runs_is_not_loaded() -> None:
    model = NoisyQuadratic()
    loop = loop_over(model)
    fresh = loop.state_dict()
    for epoch in loop:
        if epoch.trying:
            with raises(LoopError):
                loop.state_dict()
        with raises(LoopError):
            loop.load_state_dict(fresh)
        train(model, epoch)


def test_a_longer_loop_goes_on_with_a_shorter_one_and_not_the_other_way_round() -> None:
    model = NoisyQuadratic()
    short = loop_over(model, epochs=5)
    saved = saved_everywhere(short, model)
    again = NoisyQuadratic()
    again.set_state(saved[-1][1])
    longer = loop_over(again, epochs=9)
    longer.load_state_dict(saved[-1][0])
    run(longer, lambda epoch: train(again, epoch))
    assert longer.history.rounds[:2] == short.history.rounds
    assert longer.history.epochs == 9
    with raises(SettingsError):
        loop_over(NoisyQuadratic(), epochs=4).load_state_dict(saved[-1][0])


def middle() -> dict[str, Any]:
    model = NoisyQuadratic()
    loop = loop_over(model, keep_best=True)
    for epoch in loop:
        train(model, epoch)
        if epoch.main and epoch == 4:
            return loop.state_dict()
    raise AssertionError


def spoilt(state: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {**state, "round": {**state["round"], **changes}}


def with_best(state: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {**state, "best": {**state["best"], **changes}}


@pytest.mark.parametrize(
    "spoil",
    [
        lambda state: [],
        lambda state: {"adapter": state["adapter"]},
        lambda state: {**state, "adapter": 3},
        lambda state: {**state, "round": 3},
        lambda state: spoilt(state, index=7),
        lambda state: spoilt(state, start=1),
        lambda state: spoilt(state, chosen=9),
        lambda state: {**state, "best": {"epoch": 3}},
        lambda state: {**state, "best": 3},
        lambda state: with_best(state, metrics="x"),
        lambda state: with_best(state, metrics={"loss": "x"}),
        lambda state: with_best(state, score="0.5"),
        lambda state: with_best(state, score=None),
        lambda state: with_best(state, score=float("nan")),
        lambda state: with_best(state, epoch=-1),
        lambda state: with_best(state, more=1),
    ],
)
def test_a_damaged_state_is_refused_whole(spoil: Any) -> None:
    state = spoil(middle())
    loop = loop_over(NoisyQuadratic(), keep_best=True)
    before = loop.state_dict()
    with raises(SettingsError):
        loop.load_state_dict(state)
    assert loop.state_dict() == before


def test_a_best_epoch_is_not_dropped_silently() -> None:
    with raises(SettingsError):
        loop_over(NoisyQuadratic()).load_state_dict(middle())


def test_what_stops_a_resumed_round_puts_back_what_was_loaded() -> None:
    def forbidden(event: Any) -> None:
        raise ValueError("burst")

    model = NoisyQuadratic()
    state, weights = saved_everywhere(loop_over(model, adapt_every=4), model)[1]
    again = NoisyQuadratic()
    again.set_state(weights)
    loop = loop_over(again, adapt_every=4, callbacks=forbidden)  # it is called when the round ends
    loop.load_state_dict(state)
    before = seen(again)
    with pytest.raises(ValueError, match="burst"):
        run(loop, lambda epoch: train(again, epoch))
    assert seen(again) == before
    assert loop.history.epochs == 0


def test_a_callback_saves_a_round_that_ends_and_the_resumed_loop_records_it() -> None:
    model, saved = NoisyQuadratic(), []

    def save(event: Any) -> None:
        if isinstance(event, Round):
            saved.append((loop.state_dict(), model.get_state()))

    loop = loop_over(model, callbacks=save)
    run(loop, lambda epoch: train(model, epoch))
    assert len(saved) == 3
    for state, weights in saved:
        again = NoisyQuadratic()
        again.set_state(weights)
        resumed = loop_over(again)
        resumed.load_state_dict(state)
        run(resumed, lambda epoch, again=again: train(again, epoch))  # type: ignore[misc]
        assert (resumed.history, seen(again)) == (loop.history, seen(model))


def test_a_callback_that_hears_of_a_try_cannot_save_the_loop() -> None:
    model = NoisyQuadratic()

    def save(event: Any) -> None:
        if isinstance(event, Try):
            loop.state_dict()

    loop = loop_over(model, callbacks=save)
    with raises(LoopError):
        run(loop, lambda epoch: train(model, epoch))


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"try_for": 3},  # all of a round is tried
        {"try_for": 3, "proposer": Placebo(2), "randomness": "independent"},
        {"dry_run": True},
        {"keep_best": True},
    ],
)
def test_a_driver_knows_where_the_main_line_is_between_two_epochs(settings: dict[str, Any]) -> None:
    """What a framework saves that writes checkpoints in the middle of an epoch, or after a try."""
    model = NoisyQuadratic()
    whole = LoopDriver(loop_over(model, **settings))
    saved, move = [(whole.state_between(), model.get_state())], Move.GO_ON
    while move is not Move.STOP:
        epoch = whole.begin_epoch()
        if epoch.main:
            saved.append((whole.state_between(), model.get_state()))  # in the middle of it
        train(model, epoch)
        move = whole.end_epoch()
        if epoch.main or whole.kept:
            saved.append((whole.state_between(), model.get_state()))
    assert len(saved) > 3
    for state, weights in saved:
        again = NoisyQuadratic()
        again.set_state(weights)
        loop = loop_over(again, **settings)
        loop.load_state_dict(copy.deepcopy(state))
        run(loop, lambda epoch, again=again: train(again, epoch))  # type: ignore[misc]
        assert (loop.history, seen(again)) == (whole.loop.history, seen(model))
