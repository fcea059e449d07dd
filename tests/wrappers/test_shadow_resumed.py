"""A run with a shadow is saved and resumed like any other, both of its lines."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from dynhp import DynamicGridAdapter, Shadow, lowest
from dynhp.errors import CheckpointError, ValueNotUsed
from dynhp.storage import run_with_checkpoints
from dynhp.storage.journal import read_journal
from dynhp.testing import NoisyQuadratic
from dynhp.triggers import OnPlateau
from dynhp.wrappers.shadow import Delivery
from tests.support.messages import raises


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


class Bursts(NoisyQuadratic):
    """Its adapted line raises in its second round, after the tries."""

    def train_k(self, k: int, hyperparameters: Mapping[str, Any]) -> None:
        super().train_k(k, hyperparameters)
        if self.steps > 7 and hyperparameters["lr"] == 0.1:
            raise ValueError("burst")


def test_a_line_that_failed_has_the_same_cost_when_it_is_started_again(tmp_path: Path) -> None:
    """The tries of the round that failed are in the folder, and are not carried out again."""
    deliveries = []
    for _ in range(2):
        adapter = DynamicGridAdapter(
            Bursts(),
            {"lr": [0.01, 0.1]},
            minimize="loss",
            adapt_every=5,
            try_for=2,
            initial={"lr": 0.01},
        )
        run = Shadow(adapter, criterion=lowest("loss"))
        deliveries.append(run_with_checkpoints(run, 20, checkpoint=tmp_path))
    assert deliveries[0].adapted_error == "ValueError: burst"
    assert len(deliveries[0].adapted) == 1
    assert deliveries[0].cost == deliveries[1].cost


@pytest.mark.parametrize(
    ("settings", "epochs"),
    [
        ({"adapt_every": 5}, (3, 20)),
        ({"when": OnPlateau("loss", patience=2)}, (60, 90)),
    ],
)
def test_a_longer_run_goes_on_with_both_lines(
    settings: dict[str, Any], epochs: tuple[int, int], tmp_path: Path
) -> None:
    for planned in epochs:
        adapter = DynamicGridAdapter(
            NoisyQuadratic(),
            {"lr": [0.1, 0.5]},
            minimize="loss",
            try_for=2,
            initial={"lr": 0.1},
            **settings,
        )
        run = Shadow(adapter, criterion=lowest("loss"))
        delivery = run_with_checkpoints(run, planned, checkpoint=tmp_path)
    assert delivery.adapted.epochs == delivery.shadow.epochs == epochs[1]


class Deaf(NoisyQuadratic):
    """Uses no value that it is given."""

    def step(self, lr: float, momentum: float) -> None:
        super().step(0.05, momentum)


def test_the_shadow_of_a_trainer_that_broke_its_promise_is_not_compared_with(
    tmp_path: Path,
) -> None:
    broken = shadow()
    broken.adapter.trainer.__class__ = Deaf
    with pytest.raises(ValueNotUsed):
        run_with_checkpoints(broken, 20, checkpoint=tmp_path)
    with raises(CheckpointError):
        run_with_checkpoints(shadow(), 20, checkpoint=tmp_path)


def test_the_lines_are_in_folders_of_their_own_and_the_journal_is_that_of_the_adapted_one(
    tmp_path: Path,
) -> None:
    run, journal = shadow(), tmp_path / "run.jsonl"
    delivery = run_with_checkpoints(run, 20, checkpoint=tmp_path / "saved", journal=journal)
    assert outcome(run, delivery) == whole()
    assert sorted(path.name for path in (tmp_path / "saved").iterdir()) == ["adapted", "shadow"]
    assert read_journal(journal).history == delivery.adapted
