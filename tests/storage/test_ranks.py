"""Ranks that were killed at different moments go on from what all of them have saved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dynhp import DynamicGridAdapter, lowest
from dynhp.errors import CheckpointError
from dynhp.storage.checkpoint import checkpoints, resume, run_with_checkpoints
from dynhp.storage.log import newest_of_all
from dynhp.testing import NoisyQuadratic
from dynhp.trainer import Agrees
from tests.support.killing import Killed
from tests.support.messages import raises


class Ranked(NoisyQuadratic):
    """One of two ranks; what the other says is given."""

    def __init__(self, other: Any = lambda said: said, calls: int | None = None) -> None:
        super().__init__(seed=1)
        self.other = other
        self.calls = calls
        self.heard: list[Any] = []
        self.trained = 0

    def agree(self, said: Any) -> list[Any]:
        self.heard.append(said)
        return [said, self.other(said)]

    def train_k(self, k: int, hyperparameters: Any) -> None:
        if self.trained == self.calls:
            raise Killed
        self.trained += 1
        super().train_k(k, hyperparameters)


def adapter_of(trainer: Any) -> DynamicGridAdapter:
    return DynamicGridAdapter(
        trainer,
        {"lr": [0.05, 0.1, 0.3]},
        criterion=lowest("loss"),
        adapt_every=4,
        try_for=1,
        check="off",
    )


def without_the_newest(said: Any) -> Any:
    return said[1:] if isinstance(said, list) else said


@pytest.mark.parametrize(
    ("ranks", "newest"),
    [([[4, 3], [3, 2]], 3), ([[2], [2, 1]], 2), ([[0], []], None), ([[], []], None), ([[7]], 7)],
)
def test_the_newest_that_all_have(ranks: Any, newest: int | None) -> None:
    assert newest_of_all(ranks, "folder") == newest


@pytest.mark.parametrize("ranks", [[[4], [3]], [[4, 3], []], [[1, 0], [5]]])
def test_ranks_that_have_nothing_in_common_are_told(ranks: Any) -> None:
    with raises(CheckpointError):
        newest_of_all(ranks, "mine")


def test_a_checkpoint_that_another_rank_has_not_is_not_used(tmp_path: Path) -> None:
    assert isinstance(Ranked(), Agrees)
    with checkpoints(tmp_path, adapter_of(Ranked())) as begun:
        for round_ in begun.rounds(16):
            if round_.index == 1:
                break
    assert (tmp_path / "checkpoint-00000002.zip").exists()
    trainer = Ranked(without_the_newest)
    history = resume(tmp_path, adapter_of(trainer))
    assert trainer.heard[0] == [2, 1]
    assert trainer.trained == 3 * (3 + 1)  # all but the first of four rounds
    assert history == adapter_of(NoisyQuadratic(seed=1)).run(16)


def test_what_one_rank_alone_had_saved_is_given_up(tmp_path: Path) -> None:
    with checkpoints(tmp_path, adapter_of(Ranked())) as begun:
        begun.run(12)
    trainer = Ranked(without_the_newest)
    adapter = adapter_of(trainer)
    trainer.calls = 0
    with pytest.raises(Killed):  # another plan: the checkpoint of this round is written again
        run_with_checkpoints(adapter, 20, checkpoint=tmp_path, keep=1)
    assert [path.name for path in tmp_path.glob("*.zip")] == ["checkpoint-00000002.zip"]
    assert trainer.heard[0] == [3, 2]
    assert run_with_checkpoints(adapter_of(Ranked()), 20, checkpoint=tmp_path).epochs == 20


def test_where_another_rank_has_not_begun_all_begin(tmp_path: Path) -> None:
    with pytest.raises(Killed):
        run_with_checkpoints(adapter_of(Ranked(calls=0)), 8, checkpoint=tmp_path)
    assert [path.name for path in tmp_path.glob("*.zip")] == ["checkpoint-00000000.zip"]
    with raises(CheckpointError):
        resume(tmp_path, adapter_of(Ranked(without_the_newest)))
    trainer = Ranked(without_the_newest)
    assert run_with_checkpoints(adapter_of(trainer), 8, checkpoint=tmp_path).epochs == 8


@pytest.mark.parametrize("knows", [True, False])
def test_a_try_is_replayed_only_if_all_ranks_know_it(knows: bool, tmp_path: Path) -> None:
    with pytest.raises(Killed):
        run_with_checkpoints(adapter_of(Ranked(calls=2)), 4, checkpoint=tmp_path)
    trainer = Ranked(lambda said: said if isinstance(said, list) else said and knows)
    history = run_with_checkpoints(adapter_of(trainer), 4, checkpoint=tmp_path)
    assert trainer.trained == (2 if knows else 4)
    assert trainer.heard == ([[0], None, True, True, False] if knows else [[0], None, True])
    assert history == adapter_of(NoisyQuadratic(seed=1)).run(4)


def test_what_one_rank_distrusts_all_refuse(tmp_path: Path) -> None:
    run_with_checkpoints(adapter_of(Ranked()), 8, checkpoint=tmp_path)

    def distrusts(said: Any) -> Any:
        return "ValueNotInForce: lr" if said is None else said

    with raises(CheckpointError):
        run_with_checkpoints(adapter_of(Ranked(distrusts)), 12, checkpoint=tmp_path)
    assert run_with_checkpoints(adapter_of(Ranked()), 12, checkpoint=tmp_path).epochs == 12
