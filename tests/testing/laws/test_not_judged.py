"""States that cannot be copied or compared, and results that are never the same twice."""

from __future__ import annotations

import random
import threading
from collections.abc import Mapping
from typing import Any

import pytest

from dynhp.errors import LawBroken
from dynhp.records import Value
from dynhp.testing import NoisyQuadratic, check_trainer, difference, trainer_checks
from dynhp.testing.laws.check import verdicts
from dynhp.testing.laws.experiments import copy_of, generators_put_back
from tests.support.doubles import BROKEN, SPACE
from tests.support.messages import raises


def test_what_restore_breaks_is_not_blamed_on_others() -> None:
    make, _ = BROKEN["uses numpy's global generator"]
    notes = {verdict.law: verdict.notes for verdict in verdicts(make, SPACE)}
    for law in ("composition", "purity", "force"):
        assert "see restore" in notes[law][0]


class Sealed:
    """A state that can be neither copied nor compared nor pickled, as of a compiled thing."""

    def __init__(self, state: Any) -> None:
        self.state, self.lock = state, threading.Lock()


class KeepsSealed(NoisyQuadratic):
    def get_state(self) -> Any:
        return Sealed(super().get_state())

    def set_state(self, state: Any) -> None:
        super().set_state(state.state)


class WritesIntoSealed(KeepsSealed):
    def set_state(self, state: Any) -> None:
        super().set_state(state)
        self.sealed = state

    def train_k(self, k: int, hyperparameters: Mapping[str, Value]) -> None:
        super().train_k(k, hyperparameters)
        if hasattr(self, "sealed"):
            self.sealed.state = super().get_state().state


def test_states_that_allow_nothing_are_judged_by_behaviour() -> None:
    report = check_trainer(KeepsSealed, SPACE)
    note, isolation = (note for verdict in report.verdicts for note in verdict.notes)
    assert isolation == "not judged: the state can be neither deep-copied nor pickled"
    assert "cannot be pickled (TypeError: cannot pickle '_thread.lock' object)" in note
    with raises(LawBroken):
        check_trainer(WritesIntoSealed, SPACE)


class OnlyPickles:
    def __init__(self) -> None:
        self.items = [1]

    def __deepcopy__(self, memo: object) -> Any:
        raise TypeError("no")


@pytest.mark.parametrize("state", [OnlyPickles(), {"items": [1], "function": lambda: None}])
def test_a_state_is_copied_in_the_way_it_allows(state: Any) -> None:
    copied = copy_of(state)
    assert copied is not state
    items = copied["items"] if isinstance(copied, dict) else copied.items
    items.append(2)
    assert difference(state, copied) is not None


class EqualToAll:
    """A state that compares equal to anything, but copies well."""

    def __init__(self, state: Any) -> None:
        self.state = state

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]


class WritesIntoEqualToAll(NoisyQuadratic):
    def get_state(self) -> Any:
        return EqualToAll(super().get_state())

    def set_state(self, state: Any) -> None:
        self.last = state
        super().set_state(state.state)

    def train_k(self, k: int, hyperparameters: Mapping[str, Value]) -> None:
        super().train_k(k, hyperparameters)
        if hasattr(self, "last"):
            self.last.state = super().get_state()


def test_isolation_is_judged_by_behaviour_where_looking_does_not_help() -> None:
    with raises(LawBroken):
        dict(trainer_checks(WritesIntoEqualToAll, SPACE))["isolation"]()


def test_global_generators_are_left_as_they_were() -> None:
    wanted = random.getstate()
    with generators_put_back():
        random.random()
    assert random.getstate() == wanted
