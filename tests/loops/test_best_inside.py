"""Loops from the best state: also a pass before the end of a kept try may be the best."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from dynhp import adapt
from dynhp.loops import Loop
from dynhp.triggers import At
from tests.support.losses import FIRST_IS_BEST, LossTable, settings_of, starts, table_adapter
from tests.support.reference import without_times


def loop_over(model: LossTable, epochs: int | None = 8, **changes: Any) -> Loop:
    return adapt(epochs, state=[model], **settings_of(**changes))


def body(model: LossTable, epoch: Any) -> None:
    model.train_k(1, {"x": epoch["x"]})
    epoch.report(**model.metrics())


@pytest.mark.parametrize("check", ["off", "every"])
@pytest.mark.parametrize("keep_best", [False, True])
def test_a_loop_goes_back_to_the_best_epoch_of_a_kept_try(check: Any, keep_best: Any) -> None:
    model = LossTable(FIRST_IS_BEST)
    loop = loop_over(model, check=check, keep_best=keep_best)
    for epoch in loop:
        body(model, epoch)
    adapter = table_adapter()
    assert starts(loop.history) == starts(adapter.run(8)) == [(2, 0), (3, 3)]
    assert model.diary == (1, 1, 2, 1, 1, 1, 1, 1)
    if keep_best:
        loop.restore_best()
        assert model.diary == (1, 1, 2)


def test_of_steps_only_those_that_were_measured_can_be_the_best() -> None:
    # Reported after steps 1 and 3 of the main line, and in a try of four after its 2nd and 4th.
    table = {"11": 5.0, "1111": 4.0, "11112": 0.1, "111122": 1.0, "1111222": 0.2, "11112222": 3.0}
    model = LossTable(table)
    loop = loop_over(model, None, steps=12, try_for=4, when=At([4, 10]))
    for step in loop:
        model.train_k(1, {"x": step["x"]})
        if step % 2:
            step.report(**model.metrics())
    assert starts(loop.history) == [(4, 0), (6, 4)]
    assert model.diary[:6] == (1, 1, 1, 1, 2, 2)


@pytest.mark.parametrize("losses", [(1.0, 2.0, 3.0), (2.0, 1.0, 3.0), (3.0, 2.0, 1.0)])
def test_saved_after_the_try_and_taken_up_again(losses: Any) -> None:
    table = {**FIRST_IS_BEST, **dict(zip(("112", "1122", "11222"), losses, strict=True))}
    whole = LossTable(table)
    undisturbed = loop_over(whole)
    for epoch in undisturbed:
        body(whole, epoch)
    taken_up = 0
    for number in range(8):
        model, saved = LossTable(table), None
        loop = loop_over(model)
        for epoch in loop:
            body(model, epoch)
            if epoch.main and epoch == number:
                saved = copy.deepcopy((loop.state_dict(), model.get_state()))
                break
        if saved is None:  # where it goes back to, this epoch is one of a try
            continue
        taken_up += 1
        other = LossTable(table)
        again = loop_over(other)
        again.load_state_dict(saved[0])
        other.set_state(saved[1])
        for epoch in again:
            body(other, epoch)
        assert other.diary == whole.diary
        assert without_times(again.history) == without_times(undisturbed.history)
    assert taken_up >= 3
