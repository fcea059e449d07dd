"""A trainer that refuses the saved state leaves its adapter as it was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dynhp import DynamicGridAdapter
from dynhp.errors import CheckpointError
from dynhp.storage import run_with_checkpoints
from dynhp.testing import NoisyQuadratic
from tests.support.messages import raises


class Larger(NoisyQuadratic):
    """Takes no state of another size."""

    def set_state(self, state: Any) -> None:
        if state["weights"].size != self.weights.size:
            raise ValueError("another size")
        super().set_state(state)


def adapter_around(trainer: NoisyQuadratic) -> DynamicGridAdapter:
    return DynamicGridAdapter(
        trainer, {"lr": [0.01, 0.1]}, minimize="loss", adapt_every=4, try_for=1
    )


def test_the_adapter_is_as_before(tmp_path: Path) -> None:
    run_with_checkpoints(adapter_around(NoisyQuadratic()), 8, checkpoint=tmp_path)
    adapter = adapter_around(Larger(dimensions=5))
    before = adapter.trainer.get_state()
    with raises(CheckpointError) as caught:
        run_with_checkpoints(adapter, 12, checkpoint=tmp_path)
    assert isinstance(caught.value.__cause__, ValueError)
    assert (adapter.epoch, len(adapter.history)) == (0, 0)
    assert repr(adapter.trainer.get_state()) == repr(before)
    assert adapter.run(4).epochs == 4


class Interrupted(NoisyQuadratic):
    """Somebody presses a key while it takes its state."""

    def set_state(self, state: Any) -> None:
        if state["steps"]:
            raise KeyboardInterrupt
        super().set_state(state)


def test_an_interrupt_stays_one(tmp_path: Path) -> None:
    run_with_checkpoints(adapter_around(NoisyQuadratic()), 8, checkpoint=tmp_path)
    with pytest.raises(KeyboardInterrupt):
        run_with_checkpoints(adapter_around(Interrupted()), 12, checkpoint=tmp_path)
