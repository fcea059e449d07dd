"""Runs that are checked and killed: each process checks for itself, and the end is the same."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from dynhp import spent
from dynhp.errors import CheckpointError, NotRepeatable
from dynhp.records import Value
from dynhp.storage import run_with_checkpoints
from dynhp.testing import NoisyQuadratic
from tests.support.killing import Killed, MortalTrainer
from tests.support.messages import raises
from tests.support.resuming import CASES, EPOCHS, adapter_of, mortal, run_on


@pytest.mark.many
@pytest.mark.parametrize(
    "name", ["grid", "racing", "waves", "racing waves", "value", "placebo", "tail", "ladder"]
)
@pytest.mark.parametrize("check", ["first", "every"])
def test_a_checked_run_that_is_killed_anywhere_ends_the_same(
    name: str, check: str, tmp_path: Path
) -> None:
    case = {**CASES[name], "check": check}
    whole = mortal(case)
    wanted = adapter_of(whole, case).run(EPOCHS)
    assert spent(wanted).total == sum(k for k, _ in whole.asked)
    for calls in range(1, whole.calls, 2):
        folder = tmp_path / str(calls)
        folder.mkdir()
        with pytest.raises(Killed):
            run_on(folder, case, calls)
        _, history = run_on(folder, case)
        assert history == wanted


def test_a_process_that_has_replayed_tries_also_checks_a_round_of_its_own(tmp_path: Path) -> None:
    case = {**CASES["grid"], "check": "first"}
    with pytest.raises(Killed):
        run_on(tmp_path, case, 8 + 4)  # all tries, and the repeats, but not the stretch
    trainer, history = run_on(tmp_path, case)
    assert [k for k, _ in trainer.asked[:5]] == [1] * 4 + [2]  # the repeats again, and the stretch
    assert [round_.checked for round_ in history] == [4, 4, 0, 0]


class LeaksLate(NoisyQuadratic):
    """Something outside the state changes training, but only after some calls in a process."""

    calls = 0

    def train_k(self, k: int, hyperparameters: Mapping[str, Value]) -> None:
        super().train_k(k, hyperparameters)
        self.calls += k > 0
        if k and self.calls > 5:
            self.weights = self.weights + 0.01 * self.calls


@pytest.mark.parametrize("calls", range(1, 14))
def test_no_kill_lets_a_leak_pass_that_shows_only_after_some_calls(
    calls: int, tmp_path: Path
) -> None:
    case = {**CASES["grid"], "check": "first"}

    def run(left: int | None) -> None:
        adapter = adapter_of(MortalTrainer(LeaksLate(noise=0.5, seed=4), left), case)
        run_with_checkpoints(adapter, EPOCHS, checkpoint=tmp_path)

    with pytest.raises((Killed, NotRepeatable)):
        run(calls)
    with pytest.raises(NotRepeatable):
        run(None)


@pytest.mark.parametrize("second_kill", [None, 6, 7, 8])
def test_a_round_whose_check_was_cut_short_is_not_taken_over_by_a_mended_trainer(
    second_kill: int | None, tmp_path: Path
) -> None:
    """Also if the process that took over that round was killed before it checked one of its own."""
    case = {**CASES["grid"], "check": "first"}

    def run(trainer: NoisyQuadratic, left: int | None) -> None:
        adapter = adapter_of(MortalTrainer(trainer, left), case)
        run_with_checkpoints(adapter, EPOCHS, checkpoint=tmp_path)

    with pytest.raises(Killed):
        run(LeaksLate(noise=0.5, seed=4), 8)  # all tries, and no repeat
    if second_kill is not None:
        with pytest.raises(Killed):
            run(LeaksLate(noise=0.5, seed=4), second_kill)
        assert (tmp_path / "checkpoint-00000001.zip").exists()
    with pytest.raises(NotRepeatable):
        run(LeaksLate(noise=0.5, seed=4), None)
    with raises(CheckpointError):
        run(NoisyQuadratic(noise=0.5, seed=4), None)
