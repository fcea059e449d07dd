"""The newest epoch of the main line: it may be the best, or the one that broke when it was left."""

from __future__ import annotations

import copy
import math
from typing import Any

import pytest

from dynhp import DynamicGridAdapter, adapt, lowest, rescue, spent
from dynhp.errors import RescuesSpent
from dynhp.testing import NoisyQuadratic, Quadratic
from dynhp.triggers import At, Every, OnPlateau, Trigger
from tests.support.loops import loop_over, run, train
from tests.support.messages import raises
from tests.support.reference import Diary


@pytest.mark.parametrize("when", [Every(4), At([4, 8]), OnPlateau("norm", patience=4)])
def test_the_epoch_after_which_a_round_is_due_may_be_the_best(when: Trigger) -> None:
    class Falling(Diary):
        """A loss that falls in every epoch, and a norm that never changes."""

        def metrics(self) -> Any:
            return {"loss": 0.9 ** len(self.get_state()), "norm": 1.0}

    adapter = DynamicGridAdapter(
        Falling({1: 1.0}), {"x": [1]}, criterion=lowest("loss"), when=when, try_for=1,
        start_from="best", max_rounds=3, check="off",
    )  # fmt: skip
    adapter.run(12)
    assert sum(bool(round_.tries) for round_ in adapter.history) >= 2
    assert spent(adapter).abandoned == 0  # nothing was ever better than what came last


def test_the_epoch_after_which_a_loop_was_left_may_be_the_best() -> None:
    model = NoisyQuadratic()
    arguments: dict[str, Any] = {
        "adapt_every": None, "when": At([9]), "start_from": "best", "max_rounds": 1,
        "record_every": 50, "check": "off",
    }  # fmt: skip
    loop = loop_over(model, 20, **arguments)
    for epoch in loop:
        model.train_k(1, {"lr": epoch["lr"]})
        epoch.report(loss=9.0 - epoch)
        if epoch == 5:
            break
    again = loop_over(model, 20, **arguments)
    again.adapter.load_state_dict(loop.adapter.state_dict())
    for epoch in again:
        model.train_k(1, {"lr": epoch["lr"]})
        epoch.report(loss=99.0 + epoch)  # nothing is as good as what was there before
    [round_] = [round_ for round_ in again.history if round_.tries]
    assert (round_.start, round_.abandoned) == (6, 3)


def test_out_of_rescues_where_a_loop_was_saved_in_what_broke() -> None:
    def loop_of(model: NoisyQuadratic) -> Any:
        policy = rescue("lr", default=0.1, loss="loss", try_for=1, max_rescues=1)
        return adapt(20, state=[model], policy=policy, check="off")

    model = NoisyQuadratic()
    loop, saved = loop_of(model), None
    for epoch in loop:
        train(model, epoch) if epoch < 3 or epoch.trying else epoch.report(loss=math.nan)
        if epoch.main and any(round_.tries for round_ in loop.history[-1:]):
            model.weights[:] = math.nan
            saved = copy.deepcopy((loop.state_dict(), model.get_state()))
            break
    assert saved is not None
    other = NoisyQuadratic()
    again = loop_of(other)
    again.load_state_dict(saved[0])
    other.set_state(saved[1])
    with raises(RescuesSpent):
        run(again, lambda epoch: train(other, epoch))
    assert math.isfinite(other.metrics()["loss"])


def test_what_the_main_line_raised_is_cut_to_a_length() -> None:
    class Speechless(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no text")

    for error in (ValueError("x" * 100_000), Speechless()):
        model, left = Quadratic(), [error]
        loop = adapt(6, state=[model], policy=rescue("lr", default=0.1, loss="loss"), check="off")
        for epoch in loop:
            with epoch:
                model.train_k(1, epoch.values)
                if epoch == 2 and left:
                    raise left.pop()
                epoch.report(**model.metrics())
        [failure] = [round_.failure for round_ in loop.history if round_.failure]
        assert len(failure) <= 2000
        assert failure.startswith(("ValueError: xxx", "Speechless, whose text raises RuntimeError"))
