"""Ctrl-C on any line of a round: the run that goes on afterwards is the undisturbed one."""

from __future__ import annotations

import sys
from typing import Any

import pytest

import dynhp.adapter
from dynhp import DynamicGridAdapter, Neighbors, lowest
from dynhp.engine import Memory
from dynhp.testing import NoisyQuadratic
from tests.support.reference import bits, without_times

EPOCHS = 9


def made() -> DynamicGridAdapter:
    return DynamicGridAdapter(
        NoisyQuadratic(),
        {"lr": [0.01, 0.1, 0.3]},
        criterion=lowest("loss"),
        adapt_every=3,
        try_for=1,
        proposer=Neighbors(),
    )


class Interrupt:
    """Raises KeyboardInterrupt when so many lines of the adapter have been run, as a signal may."""

    def __init__(self, after: int) -> None:
        self.left = after

    def __call__(self, frame: Any, event: str, argument: Any) -> Any:
        if frame.f_code.co_filename != dynhp.adapter.__file__:
            return None
        if event == "line":
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt
        return self


def run_interrupted(adapter: DynamicGridAdapter, after: int) -> bool:
    before = sys.gettrace()
    sys.settrace(Interrupt(after))
    try:
        adapter.run(EPOCHS)
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


@pytest.mark.many
def test_on_any_line() -> None:
    undisturbed = made()
    undisturbed.run(EPOCHS)
    lines = 0
    for after in range(1, 10_000):
        adapter = made()
        if not run_interrupted(adapter, after):
            break
        lines += 1
        # What is recorded and what is in force agree, whenever it came.
        expected = adapter.history[-1].candidate if adapter.history else {"lr": 0.1}
        assert adapter.current == expected
        adapter.run(EPOCHS)
        assert without_times(adapter.history) == without_times(undisturbed.history)
        assert bits(adapter.trainer.get_state()) == bits(undisturbed.trainer.get_state())
    assert lines > 50


def test_an_interrupt_right_after_a_round_was_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    def finish(memory: Memory) -> None:
        monkeypatch.undo()
        raise KeyboardInterrupt

    undisturbed, adapter = made(), made()
    undisturbed.run(EPOCHS)
    monkeypatch.setattr(adapter.driver, "finish", finish)
    with pytest.raises(KeyboardInterrupt):
        adapter.run(EPOCHS)
    assert len(adapter.history) == 1
    adapter.run(EPOCHS)
    assert without_times(adapter.history) == without_times(undisturbed.history)
    assert bits(adapter.trainer.get_state()) == bits(undisturbed.trainer.get_state())
