"""A round that was left in its stretch and goes on: what is asked for, and what is recorded."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from dynhp import DynamicGridAdapter, lowest
from dynhp.engine.commands import Command, Snapshot, Train, Trained
from dynhp.engine.memory import Held, StateRef
from dynhp.records import Candidate, Round, Try
from dynhp.snapshots import Snapshots
from dynhp.triggers import At, Due, LineSoFar
from tests.support.protocol import answered
from tests.support.reference import Diary

LOSSES = {0: 2.0, 1: 1.0, 2: 3.0}
HERE = StateRef(90)


def made(**changes: Any) -> DynamicGridAdapter:
    settings: dict[str, Any] = {
        "criterion": lowest("loss"),
        "when": At([0]),
        "try_for": 2,
        "initial": {"x": 0},
        "check": "off",
    }
    return DynamicGridAdapter(Diary(LOSSES), {"x": list(LOSSES)}, **(settings | changes))


def tried(value: int, *losses: float) -> Try:
    series = tuple({"loss": loss} for loss in losses)
    return Try(candidate=Candidate({"x": value}), series=series, epochs=len(losses), score=-1.0)


def left(**changes: Any) -> Round:
    """A round without tries that was left after its third epoch."""
    whole: dict[str, Any] = {
        "index": 0, "start": 0, "epochs": 3, "previous": Candidate({"x": 0}), "tries": (),
        "chosen": -1, "reason": "no round was due", "metrics": {"loss": 3.0},
    }  # fmt: skip
    return Round(**{**whole, **changes})


def gone_on(
    adapter: DynamicGridAdapter, begun: Round, seen: list[Command] | None = None
) -> tuple[Round, list[tuple[int, int]]]:
    """The record of the round, and the first epoch and the number of epochs of each piece."""
    pieces = []

    def answer(command: Command) -> Any:
        if seen is not None:
            seen.append(command)
        if isinstance(command, Train):
            pieces.append((command.start, command.epochs))
            numbers = range(command.start, command.start + command.epochs)
            measured = tuple((number, {"loss": 10.0 + number}) for number in numbers)
            return Trained(epochs=command.epochs, measured=measured)
        return HERE if isinstance(command, Snapshot) else None

    return answered(adapter.commands(begun), answer).rounds[-1], pieces


@pytest.mark.usefixtures("ticking")
def test_all_that_was_recorded_of_a_round_stays_in_its_record() -> None:
    begun = left(
        tries=(tried(0, 9.0, 2.0), tried(1, 9.0, 1.0)),
        chosen=1,
        reason="scored 0 above the value in force",
        seed=7,
        restarted=True,
        checked=4,
        tolerance=0.25,
        seconds=50.0,
        stretch=((0, {"loss": 5.0}), (1, {"loss": 4.0})),
        because="it was time",
        rescue=True,
        corrected=Candidate({"x": 2}),
    )
    record, pieces = gone_on(made(record_every=5), begun)
    stretch = (*begun.measured, (3, {"loss": 13.0}))
    assert record == replace(begun, epochs=5, metrics={"loss": 14.0}, stretch=stretch)
    assert pieces == [(3, 2)]
    assert (record.checked, record.tolerance) == (4, 0.25)
    assert record.seconds == 51.0


@pytest.mark.parametrize("try_for", [6, 0.3])
def test_a_round_with_tries_that_are_longer_than_a_record_goes_on_as_long_as_they_are(
    try_for: float,
) -> None:
    settings = {
        "keep": "value",
        "then": lambda values, _: values,
    }  # so that it starts at the origin
    adapter = made(when=At([15]), try_for=try_for, record_every=4, **settings)
    adapter.epochs = 20
    begun = left(tries=(tried(1, *[1.0] * 6),), chosen=0, restarted=True)
    record, pieces = gone_on(adapter, begun)
    assert (record.epochs, pieces) == (6, [(3, 3)])
    record, pieces = gone_on(adapter, left())
    assert (record.epochs, pieces) == (4, [(3, 1)])


class Rings:
    """An alarm as soon as the loss is 3 or more."""

    def __init__(self, healthy: int) -> None:
        self.healthy = healthy

    def __call__(self, line: Any) -> Due | None:
        broken = line.now is not None and line.now["loss"] >= 3.0
        return Due(because="it rang", healthy=self.healthy, alarm=True) if broken else None


def rescued(max_rescues: int, healthy: int = 5) -> tuple[DynamicGridAdapter, Round]:
    """A run that was left when its main line had just broken, after a rescue at its start."""
    adapter = made(
        when=Rings(healthy),
        start_from="before",
        snapshots=Snapshots(k=3, every=1),
        max_rounds=0,
        max_rescues=max_rescues,
        record_every=9,
    )
    held = tuple(Held(epoch, 0.0, StateRef(10 + epoch)) for epoch in (0, 1, 2))
    adapter.memory = adapter.memory._replace(held=held)
    begun = left(
        tries=(tried(1, 1.0),), chosen=0, rescue=True, because="", stretch=((1, {"loss": 2.0}),)
    )
    return adapter, begun


@pytest.mark.parametrize("max_rescues", [1, 2])
def test_a_round_that_was_left_broken_ends_there(max_rescues: int) -> None:
    adapter, begun = rescued(max_rescues)
    record, pieces = gone_on(adapter, begun)
    assert (record.epochs, record.metrics, pieces) == (3, {"loss": 3.0}, [(3, 0)])


def test_a_round_that_goes_on_was_neither_stopped_nor_did_it_fail() -> None:
    seen = []

    def due(line: LineSoFar) -> None:
        seen.append((line.epoch, line.stopped, line.failure))

    gone_on(made(when=due, record_every=4), left(failure="ValueError: no"))
    assert seen == [(3, False, None), (4, False, None)]
