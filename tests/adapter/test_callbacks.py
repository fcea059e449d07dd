"""Callbacks: called with each event in order, without any influence on the run."""

from __future__ import annotations

from typing import Any

import pytest

from dynhp import (
    Best,
    BestByMargin,
    FullGrid,
    Interpolation,
    Neighbors,
    Racing,
)
from dynhp.records import Round, RoundStarted, Try
from tests.support.reference import (
    Diary,
    Toy,
    bits,
    diary_adapter,
    toy_settings,
    without_times,
)


def test_callbacks_are_told_in_order() -> None:
    events: list[Any] = []
    trainer = Diary({0: 3, 1: 2, 2: 4})
    adapter = diary_adapter(trainer, callbacks=[events.append])
    history = adapter.run(6)
    first, second = history
    assert events == [
        RoundStarted(index=0, start=0, epochs=4),
        *first.tries,
        first,
        RoundStarted(index=1, start=4, epochs=2),
        *second.tries,
        second,
    ]
    assert len(events) == 10


def test_in_a_race_tries_are_told_as_they_end() -> None:
    events: list[Any] = []
    trainer = Diary({0: 3, 1: 2, 2: 4, 3: 1})
    callbacks = [events.append]
    adapter = diary_adapter(
        trainer, try_for=3, selection=Racing(), callbacks=callbacks, initial={"x": 0}
    )
    round_ = adapter.step()
    assert [event.candidate["x"] for event in events[1:-1]] == [0, 2, 1, 3]
    assert sorted(map(id, events[1:-1])) == sorted(map(id, round_.tries))


def test_all_callbacks_are_told_each_in_turn() -> None:
    events: list[Any] = []
    callbacks = [lambda event: events.append((1, event)), lambda event: events.append((2, event))]
    diary_adapter(Diary({0: 3}), callbacks=callbacks).step()
    assert [number for number, _ in events] == [1, 2] * 3
    assert all(
        first[1] is second[1] for first, second in zip(events[::2], events[1::2], strict=True)
    )


@pytest.mark.parametrize("selection", [Best(), Racing(), BestByMargin(noise=1.0)], ids=repr)
@pytest.mark.parametrize("proposer", [FullGrid(), Interpolation(), Neighbors()], ids=repr)
def test_results_do_not_depend_on_callbacks(selection: Any, proposer: Any) -> None:
    chosen = toy_settings(selection=selection, proposer=proposer, randomness="independent")
    quiet, loud = Toy(1), Toy(1)
    first = chosen.adapter(quiet).run(22)
    second = chosen.adapter(loud, callbacks=[lambda event: None, repr]).run(22)
    assert without_times(first) == without_times(second)
    assert bits(quiet.get_state()) == bits(loud.get_state())
    assert quiet.trained == loud.trained


@pytest.mark.parametrize("kind", [RoundStarted, Try, Round])
def test_a_callback_that_raises_leaves_everything_as_before_the_round(kind: type) -> None:
    def refuse(event: Any) -> None:
        if isinstance(event, kind) and adapter.epoch == 5:
            raise RuntimeError("disk full")

    chosen = toy_settings(randomness="independent")
    trainer, twin = Toy(1), Toy(1)
    adapter = chosen.adapter(trainer, callbacks=[refuse])
    adapter.step()
    before, state = adapter.state_dict(), bits(trainer.get_state())
    with pytest.raises(RuntimeError, match="disk full"):
        adapter.step()
    assert adapter.state_dict() == before
    assert bits(trainer.get_state()) == state
    adapter.callbacks = ()
    adapter.run(20)
    chosen.adapter(twin).run(20)
    assert bits(trainer.get_state()) == bits(twin.get_state())
