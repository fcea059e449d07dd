"""Middleware looks at commands and replies, tells callbacks, and may end a run between two."""

from __future__ import annotations

from typing import Any

import pytest

from dynhp import DynamicGridAdapter, Racing, lowest
from dynhp.engine.commands import Attempt, Command, Commands, Snapshot, Tell, Train, Trained
from dynhp.engine.memory import Memory
from dynhp.errors import SettingsError
from dynhp.middleware.looking import looking, told
from dynhp.records import Round, RoundStarted, Try
from dynhp.testing import Quadratic
from tests.support.messages import raises
from tests.support.reference import Toy, bits, without_times


def made(**changes: Any) -> DynamicGridAdapter:
    settings: dict[str, Any] = {"criterion": lowest("loss"), "adapt_every": 4, "try_for": 2}
    return DynamicGridAdapter(Toy(2), {"lr": [0.05, 0.2, 0.6]}, **(settings | changes))


def test_it_sees_each_command_before_and_its_reply_after() -> None:
    seen: list[Any] = []
    adapter = made(
        middleware=[
            looking(
                before=lambda command: seen.append(("before", command)),
                after=lambda command, reply: seen.append(("after", command, reply)),
            )
        ]
    )
    adapter.run(8)
    befores, afters = seen[::2], seen[1::2]
    assert all(each[0] == "before" for each in befores)
    assert [each[1] for each in befores] == [each[1] for each in afters]
    assert isinstance(befores[0][1], Snapshot)
    replies = [reply for _, command, reply in afters if isinstance(command, Attempt)]
    tries = [try_ for round_ in adapter.history for try_ in round_.tries]
    assert [reply.series for reply in replies if reply.series][:3] == [
        try_.series for try_ in tries[:3]
    ]
    stretches = [reply for _, command, reply in afters if isinstance(command, Train)]
    assert [type(reply) for reply in stretches] == [Trained, Trained]


@pytest.mark.parametrize("arguments", [{}, {"before": lambda command: None}])
def test_a_run_is_the_same_with_and_without_it(arguments: dict[str, Any]) -> None:
    plain, looked_at = made(), made(middleware=[looking(**arguments)])
    plain.run(12)
    looked_at.run(12)
    assert without_times(plain.history) == without_times(looked_at.history)
    assert bits(plain.trainer.get_state()) == bits(looked_at.trainer.get_state())


def test_callbacks_are_told_of_rounds_and_of_tries_once() -> None:
    events: list[Any] = []
    adapter = made(selection=Racing(), middleware=[told([events.append])])
    [round_] = adapter.run(4)
    assert [type(event) for event in events] == [RoundStarted, *[Try] * 3, Round]
    assert {event.candidate["lr"]: event for event in events[1:-1]} == {
        try_.candidate["lr"]: try_ for try_ in round_.tries
    }
    assert events[-1] is round_


def test_callbacks_and_told_are_the_same() -> None:
    first: list[Any] = []
    second: list[Any] = []
    made(callbacks=first.append).run(8)
    made(middleware=[told([second.append, second.append])]).run(8)
    assert [event for event in second[::2]] == second[1::2]
    assert [type(event) for event in first] == [type(event) for event in second[::2]]


class OutOfTime(Exception):
    """The hour is over."""


def ends_after(commands_left: int) -> Any:
    """Middleware of one's own, which ends the run after so many commands."""
    left = [commands_left]

    def middleware(commands: Commands, memory: Memory) -> Commands:
        reply = None
        try:
            while True:
                try:
                    command = commands.send(reply)
                except StopIteration as end:
                    return end.value  # type: ignore[no-any-return]
                left[0] -= 1
                if left[0] < 0:
                    raise OutOfTime
                reply = yield command
        finally:
            commands.close()

    return middleware


@pytest.mark.parametrize("commands", [0, 1, 7, 20, 33, 40, 50])
def test_middleware_that_ends_a_run_leaves_everything_as_before_the_round(commands: int) -> None:
    adapter = made(middleware=[ends_after(commands)])
    states, memories = [bits(adapter.trainer.get_state())], [adapter.memory]

    def go_on() -> None:
        for _ in adapter.rounds(40):
            states.append(bits(adapter.trainer.get_state()))
            memories.append(adapter.memory)

    with pytest.raises(OutOfTime):
        go_on()
    assert adapter.memory is memories[-1]
    assert bits(adapter.trainer.get_state()) == states[-1]
    assert len(adapter.table) == 0
    undisturbed = made()
    undisturbed.run(12)
    adapter.middleware = ()
    adapter.run(12)
    assert without_times(adapter.history) == without_times(undisturbed.history)


def test_the_last_middleware_is_next_to_the_driver_and_the_first_next_to_the_engine() -> None:
    order: list[str] = []

    def noting(name: str) -> Any:
        def note(command: Command) -> None:
            if isinstance(command, Tell) and isinstance(command.event, RoundStarted):
                order.append(name)

        return looking(before=note)

    adapter = made(middleware=[noting("given")])
    with adapter.through(noting("last")), adapter.through(noting("first"), first=True):
        adapter.step()
    assert order == ["first", "given", "last"]
    order.clear()
    adapter.step()
    assert order == ["given"]  # the others have left with their blocks


def test_middleware_may_answer_in_place_of_the_driver() -> None:
    """Here it trains no stretch at all: the engine only speaks."""

    def idle(commands: Commands, memory: Memory) -> Commands:
        reply = None
        while True:
            try:
                command = commands.send(reply)
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]
            if isinstance(command, Train):
                reply = Trained(epochs=command.epochs)
            else:
                reply = yield command

    adapter = made(middleware=[idle], check="off")
    [round_] = adapter.run(4)
    assert (round_.epochs, round_.metrics) == (4, {})
    assert adapter.trainer.steps == 2  # type: ignore[attr-defined]


@pytest.mark.parametrize("middleware", [looking(), [5], [lambda commands: commands], "ab", None])
def test_what_is_no_list_of_middleware_is_refused(middleware: Any) -> None:
    with raises(SettingsError):
        DynamicGridAdapter(
            Quadratic(),
            {"lr": [0.1, 0.5]},
            minimize="loss",
            adapt_every=2,
            try_for=1,
            middleware=middleware,
        )
