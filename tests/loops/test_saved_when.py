"""Loops with every trigger, saved by hand in any epoch of the main line and taken up again."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from dynhp.loops import LoopDriver, Move
from dynhp.testing.toys.quadratic import NoisyQuadratic
from dynhp.triggers import Every
from tests.support.kinds import LOSS_TRIGGERS
from tests.support.loops import loop_over, run, seen, train
from tests.support.reference import without_times

WHEN = [*LOSS_TRIGGERS, Every(2)]  # whose tries leave no epoch to a round


@pytest.mark.parametrize("start_from", ["here", "best", "before"])
@pytest.mark.parametrize("number", range(len(WHEN)))
def test_saved_by_hand(number: int, start_from: Any) -> None:
    arguments: dict[str, Any] = {
        "adapt_every": None, "when": WHEN[number], "try_for": 2, "start_from": start_from,
        "max_rounds": 3, "record_every": 5,
    }  # fmt: skip
    whole = NoisyQuadratic()
    undisturbed = loop_over(whole, 14, **arguments)
    run(undisturbed, lambda epoch: train(whole, epoch))
    for stop in range(1, 40, 2):
        model = NoisyQuadratic()
        loop, saved = loop_over(model, 14, **arguments), None
        for passes, epoch in enumerate(loop, start=1):
            train(model, epoch)
            if passes >= stop and epoch.main:
                saved = copy.deepcopy((loop.state_dict(), model.get_state()))
                break
        if saved is None:
            break
        other = NoisyQuadratic()
        again = loop_over(other, 14, **arguments)
        again.load_state_dict(saved[0])
        other.set_state(saved[1])
        run(again, lambda epoch, other=other: train(other, epoch))
        assert seen(other) == seen(whole)
        assert without_times(again.history) == without_times(undisturbed.history)


@pytest.mark.parametrize("number", range(len(WHEN)))
def test_driven_from_hooks_and_saved_between_epochs(number: int) -> None:
    arguments: dict[str, Any] = {
        "adapt_every": None, "when": WHEN[number], "try_for": 2, "max_rounds": 3, "record_every": 5,
    }  # fmt: skip
    whole = NoisyQuadratic()
    undisturbed = loop_over(whole, 14, **arguments)
    run(undisturbed, lambda epoch: train(whole, epoch))
    for stop in range(14):
        model, move = NoisyQuadratic(), Move.GO_ON
        driver = LoopDriver(loop_over(model, 14, **arguments))
        while move is not Move.STOP:
            epoch = driver.begin_epoch()
            if epoch.main and epoch >= stop:  # in a process of its own from here on
                saved = copy.deepcopy((driver.state_between(), model.get_state()))
                driver.close()
                model = NoisyQuadratic()
                driver, stop = LoopDriver(loop_over(model, 14, **arguments)), 99
                driver.load_state_dict(saved[0])
                model.set_state(saved[1])
                epoch = driver.begin_epoch()
            model.train_k(1, epoch.values)
            move = driver.end_epoch(model.metrics())
        assert seen(model) == seen(whole)
        assert without_times(driver.loop.history) == without_times(undisturbed.history)
