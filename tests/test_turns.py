"""Turns: one at a time, all others are refused, and a turn ends with its holder."""

from __future__ import annotations

import copy
import pickle

import pytest

from dynhp.errors import LoopError, StateLost
from dynhp.turns import OneAtATime
from tests.support.messages import raises


def test_a_guard_travels() -> None:
    guard = OneAtATime()
    turn = guard.enter()
    for other in (copy.deepcopy(guard), pickle.loads(pickle.dumps(guard))):
        other.enter()  # a copy belongs to another adapter, which is not under way
    with pytest.raises(LoopError):
        guard.require_free()
    del turn
    guard.require_free()  # whose holder is gone has left


def test_a_turn_that_is_refused_is_refused_in_these_words() -> None:
    guard = OneAtATime()
    guard.leave()  # nobody has a turn: nothing happens
    turn = guard.enter()
    with raises(LoopError):
        guard.enter()
    guard.leave()
    assert guard.enter() is not turn


def test_who_lost_a_state_gets_no_turn() -> None:
    guard = OneAtATime()
    with raises(StateLost), guard.enter():
        raise StateLost("what it holds is unknown")
    with raises(StateLost):
        guard.enter()


def test_two_that_come_at_once_do_not_both_get_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the other thread came right after the first look."""
    guard = OneAtATime()
    looks: list[object] = []
    turns = []

    def require_free(self: OneAtATime) -> None:
        looks.append(self)
        if len(looks) == 1:
            turns.append(self.enter())
        elif len(looks) == 3:
            look(self)

    look = OneAtATime.require_free
    monkeypatch.setattr(OneAtATime, "require_free", require_free)
    with pytest.raises(LoopError):
        guard.enter()
    assert len(turns) == 1
