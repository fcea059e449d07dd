"""Workers that die, hang or are broken off: the try is repeated, and nothing is left behind."""

from __future__ import annotations

import contextlib
import functools
import math
import multiprocessing
import os
import signal
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from dynhp import DynamicGridAdapter, lowest
from dynhp.errors import ContractError
from dynhp.executors import Processes, Serial
from dynhp.executors.contract import UNKNOWN_STATE, Job, Outcome
from dynhp.executors.pool import workers
from dynhp.executors.pool.workers import WorkerHandle, WorkerPool
from dynhp.records import Candidate, Try
from dynhp.storage import checkpoints
from dynhp.testing import NoisyQuadratic, difference
from tests.support.messages import raises
from tests.support.processes import pids_of, process_of, segments, workers_of
from tests.support.waiting import hang

RETRIES = 1


class Doomed(NoisyQuadratic):
    """Meets the fate that its hyperparameters say, as often as they say, in its second epoch."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        super().__init__(dimensions=6000, **settings)
        self.folder = folder
        self.pid = os.getpid()

    def train_k(self, k: int, hyperparameters: Mapping[str, Any]) -> None:
        values = dict(hyperparameters)
        fate, times = values.pop("fate", "none"), values.pop("times", 0)
        super().train_k(k, values)
        if fate != "none" and self.steps % 2 == 0 and len(list(self.folder.iterdir())) < times:
            (self.folder / f"{self.pid}").touch()
            meet(fate)

    def hyperparameters(self) -> dict[str, Any]:
        return {}


def meet(fate: str) -> None:
    if fate == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    elif fate == "hangs":
        hang()
    elif fate == "exits":
        os._exit(3)
    elif fate == "leaves":
        sys.exit(4)
    elif fate == "interrupted":
        os.kill(os.getpid(), signal.SIGINT)
    elif fate == "memory":
        raise MemoryError("no more")
    else:
        raise KeyboardInterrupt(fate)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fates")


@pytest.fixture(scope="module")
def executor(folder: Path) -> Iterator[Processes]:
    make = functools.partial(Doomed, folder)
    with Processes(make, workers=2, retries=RETRIES) as processes:
        yield processes


@pytest.fixture(autouse=True)
def clean(folder: Path) -> None:
    for path in folder.iterdir():
        path.unlink()


def jobs(trainer: Doomed, fate: str = "none", times: int = 0) -> list[Job]:
    origin = trainer.get_state()
    fates = [("none", 0), (fate, times), ("none", 0), ("none", 0)]
    return [
        Job(
            origin=origin,
            candidate=Candidate({"lr": 0.01 * place, "fate": what, "times": often}),
            epochs=2,
            watch=("loss",),
        )
        for place, (what, often) in enumerate(fates, start=1)
    ]


def carried_out(executor: Any, folder: Path, fate: str, times: int) -> list[Any]:
    trainer = Doomed(folder)
    asked = jobs(trainer, fate, times)
    seen = []
    for outcome in executor.run(trainer, asked, at=asked[0].origin):
        state = None if outcome.error else outcome.keep()
        seen.append((outcome.series, outcome.epochs, outcome.error, state))
    return seen


@pytest.mark.parametrize(
    ("fate", "why"),
    [
        ("killed", "it was killed by SIGKILL"),
        ("hangs", "it took longer than time_limit=1.0 s"),
        ("exits", "it ended with exit code 3"),
        ("leaves", "it ended with exit code 4"),
    ],
)
def test_a_lost_try_is_repeated_and_fails_in_the_end(
    executor: Processes, folder: Path, monkeypatch: pytest.MonkeyPatch, fate: str, why: str
) -> None:
    if fate == "hangs":
        monkeypatch.setattr(executor._pooled._started_pool(), "_time_limit", 1.0)
        monkeypatch.setattr(workers, "START_LEAST", math.inf)

        def seconds_left(worker: WorkerHandle, limit: float | None) -> float | None:
            hangs = (folder / f"{process_of(worker).pid}").exists()
            return -1.0 if hangs else None  # on a busy machine any other may take a second

        monkeypatch.setattr(WorkerHandle, "seconds_left", seconds_left)
    expected = carried_out(Serial(), folder, "none", 0)
    if fate in ("killed", "hangs"):
        once = carried_out(executor, folder, fate, 1)
        assert len(list(folder.iterdir())) == 1
        assert difference(expected, once) is None
    always = carried_out(executor, folder, fate, 99)
    assert always[1][1:3] == (
        2,
        f"WorkerLost: its worker was lost {RETRIES + 1} times, last in epoch 2: {why}",
    )
    assert always[1][0] == ()
    assert difference(expected[:1] + expected[2:], always[:1] + always[2:]) is None


def test_what_the_trainer_raises_is_not_repeated(executor: Processes, folder: Path) -> None:
    seen = carried_out(executor, folder, "memory", 99)
    assert seen[1][1:3] == (2, "MemoryError: no more")
    assert len(seen[1][0]) == 1
    assert len(list(folder.iterdir())) == 1


def test_workers_do_not_mind_an_interrupt(executor: Processes, folder: Path) -> None:
    seen = carried_out(executor, folder, "interrupted", 99)
    assert difference(carried_out(Serial(), folder, "none", 0), seen) is None
    assert len(list(folder.iterdir())) == 1


def test_an_interrupt_that_the_trainer_raises_ends_the_run(
    executor: Processes, folder: Path
) -> None:
    with pytest.raises(KeyboardInterrupt, match="raised"):
        carried_out(executor, folder, "raised", 99)
    assert pids_of(executor) == []
    assert segments(os.getpid()) == set()


class InterruptedInStretch(Doomed):
    """The main line's: Ctrl-C comes while it trains a stretch."""

    def train_k(self, k: int, hyperparameters: Mapping[str, Any]) -> None:
        super().train_k(k, hyperparameters)
        if k == 3:
            signal.raise_signal(signal.SIGINT)


@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize("where", ["the stretch", "a callback"])
def test_an_interrupt_outside_of_the_tries_ends_the_workers_too(
    executor: Processes, folder: Path, tmp_path: Path, where: str, recorded: bool
) -> None:
    def callback(event: Any) -> None:
        if where == "a callback" and isinstance(event, Try):
            signal.raise_signal(signal.SIGINT)  # here and now, whatever threads there are

    trainer = (InterruptedInStretch if where == "the stretch" else Doomed)(folder)
    origin = trainer.get_state()
    adapter = DynamicGridAdapter(
        trainer,
        {"lr": [0.01, 0.05]},
        criterion=lowest("loss"),
        adapt_every=4,
        try_for=1,
        executor=executor,
        callbacks=[callback],
    )
    before = multiprocessing.active_children()
    saved = checkpoints(tmp_path, adapter) if recorded else contextlib.nullcontext()
    with pytest.raises(KeyboardInterrupt), saved:
        adapter.run(8)
    assert pids_of(executor) == []
    assert set(multiprocessing.active_children()) <= set(before)
    assert segments(os.getpid()) == set()
    assert difference(origin, trainer.get_state()) is None


def first(executor: Processes, folder: Path) -> tuple[Any, Outcome]:
    trainer = Doomed(folder)
    outcomes = executor.run(trainer, jobs(trainer), at=UNKNOWN_STATE)
    return outcomes, next(outcomes)


def test_a_state_that_died_with_its_worker_is_made_again(executor: Processes, folder: Path) -> None:
    outcomes, outcome = first(executor, folder)
    for pid in pids_of(executor):
        os.kill(pid, signal.SIGKILL)
    expected = carried_out(Serial(), folder, "none", 0)
    assert difference(expected[0][3], outcome.keep()) is None
    rest = [(each.series, each.epochs, each.error, each.keep()) for each in outcomes]
    assert difference(expected[1:], rest) is None


def test_a_state_that_is_lost_for_good_is_told(folder: Path) -> None:
    with Processes(functools.partial(Doomed, folder), workers=2, retries=0) as executor:
        outcomes, outcome = first(executor, folder)
        for pid in pids_of(executor):
            os.kill(pid, signal.SIGKILL)
        with raises(ContractError):
            outcome.keep()
        outcomes.close()


def test_an_interrupt_in_keep_ends_the_run_and_the_workers(
    executor: Processes, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcomes, outcome = first(executor, folder)
    pids = set(pids_of(executor))
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    with monkeypatch.context() as patch:
        patch.setattr(WorkerPool, "hand_out", lambda *_: signal.raise_signal(signal.SIGINT))
        with pytest.raises(KeyboardInterrupt):
            outcome.keep()
    assert pids_of(executor) == []
    assert segments(os.getpid()) == set()
    with raises(ContractError):
        next(outcomes)


def test_a_worker_killed_between_runs_is_replaced(executor: Processes, folder: Path) -> None:
    expected = carried_out(Serial(), folder, "none", 0)
    carried_out(executor, folder, "none", 0)
    before = pids_of(executor)
    os.kill(before[0], signal.SIGKILL)
    assert difference(expected, carried_out(executor, folder, "none", 0)) is None
    assert before[0] not in pids_of(executor)


def test_a_run_broken_off_leaves_no_work_and_no_memory(executor: Processes, folder: Path) -> None:
    outcomes, _ = first(executor, folder)
    outcomes.close()
    assert [worker.request for worker in workers_of(executor) if worker.request] == []
    expected = carried_out(Serial(), folder, "none", 0)
    assert difference(expected, carried_out(executor, folder, "none", 0)) is None


def test_one_run_at_a_time(executor: Processes, folder: Path) -> None:
    outcomes, _ = first(executor, folder)
    carried_out(executor, folder, "none", 0)
    with raises(ContractError):
        next(outcomes)


def test_a_state_is_kept_in_time_or_not_at_all(executor: Processes, folder: Path) -> None:
    outcomes, outcome = first(executor, folder)
    next(outcomes)
    with raises(ContractError):
        outcome.keep()
    outcomes.close()


def test_a_run_goes_on_with_a_value_that_kills_its_worker(folder: Path) -> None:
    """As a whole: the value is recorded as failed in every round, and the others compete."""
    make = functools.partial(Doomed, folder)
    before = segments(os.getpid())
    with Processes(make, workers=2, retries=0) as processes:
        adapter = DynamicGridAdapter(
            make(),
            {"lr": [0.01, 0.05], "fate": ["none", "killed"], "times": [99]},
            criterion=lowest("loss"),
            adapt_every=2,
            try_for=2,
            executor=processes,
            initial={"lr": 0.01, "fate": "none", "times": 99},
        )
        (round_,) = adapter.run(2)
    assert sorted(bool(try_.error) for try_ in round_.tries) == [False, False, True, True]
    assert round_.candidate["fate"] == "none"
    assert segments(os.getpid()) == before
