"""The states that a saved state says are held: taken as they are, or refused."""

from __future__ import annotations

from typing import Any

import pytest

from dynhp import DynamicGridAdapter, lowest
from dynhp.errors import SettingsError
from dynhp.snapshots import Snapshots
from dynhp.triggers import OnPlateau
from tests.support.messages import raises
from tests.support.reference import Toy, bits


def adapter_that_holds(**changes: Any) -> DynamicGridAdapter:
    settings: dict[str, Any] = {
        "criterion": lowest("loss"),
        "try_for": 1,
        "when": OnPlateau("loss", patience=50),
        "start_from": "before",
        "max_rounds": 4,
    }
    return DynamicGridAdapter(Toy(), {"lr": [0.01, 0.1]}, epochs=40, **(settings | changes))


@pytest.mark.parametrize("number", ["2", 2.0, True, -1, None])
def test_an_epoch_that_is_none_is_refused(number: Any) -> None:
    assert_refused([{"epoch": number, "score": None, "state": None}])


@pytest.mark.parametrize("missing", ["epoch", "score", "state"])
def test_a_part_that_is_missing_is_refused(missing: str) -> None:
    whole = {"epoch": 2, "score": None, "state": None}
    del whole[missing]
    assert_refused([whole])


@pytest.mark.parametrize("held", [{}, None, 3, "none"])
def test_what_is_not_a_list_is_refused(held: Any) -> None:
    assert_refused(held)


def assert_refused(held: Any) -> None:
    adapter = adapter_that_holds()
    saved = adapter.state_dict()
    with raises(SettingsError):
        adapter.load_state_dict({**saved, "held": held})
    assert adapter.state_dict() == saved


def test_states_that_are_held_are_held_again_in_a_new_adapter() -> None:
    adapter = adapter_that_holds(snapshots=Snapshots(k=2, every=3))
    adapter.run(10)
    saved = adapter.state_dict()
    assert [each["epoch"] for each in saved["held"]] == [6, 9]
    again = adapter_that_holds(snapshots=Snapshots(k=2, every=3))
    again.load_state_dict(saved)
    assert bits(again.state_dict()["held"]) == bits(saved["held"])
    assert [(each.epoch, each.score) for each in again.memory.held] == [
        (each.epoch, each.score) for each in adapter.memory.held
    ]
    assert len(again.table) == 2


def test_snapshots_are_compared_only_where_they_are_used() -> None:
    unusual = Snapshots(k=3, every=2)
    saved = adapter_that_holds(snapshots=unusual).state_dict()
    with raises(SettingsError):
        adapter_that_holds().load_state_dict(saved)
    adapter_that_holds(snapshots=unusual).load_state_dict(saved)
