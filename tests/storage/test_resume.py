"""Killed at any moment and resumed, a run ends bit for bit as if nothing had happened."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import dynhp.storage.files
from dynhp import DynamicGridAdapter, adapt, lowest
from dynhp.errors import CheckpointError, ContractError, SettingsError
from dynhp.executors import Serial
from dynhp.executors.contract import Job, Outcome
from dynhp.proposers import Known, Waves
from dynhp.records import Candidate
from dynhp.storage.checkpoint import checkpoints, resume, run_with_checkpoints
from dynhp.storage.codecs import encode
from dynhp.storage.folder import CheckpointFolder, TryPlace
from dynhp.storage.jobs import TryRequest
from dynhp.storage.journal import Journal, history_from_journal
from dynhp.testing import Quadratic
from dynhp.trainer import Trainer
from tests.support.killing import Killed
from tests.support.messages import raises
from tests.support.resuming import (
    CASES,
    EPOCHS,
    RATES,
    adapter_of,
    left_by,
    mortal,
    run_on,
    without_times,
)

ROOT = Path(__file__).resolve().parents[2]


pytestmark = pytest.mark.usefixtures("_fast_disk")


@pytest.mark.parametrize("name", CASES)
def test_saving_changes_nothing(name: str, tmp_path: Path) -> None:
    trainer, history = run_on(tmp_path, CASES[name])
    plain = mortal(CASES[name])
    expected = adapter_of(plain, CASES[name]).run(EPOCHS)
    assert without_times(history) == without_times(expected)
    assert encode(trainer.get_state()) == encode(plain.get_state())
    assert trainer.asked == plain.asked
    assert without_times(history_from_journal(tmp_path / "journal")) == without_times(expected)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("calls", [3, 4, 7, 12])
def test_a_run_that_dies_again_and_again_ends_the_same(
    name: str, calls: int, tmp_path: Path
) -> None:
    case = CASES[name]
    undisturbed, starts = tmp_path / "undisturbed", 0
    undisturbed.mkdir()
    trainer, expected = run_on(undisturbed, case)
    calls += case.get("every", 1) - 1  # the stretches that are done anew after every start
    while True:
        starts += 1
        try:
            survivor, history = run_on(tmp_path, case, calls)
            break
        except Killed:
            assert starts < 50
    assert starts > 1
    assert without_times(history) == without_times(expected)
    assert left_by(tmp_path, survivor) == left_by(undisturbed, trainer)


def killed_at_step(folder: Path, case: Any, fatal: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """End at the n-th step of writing files, as a kill does: nothing is cleaned up. Count them."""
    steps = 0

    def step(real: Any, *arguments: Any) -> Any:
        nonlocal steps
        steps += 1
        if steps == fatal:
            raise Killed
        return real(*arguments)

    with monkeypatch.context() as patch:
        for name in ("replace", "truncate", "fsync"):
            real = getattr(os, name)
            patch.setattr(os, name, lambda *arguments, real=real: step(real, *arguments))
        patch.setattr(dynhp.storage.files, "remove", lambda path: None)
        write = dynhp.storage.codecs.archive.write

        def torn(file: Any, members: Any) -> Any:
            step(lambda: None)
            file.write(b"PK\3\4 torn") if steps + 1 == fatal else None
            return step(write, file, members)

        patch.setattr("dynhp.storage.codecs.archive.write", torn)

        def appended(path: Path, mode: str) -> Any:
            return TornFile(open(path, mode), step) if mode == "ab" else open(path, mode)

        patch.setattr("dynhp.storage.lines.open", appended, raising=False)
        run_on(folder, case, epochs=6)
    return steps


class TornFile:
    """A file that is written in two steps."""

    def __init__(self, file: Any, step: Any) -> None:
        self.file, self.step = file, step

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

    def write(self, data: bytes) -> None:
        for half in (data[: len(data) // 2], data[len(data) // 2 :]):
            self.step(self.file.write, half)


@pytest.mark.many
def test_death_at_every_step_of_writing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = CASES["racing"]
    undisturbed = tmp_path / "undisturbed"
    undisturbed.mkdir()
    trainer, expected = run_on(undisturbed, case, epochs=6)
    counted = tmp_path / "counted"
    counted.mkdir()
    total = killed_at_step(counted, case, -1, monkeypatch)
    assert total > 40
    for fatal in range(1, total + 1):
        folder = tmp_path / str(fatal)
        folder.mkdir()
        with pytest.raises(Killed):
            killed_at_step(folder, case, fatal, monkeypatch)
        survivor, history = run_on(folder, case, epochs=6)
        assert without_times(history) == without_times(expected)
        assert left_by(folder, survivor) == left_by(undisturbed, trainer)
        assert not list(folder.rglob("*.part"))


def test_tries_that_were_done_are_not_trained_again(tmp_path: Path) -> None:
    case = CASES["grid"]
    (tmp_path / "undisturbed").mkdir()
    undisturbed, _ = run_on(tmp_path / "undisturbed", case)
    per_round = 4 * 2 + 1  # four tries of two epochs, and the stretch in one go
    for trained in range(per_round, 2 * per_round):  # in the second round
        folder = tmp_path / str(trained)
        folder.mkdir()
        with pytest.raises(Killed):
            run_on(folder, case, trained)
        second, _ = run_on(folder, case)
        done = (trained - per_round) // 2 * 2  # whole tries
        assert second.asked == undisturbed.asked[per_round + done :]


def test_a_torn_try_is_trained_again_and_so_are_those_after_it(tmp_path: Path) -> None:
    case = CASES["grid"]
    with pytest.raises(Killed):
        run_on(tmp_path, case, 8)  # all tries of the first round
    files = sorted((tmp_path / "saved").glob("try-*.zip"))
    assert len(files) == 4
    files[1].write_bytes(files[1].read_bytes()[:-1])
    second, history = run_on(tmp_path, case)
    assert [k for k, _ in second.asked[:7]] == [1] * 6 + [2]
    assert history == adapter_of(mortal(case), case).run(EPOCHS)


def test_tries_of_another_checkpoint_or_another_plan_are_not_used(tmp_path: Path) -> None:
    case = CASES["grid"]
    with pytest.raises(Killed):
        run_on(tmp_path, case, 8)
    trainer = mortal(case)
    run_with_checkpoints(adapter_of(trainer, case), 2, checkpoint=tmp_path / "saved", journal=None)
    assert [k for k, _ in trainer.asked] == [1] * 8  # two epochs are all there are
    assert not list((tmp_path / "saved").glob("try-*.zip"))


def test_tries_of_another_plan_are_not_used_where_the_checkpoint_is_the_same(
    tmp_path: Path,
) -> None:
    case = CASES["grid"]
    run_on(tmp_path, case, epochs=4, every=2)
    with pytest.raises(Killed):
        run_on(tmp_path, case, 4, epochs=12, every=2)
    assert len(list((tmp_path / "saved").glob("try-00000001-*.zip"))) == 2
    third, history = run_on(tmp_path, case, epochs=5, every=2)
    assert [k for k, _ in third.asked] == [1] * 4
    expected = adapter_of(mortal(case), case)
    assert [without_times(expected.run(4)), without_times(expected.run(5))][-1] == without_times(
        history
    )


@pytest.mark.usefixtures("hurrying")  # a round that takes as long again is that checkpoint again
def test_tries_that_build_on_a_checkpoint_that_is_lost_are_trained_again(tmp_path: Path) -> None:
    case = CASES["grid"]
    (tmp_path / "undisturbed").mkdir()
    undisturbed, expected = run_on(tmp_path / "undisturbed", case)
    with pytest.raises(Killed):
        run_on(tmp_path, case, 9 + 9 + 8)  # all tries of the third round
    (tmp_path / "saved" / "checkpoint-00000002.zip").write_bytes(b"lost")
    second, history = run_on(tmp_path, case)
    assert second.asked == undisturbed.asked[9:]
    assert without_times(history) == without_times(expected)
    assert left_by(tmp_path, second) == left_by(tmp_path / "undisturbed", undisturbed)


def test_more_epochs_can_be_added(tmp_path: Path) -> None:
    case = CASES["margin"]
    first = run_with_checkpoints(adapter_of(mortal(case), case), 8, checkpoint=tmp_path)
    both = run_with_checkpoints(adapter_of(mortal(case), case), 16, checkpoint=tmp_path)
    expected = adapter_of(mortal(case), case)
    assert (expected.run(8), expected.run(16)) == (first, both)


def test_resume_goes_on_to_the_end_that_was_planned(tmp_path: Path) -> None:
    case = CASES["value"]
    with pytest.raises(Killed):
        run_on(tmp_path, case, 20)
    trainer = mortal(case)
    journal = Journal(tmp_path / "journal", seconds=False)
    history = resume(tmp_path / "saved", adapter_of(trainer, case, (journal,)))
    undisturbed = tmp_path / "undisturbed"
    undisturbed.mkdir()
    other, expected = run_on(undisturbed, case)
    assert without_times(history) == without_times(expected)
    assert left_by(tmp_path, trainer) == left_by(undisturbed, other)


def test_a_finished_run_is_simply_given_back(tmp_path: Path) -> None:
    _, history = run_on(tmp_path, CASES["grid"])
    trainer, again = run_on(tmp_path, CASES["grid"])
    assert (again, trainer.asked) == (history, [])


def test_runs_by_hand_and_runs_in_loops_resume_too(tmp_path: Path) -> None:
    def epochs(planned: int, until: int) -> tuple[Quadratic, Any]:
        model = Quadratic()
        loop = adapt(
            planned,
            state=[model],
            space={"lr": [0.1, 0.5]},
            criterion=lowest("loss"),
            adapt_every=5,
            try_for=1,
        )
        with checkpoints(tmp_path, loop.adapter):
            for count, epoch in enumerate(loop):
                if count == until:
                    raise Killed
                model.train_k(1, epoch.values)
                epoch.report(loss=model.metrics()["loss"])
        return model, loop.history

    with pytest.raises(Killed):
        epochs(12, 9)  # in the second round
    model, history = epochs(12, 99)
    assert history.epochs == 12
    assert [round_.start for round_ in history] == [0, 5, 10]
    assert model.x == 0.5**12
    assert epochs(17, 99)[1].epochs == 17


def test_a_resumed_adapter_steps_on(tmp_path: Path) -> None:
    case = CASES["grid"]
    for _ in range(2):
        with checkpoints(tmp_path, adapter_of(mortal(case), case)) as adapter:
            last = adapter.step()
    assert (last.index, last.start) == (1, 4)
    with raises(CheckpointError):
        resume(tmp_path, adapter_of(mortal(case), case))


def test_executor_and_callbacks_are_put_back(tmp_path: Path) -> None:
    seen: list[Any] = []
    adapter = adapter_of(mortal({}), {}, (seen.append,))
    before = adapter.executor, adapter.callbacks
    run_with_checkpoints(adapter, 4, checkpoint=tmp_path / "a", journal=tmp_path / "j")
    assert (adapter.executor, adapter.callbacks) == before
    assert history_from_journal(tmp_path / "j") == adapter.history
    with pytest.raises(Killed), checkpoints(tmp_path / "b", adapter):
        raise Killed
    assert (adapter.executor, adapter.callbacks) == before
    assert len(seen) == 6


class Proposes:
    """A proposer that is not a function of the run alone: each process has its own."""

    def __init__(self, *rates: float) -> None:
        self._rates = rates

    def propose(self, known: Known, rng: Any) -> Sequence[Candidate]:
        return [] if known.tries else [Candidate({"lr": rate}) for rate in self._rates]

    def waves(self, space: Any, current: Any) -> Waves:
        return Waves(least=(2,), most=(2,))


def test_another_job_than_the_one_noted_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Killed):
        run_on(tmp_path, {"proposer": Proposes(0.1, 0.3)}, 4 + 1 + 4)  # the tries of two rounds
    folder = CheckpointFolder(tmp_path / "saved")
    done = folder.get_try(TryPlace(1, 0, 1))["done"]
    assert done.asked == TryRequest(candidate=Candidate({"lr": 0.3}), epochs=2, seed=None)
    with raises(CheckpointError):
        run_on(tmp_path, {"proposer": Proposes(0.1, 0.03)})


def test_an_outcome_too_many_is_refused_as_without_a_store(tmp_path: Path) -> None:
    class OneTooMany:
        def run(self, trainer: Trainer, jobs: Sequence[Job], *, at: Any) -> Iterator[Outcome]:
            yield from Serial().run(trainer, [*jobs, jobs[0]], at=at)

    adapter = adapter_of(Quadratic(), {"executor": OneTooMany()})
    with raises(ContractError):
        run_with_checkpoints(adapter, EPOCHS, checkpoint=tmp_path)


class Towards:
    """A criterion whose direction is not among its settings."""

    def __init__(self, direction: int) -> None:
        self._direction = direction

    def __call__(self, series: Any, progress: Any) -> float:
        return float(series[-1]["loss"]) * self._direction


def judged_towards(direction: int, calls: int | None = None) -> DynamicGridAdapter:
    return DynamicGridAdapter(
        mortal({}, calls), {"lr": RATES}, criterion=Towards(direction), adapt_every=4, try_for=2,
        check="off",
    )  # fmt: skip


def test_a_state_that_was_not_kept_is_never_made_up(tmp_path: Path) -> None:
    with pytest.raises(Killed):
        run_with_checkpoints(judged_towards(-1, 8), EPOCHS, checkpoint=tmp_path)
    folder = CheckpointFolder(tmp_path)
    kept = [folder.get_try(TryPlace(0, 0, place))["done"].kept for place in range(4)]
    assert sorted(kept) != kept
    with raises(CheckpointError):
        run_with_checkpoints(judged_towards(1), EPOCHS, checkpoint=tmp_path)


def test_an_adapter_that_has_trained_is_not_overwritten(tmp_path: Path) -> None:
    run_on(tmp_path, CASES["grid"])
    adapter = adapter_of(mortal({}), {})
    adapter.run(4)
    with raises(SettingsError):
        run_with_checkpoints(adapter, 8, checkpoint=tmp_path / "saved")


def test_an_adapter_that_has_trained_can_be_saved_from_there_on(tmp_path: Path) -> None:
    adapter = adapter_of(mortal({}), {})
    adapter.run(4)
    run_with_checkpoints(adapter, 8, checkpoint=tmp_path, every=5)
    again = run_with_checkpoints(adapter_of(mortal({}), {}), 12, checkpoint=tmp_path)
    expected = adapter_of(mortal({}), {})
    assert [expected.run(epochs) for epochs in (4, 8, 12)][-1] == again


def test_killed_for_real() -> None:
    """The short version of ``make torture``."""
    done = subprocess.run(
        [sys.executable, "-W", "error", str(ROOT / "benchmarks" / "torture.py"), "--runs", "4"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("4 of 4 final states and journals are bit-identical")
