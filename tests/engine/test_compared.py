"""The jobs of tries: after which the state at the end of the tail is asked for."""

from __future__ import annotations

from typing import Any

import pytest

from dynhp import DynamicGridAdapter, lowest
from dynhp.engine.commands import Announce, Snapshot
from dynhp.engine.memory import StateRef
from tests.support.losses import Thirds
from tests.support.reference import Diary

RESTARTS = {"keep": "value", "then": lambda values, _: values}  # no state of a try is needed


@pytest.mark.parametrize(
    ("settings", "compared"),
    [
        ({"tail": Thirds(), "check": "every"}, True),
        ({"tail": Thirds(), "check": "off"}, False),
        ({"tail": Thirds(), "check": "every", **RESTARTS}, False),
        ({"check": "every"}, False),
        ({"check": "every", **RESTARTS}, False),
        ({"check": "off"}, False),
    ],
)
def test_the_end_of_a_tail_is_compared_if_the_round_is_checked_and_the_state_before_it_is_kept(
    settings: dict[str, Any], compared: bool
) -> None:
    adapter = DynamicGridAdapter(
        Diary({1: 2.0, 2: 1.0, 3: 3.0}),
        {"x": [1, 2, 3]},
        criterion=lowest("loss"),
        adapt_every=6,
        try_for=2,
        **settings,
    )
    commands = adapter.commands()
    command = next(commands)
    while not isinstance(command, Announce):
        command = commands.send(StateRef(0) if isinstance(command, Snapshot) else None)
    assert [job.compared for job in command.jobs] == [compared] * 3
