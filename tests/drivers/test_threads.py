"""An executor for threads, as anybody would write one: nothing else needs to know of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from queue import SimpleQueue
from typing import Any

import pytest

from dynhp import DynamicGridAdapter, Interpolation, Racing, Serial, lowest
from dynhp.executors.attempt import attempt
from dynhp.executors.contract import Job, Outcome
from dynhp.records import Candidate, Value
from dynhp.testing import NoisyQuadratic, Quadratic
from dynhp.testing.executors import check_executor
from dynhp.trainer import State, Trainer
from tests.support.reference import Toy, bits, without_times


class Threads:
    """Carries out tries in threads, each on a trainer of its own."""

    def __init__(self, make: Callable[[], Trainer], workers: int) -> None:
        self._free: SimpleQueue[Trainer] = SimpleQueue()
        for _ in range(workers):
            self._free.put(make())
        self._pool = ThreadPoolExecutor(workers)

    def run(self, trainer: Trainer, jobs: Sequence[Job], *, at: State) -> Iterator[Outcome]:
        """Begin all jobs, and yield what comes of them in their order."""
        begun = [self._pool.submit(self._carry_out, job) for job in jobs]
        try:
            for each in begun:
                yield each.result()
        finally:
            wait([each for each in begun if not each.cancel()])  # a thread cannot be ended

    def close(self) -> None:
        """End the threads."""
        self._pool.shutdown()

    def _carry_out(self, job: Job) -> Outcome:
        trainer = self._free.get()
        try:
            outcome = attempt(trainer, replace(job, beat=None))  # not from this thread
            states = outcome.keep()  # before the next job begins on this trainer
        finally:
            self._free.put(trainer)
        return replace(outcome, keep=lambda: states, in_place=False)


@pytest.mark.parametrize("workers", [1, 3])
def test_it_keeps_the_contract_of_executors(workers: int) -> None:
    assert "ok" in str(check_executor(lambda make: Threads(make, workers)))


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"selection": Racing(), "try_for": 3},
        {"proposer": Interpolation(), "randomness": "independent", "keep": "value"},
        {"dry_run": True},
        {"check": "every"},
    ],
)
def test_a_run_is_the_same_as_with_serial(settings: dict[str, Any]) -> None:
    def run(executor: Any) -> tuple[Any, Any]:
        trainer = Toy(1)
        given = {"criterion": lowest("loss"), "adapt_every": 4, "try_for": 1} | settings
        adapter = DynamicGridAdapter(
            trainer, {"lr": [0.05, 0.2, 0.6, 1.1]}, executor=executor, **given
        )
        history = without_times(adapter.run(12))
        return history, bits(trainer.get_state())

    threads = Threads(lambda: Toy(1), 2)
    assert run(threads) == run(Serial())
    threads.close()


class Slow(Quadratic):
    """Takes a while to train."""

    def train_k(self, k: int, hyperparameters: Mapping[str, Value]) -> None:
        time.sleep(0.02)
        super().train_k(k, hyperparameters)


def test_when_a_run_is_closed_no_try_goes_on() -> None:
    threads, trainer = Threads(Slow, 2), Quadratic()
    origin = trainer.get_state()
    rates = [Candidate({"lr": rate}) for rate in (0.1, 0.2, 0.3, 0.4)]
    outcomes = threads.run(
        trainer, [Job(origin=origin, candidate=rate, epochs=1) for rate in rates], at=origin
    )
    next(outcomes)
    outcomes.close()  # type: ignore[attr-defined]
    assert threads._free.qsize() == 2  # no trainer is at work
    threads.close()


def test_after_an_interrupt_no_thread_is_left() -> None:
    threads = Threads(NoisyQuadratic, 2)

    def interrupt(event: Any) -> None:
        raise KeyboardInterrupt

    adapter = DynamicGridAdapter(
        NoisyQuadratic(), {"lr": [0.1, 0.2]}, criterion=lowest("loss"), adapt_every=4, try_for=1,
        executor=threads, callbacks=interrupt,
    )  # fmt: skip
    with pytest.raises(KeyboardInterrupt):
        adapter.run(4)
    with pytest.raises(RuntimeError, match="after shutdown"):
        threads._pool.submit(print)
