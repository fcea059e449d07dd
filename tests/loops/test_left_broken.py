"""Loops that are left in an epoch that broke, and what becomes of them when they go on."""

from __future__ import annotations

import copy
import math
from typing import Any

import pytest

from dynhp import adapt, rescue, spent
from dynhp.errors import RescuesSpent
from dynhp.testing.toys.quadratic import NoisyQuadratic
from dynhp.triggers import Due, LineSoFar
from tests.support.messages import raises


def loop_around(model: NoisyQuadratic, **changes: Any) -> Any:
    policy = rescue("lr", default=0.1, loss="loss", try_for=1)
    arguments: dict[str, Any] = {"max_rescues": 1, "check": "off", **changes}
    return adapt(10, state=[model], policy=policy, **arguments)


def leave_in(loop: Any, model: NoisyQuadratic, broken: list[int], *, raising: bool = False) -> None:
    """Break in these epochs of the main line, once each, and leave the loop in the last one."""
    left = list(broken)
    for epoch in loop:
        with epoch:
            model.train_k(1, {"lr": epoch["lr"]})
            breaks = epoch.main and int(epoch) in left
            if breaks:
                left.remove(int(epoch))
            if breaks and raising:
                raise ArithmeticError("diverged")
            epoch.report(loss=math.nan if breaks else 1.0)
        if breaks and not left:
            break


@pytest.mark.parametrize("last", [7, 9], ids=["in the middle", "at the end"])
@pytest.mark.parametrize("start_from", ["before", "best"])
def test_rescues_are_spent_and_the_state_is_healthy(last: int, start_from: Any) -> None:
    model = NoisyQuadratic()
    loop = loop_around(model, start_from=start_from)
    leave_in(loop, model, [4, last])
    assert model.steps == last + 1  # as it was left
    assert (loop.adapter.is_over, loop.adapter.epoch) == (False, last + 1)
    saved = copy.deepcopy((loop.state_dict(), model.get_state()))
    healthy = last if start_from == "before" else 1  # the first of equals is the best
    for _ in range(2):
        with raises(RescuesSpent):
            loop.adapter.step()
        assert model.steps == healthy
    other = NoisyQuadratic()
    again = loop_around(other, start_from=start_from)
    again.load_state_dict(saved[0])
    other.set_state(saved[1])
    with pytest.raises(RescuesSpent):
        leave_in(again, other, [])
    assert other.steps == healthy


def test_a_state_that_its_trigger_calls_healthy_stays() -> None:
    def odd(line: LineSoFar) -> Due | None:
        if line.now is None or math.isfinite(line.now["loss"]):
            return None
        return Due(because="odd", alarm=True)

    model = NoisyQuadratic()
    loop = loop_around(model, when=odd, criterion=lambda series, _: 0.0, max_rescues=1)
    leave_in(loop, model, [4, 7])
    with pytest.raises(RescuesSpent):
        loop.adapter.step()
    assert model.steps == 8


@pytest.mark.parametrize("raising", [False, True])
def test_where_rescues_are_left_going_on_begins_with_one(raising: bool) -> None:
    model = NoisyQuadratic()
    loop = loop_around(model)
    leave_in(loop, model, [7], raising=raising)
    assert loop.history[-1].failure == ("ArithmeticError: diverged" if raising else None)
    other = NoisyQuadratic()
    again = loop_around(other)
    again.load_state_dict(loop.state_dict())
    other.set_state(model.get_state())
    leave_in(again, other, [])
    [rescued] = [round_ for round_ in again.history if round_.tries]
    assert (rescued.start, rescued.rescue) == (7, True)
    assert rescued.because == ("ArithmeticError: diverged" if raising else "loss is nan")
    assert spent(again).abandoned == 1
    assert other.steps == 10
