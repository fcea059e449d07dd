"""The stretch of a round: its pieces, when its trigger is asked, and where the next one starts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

from dynhp import DynamicGridAdapter, lowest
from dynhp.engine.commands import (
    Attempt,
    Command,
    Drop,
    Hold,
    Keep,
    Restore,
    Snapshot,
    StartFrom,
    Tell,
    Train,
    Trained,
    Tried,
)
from dynhp.engine.memory import Held, Memory, StateRef
from dynhp.records import Candidate, Round
from dynhp.snapshots import Snapshots
from dynhp.triggers import At, Due, LineSoFar
from tests.support.protocol import answered
from tests.support.reference import Diary

LOSSES = {0: 2.0, 1: 1.0}
HERE = StateRef(90)


def made(**changes: Any) -> DynamicGridAdapter:
    settings: dict[str, Any] = {
        "criterion": lowest("loss"),
        "try_for": 1,
        "initial": {"x": 0},
        "record_every": 6,
        "check": "off",
    }
    return DynamicGridAdapter(Diary(LOSSES), {"x": list(LOSSES)}, **(settings | changes))


def carried_out(adapter: DynamicGridAdapter) -> tuple[Memory, list[Command]]:
    """The next round, in which each epoch of the main line has a loss of 5, and its commands."""
    seen: list[Command] = []

    def answer(command: Command) -> Any:
        seen.append(command)
        if isinstance(command, Attempt):
            loss, epochs = LOSSES[command.job.candidate["x"]], command.job.epochs  # type: ignore[index]
            end = StateRef(1 + (command.job.place or 0))
            series = ({"loss": loss},) * epochs
            return Tried(series=series, epochs=epochs, error=None, end=end, kept=end)
        if isinstance(command, Train):
            numbers = range(command.start, command.start + command.epochs)
            return Trained(command.epochs, tuple((number, {"loss": 5.0}) for number in numbers))
        return HERE if isinstance(command, Snapshot) else None

    return answered(adapter.commands(), answer), seen


def pieces_of(commands: list[Command]) -> list[tuple[int, int, bool]]:
    """The first epoch of each piece, its epochs, and whether each of them must be measured."""
    trains = [command for command in commands if isinstance(command, Train)]
    return [(train.start, train.epochs, train.measure_each) for train in trains]


@dataclass
class Silent:
    """Never due; it is to be asked at this epoch, and counts how often it is."""

    look: int | None
    asked: int = 0

    def __call__(self, line: LineSoFar) -> bool:
        self.asked += 1
        return False

    def next_look(self, line: LineSoFar) -> int | None:
        return None if self.look is None or self.look <= line.epoch else self.look


class SilentByEpochs(Silent):
    """The same, one that reads no metrics."""

    metrics: ClassVar[tuple[str, ...]] = ()


def test_a_trigger_that_need_not_be_asked_leaves_the_stretch_in_one_piece() -> None:
    trigger = Silent(look=None)
    _, commands = carried_out(made(when=trigger))
    assert pieces_of(commands) == [(0, 6, False)]
    assert trigger.asked == 1


@pytest.mark.parametrize("look", [None, 6, 7])
def test_a_trigger_that_goes_by_epochs_is_not_asked_where_the_next_round_asks_it(
    look: int | None,
) -> None:
    trigger = SilentByEpochs(look)
    _, commands = carried_out(made(when=trigger))
    assert pieces_of(commands) == [(0, 6, False)]
    assert trigger.asked == 1


@pytest.mark.parametrize("trigger", [Silent(look=4), SilentByEpochs(look=4)])
def test_a_stretch_is_trained_up_to_the_epoch_at_which_the_trigger_is_asked(trigger: Any) -> None:
    _, commands = carried_out(made(when=trigger))
    assert pieces_of(commands) == [(0, 4, False), (4, 2, False)]


def test_a_stretch_stops_for_snapshots_and_for_the_trigger() -> None:
    snapshots = Snapshots(k=1, every=3)
    adapter = made(when=At([2]), start_from="before", snapshots=snapshots, max_rounds=1)
    adapter.memory = adapter.memory._replace(held=(Held(0, 0.0, StateRef(10)),))
    _, commands = carried_out(adapter)
    assert pieces_of(commands) == [(0, 2, False)]
    adapter = made(when=At([5]), start_from="before", snapshots=snapshots, max_rounds=0)
    _, commands = carried_out(adapter)
    assert pieces_of(commands) == [(0, 3, False), (3, 2, False), (5, 1, False)]


@pytest.mark.parametrize("start_from", ["before", "best"])
def test_a_round_that_is_due_after_a_try_of_one_epoch_leaves_no_stretch(start_from: Any) -> None:
    def due(line: LineSoFar) -> bool:
        return line.epoch <= 1

    due.metrics = ("loss",)  # type: ignore[attr-defined]
    adapter = made(when=due, start_from=start_from, max_rounds=5, max_rescues=1)
    memory, commands = carried_out(adapter)
    assert pieces_of(commands) == [(1, 0, False)]
    [train] = (command for command in commands if isinstance(command, Train))
    assert not train.may_be_rescued
    assert isinstance(commands[-1], Tell)
    assert commands[-2] is train
    assert memory.epoch == 1


def test_a_stretch_of_whole_rounds_is_one_piece_that_is_neither_measured_nor_rescued() -> None:
    _, commands = carried_out(made(adapt_every=3, record_every=None))
    [train] = (command for command in commands if isinstance(command, Train))
    assert (train.start, train.epochs) == (1, 2)
    assert train.measure_each is False
    assert train.may_be_rescued is False


def test_after_a_try_as_long_as_its_round_the_next_round_asks_the_trigger() -> None:
    asked = []

    def due(line: LineSoFar) -> bool:
        asked.append(line.epoch)
        return True

    memory, commands = carried_out(made(when=due, try_for=6))
    assert pieces_of(commands) == [(6, 0, False)]
    assert memory.epoch == 6
    assert asked == [0]


def with_three_epochs(adapter: DynamicGridAdapter, *held: int) -> DynamicGridAdapter:
    """A run that has had a round of three epochs; the state after epoch n has the name 10 + n."""
    round_ = Round(
        index=0, start=0, epochs=3, previous=Candidate({"x": 0}), tries=(), chosen=-1, reason="",
        metrics={"loss": 5.0},
    )  # fmt: skip
    before = adapter.memory
    memory = before.after(round_, generator=before.generator, checked=False)
    states = tuple(Held(epoch, -math.inf, StateRef(10 + epoch)) for epoch in held)
    adapter.memory = memory._replace(held=states)
    return adapter


def test_a_trigger_sees_what_was_measured_in_the_kept_try_at_its_place() -> None:
    seen = []

    def due(line: LineSoFar) -> bool:
        if line.epoch == 5:
            seen.extend(line.measured)
        return line.epoch == 3

    carried_out(with_three_epochs(made(when=due, try_for=2)))
    assert seen == [(2, {"loss": 5.0}), (3, {"loss": 1.0}), (4, {"loss": 1.0})]


def test_while_a_round_goes_on_a_trigger_sees_that_it_was_not_stopped() -> None:
    seen = []

    def due(line: LineSoFar) -> None:
        seen.append((line.epoch, line.stopped))

    carried_out(with_three_epochs(made(when=due, record_every=4)))
    assert seen == [(3, True), (4, False), (5, False), (6, False), (7, False)]


@pytest.mark.parametrize(("every", "held"), [(1, [Hold(HERE)]), (2, []), (3, [Hold(HERE)])])
def test_the_state_in_which_a_round_begins_is_held_if_its_epoch_is_one_for_snapshots(
    every: int, held: list[Command]
) -> None:
    snapshots = Snapshots(k=2, every=every)
    adapter = made(when=At([9]), start_from="before", snapshots=snapshots, max_rounds=1)
    assert until_told(with_three_epochs(adapter, 0)) == [Snapshot(), *held]


def test_states_that_are_held_because_they_are_new_have_no_score() -> None:
    snapshots = Snapshots(k=3, every=2)
    adapter = made(when=At([9]), start_from="before", snapshots=snapshots, max_rounds=1)
    memory, _ = carried_out(adapter)
    assert memory.held == tuple(Held(epoch, -math.inf, HERE) for epoch in (2, 4, 6))


@pytest.mark.parametrize(("healthy", "start"), [(0, 1), (1, 1), (2, 2), (9, 2)])
def test_a_round_starts_from_the_newest_healthy_state_or_else_from_the_oldest(
    healthy: int, start: int
) -> None:
    def alarm(line: LineSoFar) -> Due | None:
        return Due(healthy=healthy, alarm=True) if line.epoch == 3 else None

    snapshots = Snapshots(k=2, every=1)
    adapter = made(when=alarm, start_from="before", snapshots=snapshots, max_rounds=3)
    commands = until_told(with_three_epochs(adapter, 1, 2))
    assert commands[:2] == [Snapshot(), StartFrom(StateRef(10 + start))]


def best_so_far(score: float, *measured: tuple[int, float], **changes: Any) -> DynamicGridAdapter:
    """A run from its best state that has had a round of three epochs, with the first one held."""
    adapter = made(start_from="best", max_rounds=3, **changes)
    series = tuple((number, {"loss": loss}) for number, loss in measured)
    last = dict(series).get(2, {})
    round_ = Round(
        index=0, start=0, epochs=3, previous=Candidate({"x": 0}), tries=(), chosen=-1, reason="",
        metrics=last, stretch=tuple(each for each in series if each[0] < 2),
    )  # fmt: skip
    before = adapter.memory
    memory = before.after(round_, generator=before.generator, checked=False)
    adapter.memory = memory._replace(held=(Held(1, score, StateRef(10)),))
    return adapter


def until_told(adapter: DynamicGridAdapter) -> list[Command]:
    """What a round asks for before it says that it has begun."""
    _, commands = carried_out(adapter)
    return commands[: next(i for i, each in enumerate(commands) if isinstance(each, Tell))]


def test_a_newest_epoch_that_is_the_best_is_where_the_next_round_starts() -> None:
    adapter = best_so_far(-4.0, (1, 4.5), (2, 3.0), when=At([3]))
    assert until_told(adapter) == [Snapshot(), Hold(HERE)]


def test_a_newest_epoch_that_was_not_measured_is_not_taken_for_the_best() -> None:
    adapter = best_so_far(-4.0, (0, 4.5), (1, 3.0), when=At([3]))
    assert until_told(adapter) == [Snapshot(), StartFrom(StateRef(10))]


def test_a_newest_epoch_that_rings_an_alarm_is_not_taken_for_the_best() -> None:
    def alarm(line: LineSoFar) -> Due | None:
        return Due(alarm=True) if line.epoch == 3 else None

    adapter = best_so_far(-4.0, (1, 4.5), (2, 3.0), when=alarm)
    assert until_told(adapter) == [Snapshot(), StartFrom(StateRef(10))]


def test_rounds_beyond_the_most_have_no_tries() -> None:
    adapter = made(adapt_every=2, record_every=None, max_rounds=2)
    tries = []
    for _ in range(4):
        adapter.memory, commands = carried_out(adapter)
        tries.append(len([each for each in commands if isinstance(each, Attempt)]))
    assert tries == [2, 2, 0, 0]


def test_what_becomes_of_the_states_of_tries() -> None:
    _, commands = carried_out(made(when=At([0])))
    states = [each for each in commands if isinstance(each, Keep | Drop | Restore)]
    assert states == [
        Keep(StateRef(1)),
        Drop(StateRef(1)),
        Keep(StateRef(2)),
        Restore(StateRef(2)),
        Drop(StateRef(2)),
    ]
