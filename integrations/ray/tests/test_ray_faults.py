"""Actors that die or hang in the middle of a try: repeated elsewhere, with the same answer."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest
import ray

from dynhp import DynamicGridAdapter, History, lowest
from dynhp.errors import ContractError
from dynhp.executors.contract import Job
from dynhp.executors.pool.transport import TrainRequest
from dynhp.executors.pool.workers import WorkerHandle
from dynhp.records import Candidate, Try
from dynhp.testing import NoisyQuadratic, difference
from dynhp_ray import RayExecutor
from dynhp_ray.actors import ActorChannel
from tests.support.messages import raises

Make = Callable[..., RayExecutor]
Fault = Literal["killed", "exits", "hangs"]
RATES = [0.02, 0.05, 0.1, 0.3]


def clumsy(folder: Path, fault: Fault, *, times: int, bad: float = 0.1) -> Callable[[], Any]:
    """A factory of trainers that come to grief in the second epoch with ``bad``, so many times."""

    class Clumsy(NoisyQuadratic):  # local, so that it travels to the actors by value
        def step(self, lr: float, momentum: float) -> None:
            (folder / f"pid-{os.getpid()}").touch()
            super().step(lr, momentum)
            if lr == bad and self.steps % 2 == 0 and len(list(folder.glob("fault-*"))) < times:
                (folder / f"fault-{time.monotonic_ns()}").touch()
                time.sleep(0.05)
                if fault == "killed":
                    os.kill(os.getpid(), signal.SIGKILL)
                if fault == "exits":
                    raise SystemExit(3)
                while True:
                    time.sleep(3600)

    return Clumsy


def faults(folder: Path) -> int:
    return len(list(folder.glob("fault-*")))


def actor_of(worker: WorkerHandle) -> Any:
    assert isinstance(worker.channel, ActorChannel)
    return worker.channel.actor


def process_of(worker: WorkerHandle) -> int:
    """The process id of an actor, once it has started."""
    return int(ray.get(actor_of(worker).__ray_call__.remote(lambda _: os.getpid())))


def let_only_the_first_that_hangs_be_late(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The time limit of the worker that hangs has passed; that of any other never does."""
    late: list[WorkerHandle] = []

    def seconds_left(worker: WorkerHandle, limit: float | None) -> float | None:
        tried = (
            worker.request.job.candidate["lr"] if isinstance(worker.request, TrainRequest) else None
        )
        if tried == 0.1 and faults(folder) and not late:
            late.append(worker)
        return -1.0 if worker in late else None

    monkeypatch.setattr(WorkerHandle, "seconds_left", seconds_left)


def run(executor: RayExecutor | None) -> tuple[History, Any]:
    trainer = NoisyQuadratic(seed=3)
    adapter = DynamicGridAdapter(
        trainer,
        {"lr": RATES},
        criterion=lowest("loss"),
        adapt_every=4,
        try_for=2,
        executor=executor,
    )
    return adapter.run(8), trainer.get_state()


@pytest.mark.parametrize(("fault", "times"), [("killed", 2), ("hangs", 1)])
def test_the_machines_fault_is_repeated_and_leaves_no_trace(
    executor: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: Fault, times: int
) -> None:
    if fault == "hangs":
        let_only_the_first_that_hangs_be_late(tmp_path, monkeypatch)
    make = clumsy(tmp_path, fault, times=times)
    history, state = run(executor(make, retries=2, time_limit=3600.0))
    expected, expected_state = run(None)
    assert faults(tmp_path) == times
    assert history == expected
    assert difference(expected_state, state) is None


def test_what_always_fails_has_failed(executor: Make, tmp_path: Path) -> None:
    on_ray = executor(clumsy(tmp_path, "exits", times=99), retries=1)
    trainer = NoisyQuadratic(seed=3)
    origin = trainer.get_state()
    jobs = [Job(origin=origin, candidate=Candidate({"lr": rate}), epochs=2) for rate in RATES]
    outcomes = list(on_ray.run(trainer, jobs, at=origin))
    assert faults(tmp_path) == 2
    assert [outcome.error is None for outcome in outcomes] == [True, True, False, True]
    error = str(outcomes[2].error)
    assert error.startswith("WorkerLost: its worker was lost 2 times, last in epoch 2: ")
    assert "ActorDiedError" in error
    assert outcomes[2].epochs == 2
    assert outcomes[2].series == ()


def test_a_state_that_died_with_its_actor_is_made_again(executor: Make) -> None:
    on_ray = executor(NoisyQuadratic, retries=1)
    trainer = NoisyQuadratic()
    origin = trainer.get_state()
    jobs = [Job(origin=origin, candidate=Candidate({"lr": rate}), epochs=2) for rate in RATES]
    expected = NoisyQuadratic()
    for place, outcome in enumerate(on_ray.run(trainer, jobs, at=origin)):
        if place == 1:
            assert on_ray._pooled._pool is not None
            (holder,) = (each for each in on_ray._pooled._pool.workers if 1 in each.states)
            ray.kill(actor_of(holder))
        expected.set_state(origin)
        expected.train_k(2, jobs[place].candidate)
        assert difference(expected.get_state(), outcome.keep()) is None


def test_an_actor_that_died_between_rounds_is_nobodys_fault(
    executor: Make, wait_until_gone: Callable[[list[int]], None]
) -> None:
    on_ray = executor(NoisyQuadratic, retries=0)
    trainer = NoisyQuadratic()
    origin = trainer.get_state()
    jobs = [Job(origin=origin, candidate=Candidate({"lr": rate}), epochs=1) for rate in RATES]
    assert [outcome.error for outcome in on_ray.run(trainer, jobs, at=origin)] == [None] * 4
    assert on_ray._pooled._pool is not None
    workers = list(on_ray._pooled._pool.workers)
    assert len(workers) == 2
    # Of both: one that started late has done no job, and must not do the next ones either.
    processes = [process_of(worker) for worker in workers]
    for worker in workers:
        ray.kill(actor_of(worker))
    wait_until_gone(processes)  # a kill only asks: an actor might do the next jobs first
    assert [outcome.error for outcome in on_ray.run(trainer, jobs, at=origin)] == [None] * 4
    assert not set(workers) & set(on_ray._pooled._pool.workers)


def test_a_cluster_without_room_is_told(executor: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dynhp.executors.pool.workers.SLOW", 0.1)
    trainer = NoisyQuadratic()
    origin = trainer.get_state()
    jobs = [Job(origin=origin, candidate=Candidate({"lr": 0.1}), epochs=1)]
    outcomes = executor(NoisyQuadratic, num_cpus=99).run(trainer, jobs, at=origin)
    # Warnings are errors. Not with the whole text, which has what this machine has.
    with pytest.raises(RuntimeWarning, match="no actor with num_cpus=99"):
        next(outcomes)


def test_an_interrupt_ends_the_actors(
    executor: Make,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    wait_until_gone: Callable[[Path], None],
) -> None:
    on_ray = executor(clumsy(tmp_path, "hangs", times=99, bad=RATES[1]), actors=2)
    trainer = NoisyQuadratic()
    origin = trainer.get_state()
    jobs = [Job(origin=origin, candidate=Candidate({"lr": rate}), epochs=2) for rate in RATES]
    outcomes = on_ray.run(trainer, jobs, at=origin)
    next(outcomes)

    def interrupted(*_: object, **__: object) -> Any:
        while not faults(tmp_path):
            time.sleep(0.01)
        raise KeyboardInterrupt

    wait = ray.wait
    monkeypatch.setattr(ray, "wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        next(outcomes)
    monkeypatch.setattr(ray, "wait", wait)
    assert on_ray._pooled._pool is None
    wait_until_gone(tmp_path)
    assert ray.is_initialized()  # it was not started by the executor


def test_an_interrupt_outside_of_the_tries_ends_the_actors_too(
    executor: Make, tmp_path: Path, wait_until_gone: Callable[[Path], None]
) -> None:
    on_ray = executor(clumsy(tmp_path, "hangs", times=0))

    def callback(event: object) -> None:
        if isinstance(event, Try):
            signal.raise_signal(
                signal.SIGINT
            )  # here and now; os.kill may interrupt twice, and late

    adapter = DynamicGridAdapter(
        NoisyQuadratic(),
        {"lr": RATES},
        criterion=lowest("loss"),
        adapt_every=2,
        try_for=1,
        executor=on_ray,
        callbacks=[callback],
    )
    with pytest.raises(KeyboardInterrupt):
        adapter.run(4)
    assert on_ray._pooled._pool is None
    wait_until_gone(tmp_path)


def test_a_state_of_another_run_is_never_handed_out(executor: Make) -> None:
    on_ray = executor(NoisyQuadratic)
    trainer = NoisyQuadratic()
    origin = trainer.get_state()
    jobs = [Job(origin=origin, candidate=Candidate({"lr": rate}), epochs=2) for rate in RATES]
    one, other = on_ray.run(trainer, jobs[:2], at=origin), on_ray.run(trainer, jobs[2:], at=origin)
    earlier, present = next(one), next(other)
    present.keep()
    for late in (earlier, *other, present):
        with raises(ContractError):
            late.keep()


def test_an_abandoned_run_ends_what_hangs(
    executor: Make, tmp_path: Path, wait_until_gone: Callable[[Path], None]
) -> None:
    on_ray = executor(clumsy(tmp_path, "hangs", times=1, bad=RATES[1]))
    trainer = NoisyQuadratic()
    origin = trainer.get_state()
    jobs = [Job(origin=origin, candidate=Candidate({"lr": rate}), epochs=2) for rate in RATES]
    list(on_ray.run(trainer, jobs[2:], at=origin))
    assert on_ray._pooled._pool is not None
    while len(on_ray._pooled._pool.idle()) < 2:  # so that both begin at once
        list(on_ray._pooled._pool.receive())
    outcomes = on_ray.run(trainer, jobs, at=origin)
    next(outcomes)
    while not faults(tmp_path):
        time.sleep(0.01)
    outcomes.close()  # type: ignore[attr-defined]
    assert [outcome.error for outcome in on_ray.run(trainer, jobs, at=origin)] == [None] * 4
    on_ray.close()
    wait_until_gone(tmp_path)
