"""What a saved state says of the main line: states that are held and a way back, or a refusal."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from dynhp import DynamicGridAdapter, lowest
from dynhp.errors import SettingsError
from dynhp.main_line import Snapshots
from dynhp.triggers import OnPlateau
from tests.support.reference import Toy

NEVER = "damaged .ValueError: the main line was never held, or put back, like this"
HELD = {"epoch": 2, "state": None}
BACK = {"epoch": 2, "because": "a spike"}


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
@pytest.mark.parametrize(("name", "whole"), [("held", [HELD]), ("growing", [HELD]), ("back", BACK)])
def test_an_epoch_that_is_none_is_refused(name: str, whole: Any, number: Any) -> None:
    damaged = copy.deepcopy(whole)
    (damaged[0] if isinstance(damaged, list) else damaged)["epoch"] = number
    assert_refused({name: damaged}, NEVER)


@pytest.mark.parametrize(
    "main_line",
    [
        {"held": [{"epoch": 2, "because": "a spike"}]},
        {"growing": [HELD, {"epoch": 4}]},
        {"back": {"epoch": 2, "state": None}},
        {"held": [HELD], "back": HELD},  # equal, and yet not the same thing
    ],
)
def test_a_part_that_is_missing_is_refused(main_line: Any) -> None:
    assert_refused(copy.deepcopy(main_line), NEVER)


def assert_refused(main_line: dict[str, Any], message: str) -> None:
    adapter = adapter_that_holds()
    saved = adapter.state_dict()
    with pytest.raises(SettingsError, match=message):
        adapter.load_state_dict({**saved, "main_line": main_line})
    assert adapter.state_dict() == saved


def test_snapshots_are_compared_only_where_they_are_used() -> None:
    unusual = Snapshots(k=3, every=2)
    saved = adapter_that_holds(snapshots=unusual).state_dict()
    with pytest.raises(SettingsError, match="snapshots: saved Snapshots"):
        adapter_that_holds().load_state_dict(saved)
    adapter_that_holds(snapshots=unusual).load_state_dict(saved)
