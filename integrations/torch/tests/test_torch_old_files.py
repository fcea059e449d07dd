"""Checkpoints that hold tensors, written before the modules moved, are read and gone on with."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from dynhp import DynamicGridAdapter, OneAxis, lowest
from dynhp.planning.schedule import Schedule, replay
from dynhp.storage.codecs import decode, encode
from dynhp_torch.example import example
from tests.support.killing import MortalTrainer
from tests.support.old_files import OLD, digest, end_after, end_of, gone_on_with
from tests.support.old_runs import EPOCHS

ARCHIVES = sorted((OLD / "torch").rglob("*.zip"))


@pytest.fixture(autouse=True)
def _global_generator() -> None:
    torch.manual_seed(99)  # the state of the global generator comes from the checkpoint


def made() -> DynamicGridAdapter:
    make, space = example()
    return DynamicGridAdapter(
        MortalTrainer(make()),
        space,
        criterion=lowest("val_loss"),
        adapt_every=4,
        try_for=1,
        proposer=OneAxis(),
        check="off",  # that run knew of none
    )


def require_the_same_machine() -> None:
    """Other versions and processors add up in another order, so the last bits are others."""
    cpu = torch.backends.cpu.get_cpu_capability()
    here = {"torch": torch.__version__, "numpy": np.__version__, "cpu": cpu}
    before = end_of("torch")["machine"]
    if here != before:
        pytest.skip(f"the bits were made with {before}, here is {here}")


@pytest.mark.parametrize("where", ["between", "middle"])
def test_an_old_checkpoint_is_gone_on_with_to_the_same_end(where: str, tmp_path: Path) -> None:
    end, expected = gone_on_with("torch", where, made(), tmp_path), end_after("torch", where)
    assert end["history"][:2] == expected["history"][:2]
    assert end["calls"] == expected["calls"]
    require_the_same_machine()
    assert end == expected


def test_an_old_schedule_is_replayed_to_the_same_weights() -> None:
    schedule = Schedule.from_json((OLD / "torch" / "schedule.json").read_text())
    torch.manual_seed(3)
    trainer = made().trainer
    assert replay(schedule, trainer).epochs == EPOCHS
    require_the_same_machine()
    assert digest(trainer.get_state()) == end_of("torch")["replayed"]


@pytest.mark.parametrize("path", ARCHIVES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_an_old_archive_is_written_again_to_the_last_byte(path: Path) -> None:
    data = path.read_bytes()
    assert encode(decode(data)) == data


def test_modules_optimisers_and_tensors_are_among_what_is_on_file() -> None:
    assert len(ARCHIVES) == 4
    text = ARCHIVES[0].read_bytes()
    for name in ("torch.module", "torch.optimizer", "torch.tensor", "torch.memory", "torch.dtype"):
        assert f'{{"$codec":["{name}",'.encode() in text
