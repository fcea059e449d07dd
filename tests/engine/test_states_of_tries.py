"""The names of the states of tries: which are kept, and which are dropped when."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dynhp import DynamicGridAdapter, Racing, lowest
from dynhp.engine.commands import (
    Attempt,
    Command,
    Drop,
    Keep,
    Restore,
    Snapshot,
    Train,
    Trained,
    Tried,
)
from dynhp.engine.memory import Held, StateRef
from dynhp.triggers import At
from tests.support.losses import Thirds
from tests.support.protocol import answered
from tests.support.reference import Diary

LOSSES = {1: 2.0, 2: 1.0}
ORIGIN = StateRef(0)


def states_of(kept: Callable[[StateRef], Held | None], **settings: Any) -> list[Command]:
    """What a round with two tries, of which the second wins, asks for about their states.

    The state after the nth job has the name n.
    """
    adapter = DynamicGridAdapter(
        Diary(LOSSES),
        {"x": list(LOSSES)},
        criterion=lowest("loss"),
        initial={"x": 1},
        check="off",
        **settings,
    )
    seen: list[Command] = []
    jobs = 0

    def answer(command: Command) -> Any:
        nonlocal jobs
        if isinstance(command, Keep | Drop | Restore):
            seen.append(command)
        if isinstance(command, Attempt):
            jobs += 1
            job, end = command.job, StateRef(jobs)
            epochs = job.epochs + len(job.tail)
            series = ({"loss": LOSSES[job.candidate["x"]]},) * epochs  # type: ignore[index]
            return Tried(series=series, epochs=epochs, error=None, end=end, kept=end)
        if isinstance(command, Keep):
            return kept(command.ref)
        if isinstance(command, Train):
            return Trained(command.epochs)
        return ORIGIN if isinstance(command, Snapshot) else None

    answered(adapter.commands(), answer)
    return seen


def nothing_inside(ref: StateRef) -> None:
    return None


def test_the_state_of_a_winner_whose_value_alone_is_kept_is_dropped() -> None:
    states = states_of(
        nothing_inside, adapt_every=6, try_for=2, keep="value", then=lambda values, searched: values
    )
    first, second = StateRef(1), StateRef(2)
    assert states == [Keep(first), Drop(first), Keep(second), Drop(second), Restore(ORIGIN)]


def test_no_state_is_dropped_where_none_is_kept() -> None:
    states = states_of(
        nothing_inside,
        adapt_every=6,
        try_for=2,
        keep="value",
        then=lambda values, searched: values,
        tail=Thirds(),
    )
    assert states == [Restore(ORIGIN)]


def test_a_better_state_inside_of_a_later_stage_replaces_that_of_the_stage_before() -> None:
    def inside(ref: StateRef) -> Held:
        return Held(1, float(ref), StateRef(10 + ref))

    race = Racing(every=2)  # the winner alone has a third job
    states = states_of(
        inside, when=At([0]), try_for=6, selection=race, start_from="best", max_rounds=1
    )
    assert states == [
        Keep(StateRef(1)),
        Drop(StateRef(1)),
        Drop(StateRef(11)),
        Keep(StateRef(2)),
        Drop(StateRef(2)),
        Keep(StateRef(3)),
        Drop(StateRef(12)),
        Restore(StateRef(3)),
        Drop(StateRef(3)),
        Drop(ORIGIN),
    ]
