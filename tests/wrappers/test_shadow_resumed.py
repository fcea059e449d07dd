"""A run with a shadow is saved and resumed like any other, both of its lines."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dynhp import DynamicGridAdapter, Shadow, lowest
from dynhp.storage import run_with_checkpoints
from dynhp.storage.journal import read_journal
from dynhp.testing import NoisyQuadratic
from dynhp.wrappers.shadow import Delivery


class Killed(BaseException):
    """As a kill would: nothing catches it."""


class Mortal(NoisyQuadratic):
    """Dies at one of its calls of ``train_k``."""

    def __init__(self, dies_at: int | None = None) -> None:
        super().__init__()
        self.calls = 0
        self.dies_at = dies_at

    def train_k(self, k: int, hyperparameters: Mapping[str, Any]) -> None:
        self.calls += 1
        if self.calls == self.dies_at:
            raise Killed
        super().train_k(k, hyperparameters)


def shadow(dies_at: int | None = None) -> Shadow:
    adapter = DynamicGridAdapter(
        Mortal(dies_at),
        {"lr": [0.1, 0.5, 1.5]},
        criterion=lowest("loss"),
        adapt_every=5,
        try_for=2,
        initial={"lr": 0.1},
    )
    return Shadow(adapter, criterion=lowest("loss"))


def outcome(run: Shadow, delivery: Delivery) -> tuple[Any, ...]:
    scores = (delivery.adapted_score, delivery.shadow_score)
    state: Any = run.adapter.trainer.get_state()
    end = {name: repr(part) for name, part in state.items()}
    return (delivery.delivered, delivery.adapted, delivery.shadow, scores, end)


def whole() -> tuple[Any, ...]:
    run = shadow()
    return outcome(run, run.run(20))


def test_killed_in_either_line_it_ends_as_if_nothing_had_happened(tmp_path: Path) -> None:
    uninterrupted, dies_at, died = whole(), 0, True
    while died:
        dies_at += 1
        folder = tmp_path / str(dies_at)
        try:
            run_with_checkpoints(shadow(dies_at), 20, checkpoint=folder)
            died = False
        except Killed:
            run = shadow()
            delivery = run_with_checkpoints(run, 20, checkpoint=folder)
            assert outcome(run, delivery) == uninterrupted, dies_at
    assert dies_at > 30


def test_the_lines_are_in_folders_of_their_own_and_the_journal_is_that_of_the_adapted_one(
    tmp_path: Path,
) -> None:
    run, journal = shadow(), tmp_path / "run.jsonl"
    delivery = run_with_checkpoints(run, 20, checkpoint=tmp_path / "saved", journal=journal)
    assert outcome(run, delivery) == whole()
    assert sorted(path.name for path in (tmp_path / "saved").iterdir()) == ["adapted", "shadow"]
    assert read_journal(journal).history == delivery.adapted
