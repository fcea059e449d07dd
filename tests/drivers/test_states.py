"""The table of states: copied only where they are needed, and the way back."""

from __future__ import annotations

from typing import Any

import pytest

from dynhp.drivers import StateTable
from dynhp.errors import StateLost
from dynhp.executors.contract import UNKNOWN_STATE
from dynhp.snapshots import InMemory
from tests.support.messages import raises
from tests.support.reference import Diary


class Reseeded(Diary):
    """Writes down seeds too."""

    def reseed(self, seed: int) -> None:
        self.calls.append(f"seed {seed}")
        self.diary = (*self.diary, f"seed {seed}")


def table_of(*values: Any) -> tuple[StateTable, Reseeded]:
    trainer = Reseeded(dict.fromkeys(range(9), 0.0))
    table = StateTable(trainer, InMemory())
    for value in values:
        train(table, trainer, value)
    trainer.calls.clear()
    return table, trainer


def train(table: StateTable, trainer: Diary, value: Any) -> None:
    table.leave()
    trainer.train_k(1, {"x": value})


def test_a_state_is_copied_when_the_trainer_leaves_it_and_not_before() -> None:
    table, trainer = table_of()
    start = table.snapshot()
    assert table.snapshot() == start  # it is the same state
    assert (trainer.calls, len(table)) == ([], 0)
    train(table, trainer, 1)
    assert (trainer.calls, len(table)) == (["get", "train 1 1"], 1)
    assert table.here is None
    table.restore(start)
    assert (trainer.diary, table.here) == ((), start)


def test_a_state_that_is_not_wanted_is_never_copied() -> None:
    table, trainer = table_of()
    start = table.snapshot()
    table.drop(start)
    train(table, trainer, 1)
    assert trainer.calls == ["train 1 1"]
    with raises(KeyError):
        table.get(start)


def test_the_state_that_the_trainer_is_in_is_not_restored() -> None:
    table, trainer = table_of()
    start = table.snapshot()
    table.restore(start)
    assert trainer.calls == []
    table.restore(start, seed=7)  # but it is seeded, and no longer the same state
    assert trainer.calls == ["get", "seed 7"]
    assert table.here is None
    table.restore(start)
    assert trainer.diary == ()


def test_the_state_that_the_trainer_is_in_can_be_seen_once_it_was_copied() -> None:
    table, trainer = table_of()
    assert table.here_state() is UNKNOWN_STATE
    start = table.snapshot()
    assert table.here_state() is UNKNOWN_STATE
    assert table.get(start) == () == table.here_state()
    assert table.get(start) is table.get(start)
    assert trainer.calls == ["get"]


def test_what_comes_from_elsewhere_is_forgotten_unless_it_is_kept() -> None:
    table, trainer = table_of()
    kept, lost = table.new_name(), table.new_name()
    assert kept != lost
    table.put(kept, ("far", 1))
    table.put(lost, ("far", 2))
    table.keep(kept)
    assert len(table) == 2
    train(table, trainer, 1)
    assert len(table) == 1
    table.restore(kept)
    assert trainer.diary == ("far", 1)
    adopted = table.adopt(("far", 3))
    train(table, trainer, 1)
    assert table.get(adopted) == ("far", 3)


def test_the_state_in_which_a_round_began_stays_until_it_has_ended() -> None:
    table, trainer = table_of(1)
    table.begin_round()
    entry = table.snapshot()
    train(table, trainer, 2)
    table.drop(entry)
    table.undo_round((), KeyboardInterrupt())
    assert (trainer.diary, table.here, len(table)) == ((1,), entry, 0)


def test_a_round_that_never_left_its_beginning_is_undone_without_a_copy() -> None:
    table, trainer = table_of(1)
    table.begin_round()
    table.undo_round((), KeyboardInterrupt())
    assert trainer.calls == []


def test_a_beginning_that_was_never_copied_is_lost() -> None:
    table, trainer = table_of(1)
    table.begin_round()
    trainer.train_k(1, {"x": 2})  # behind the table's back
    table.here = None
    failure = ValueError("no")
    with raises(StateLost) as caught:
        table.undo_round((), failure)
    assert caught.value.__cause__ is failure


def test_after_a_round_only_states_that_are_needed_are_held() -> None:
    table, trainer = table_of()
    table.begin_round()
    first = table.snapshot()
    train(table, trainer, 1)
    second = table.snapshot()
    train(table, trainer, 2)
    third = table.snapshot()
    table.hold(third)
    train(table, trainer, 3)
    assert len(table) == 3
    table.end_round({second, third})
    assert len(table) == 2
    assert (table.get(second), table.get(third)) == ((1,), (1, 2))
    with pytest.raises(KeyError):
        table.get(first)
    table.end_round(())
    assert len(table) == 0


class Counting(InMemory):
    """Counts what it is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.got = 0

    def get(self, key: int) -> Any:
        self.got += 1
        return super().get(key)


def test_a_state_that_is_held_is_in_the_store_alone() -> None:
    trainer, store = Diary({1: 0.0}), Counting()
    table = StateTable(trainer, store)
    table.begin_round()
    train(table, trainer, 1)
    held = table.snapshot()
    table.hold(held)
    table.hold(held)  # once is enough
    assert len(store) == 1
    train(table, trainer, 1)
    assert (trainer.calls.count("get"), store.got) == (2, 0)  # the beginning, and what is held
    table.restore(held)
    assert (trainer.diary, store.got) == ((1,), 1)
    table.drop(held)
    assert len(store) == 0
    table.drop(held)


def test_a_round_that_begins_in_a_state_that_is_held_and_then_dropped_is_undone() -> None:
    table, trainer = table_of(1)
    table.begin_round()
    entry = table.snapshot()
    table.hold(entry)
    train(table, trainer, 2)
    table.drop(entry)
    assert len(table) == 1
    table.undo_round((), KeyboardInterrupt())
    assert trainer.diary == (1,)
