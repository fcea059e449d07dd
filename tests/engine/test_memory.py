"""The memory between two rounds: what it is made of."""

from __future__ import annotations

import pytest

from dynhp.engine.memory import Held, Memory, StateRef
from dynhp.records import Candidate


@pytest.mark.parametrize("checked", [False, True])
def test_a_memory_knows_whether_its_process_has_checked_itself(checked: bool) -> None:
    memory = Memory.of([], current=Candidate({"x": 0}), generator={}, checked=checked)
    assert memory.checked is checked


def test_the_states_that_are_held_must_stay() -> None:
    held = [Held(epoch, 0.0, StateRef(10 + epoch)) for epoch in (0, 1)]
    memory = Memory.of([], current=Candidate({"x": 0}), generator={}, held=held)
    assert memory.refs == {10, 11}
    assert not memory._replace(held=()).refs
