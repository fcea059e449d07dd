"""The workers of an executor: started, given jobs, watched, replaced when they die, and ended."""

from __future__ import annotations

import math
import os
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from dynhp.executors.pool.handle import PATIENCE, WorkerHandle, call_at_exit, interrupts_held
from dynhp.executors.pool.messages import (
    Answer,
    Began,
    Lost,
    News,
    Pack,
    Packed,
    Raised,
    Ready,
    Train,
    TryReport,
)
from dynhp.executors.pool.starts import StartWatch
from dynhp.executors.pool.transport import Transport
from dynhp.rounds.jobs import UNKNOWN_STATE, Job
from dynhp.trainer import State

__all__ = ["WorkerPool"]

LOOK_UP = 1.0  # seconds between two looks whether silent workers are alive
SET_ASIDE = 1  # states outside of its trainer that a worker holds to run ahead
GRACE = 0.25  # seconds to finish what is not waited for, where a new worker may have to wait


class WorkerPool:
    """The workers of a transport, as the dispatcher of a run uses them.

    A trainer stays in the state of its last job; to run ahead its worker sets that state aside and
    hands it out between two jobs. An origin of several jobs is packed once.
    """

    def __init__(
        self, transport: Transport[Any], *, size: int, time_limit: float | None = None
    ) -> None:
        self.transport = transport
        self.size = size
        self.workers: list[WorkerHandle] = []
        self._time_limit = time_limit
        self._process = os.getpid()
        self._starts = StartWatch(transport, time_limit)
        self._jobs_from: Counter[int] = Counter()  # how many start from an origin, by its id
        self._packed: dict[int, tuple[State, Any]] = {}  # shared origins, by their id
        self._packing = 0.0  # seconds it takes to pack a state
        self._may_wait = math.inf  # seconds until a worker may set its state aside

    def is_deserted(self) -> bool:
        """Whether all workers are gone, perhaps together with what they ran on."""
        return bool(self.workers) and not any(each.channel.is_alive() for each in self.workers)

    def begin_run(self, jobs: Sequence[Job]) -> None:
        """Have nothing left of an earlier run but workers, and origins that serve again."""
        self.reset()
        self._jobs_from = Counter(id(job.origin) for job in jobs)
        for worker in self.workers:
            if id(worker.origin) not in self._jobs_from:
                worker.origin = UNKNOWN_STATE  # that of a round that is over
        if not self._packed.keys() & self._jobs_from.keys():
            self._packed.clear()
            self.transport.release_all()

    def start_workers(self, count: int) -> None:
        """Have that many workers, or as many as allowed."""
        if not self.workers:
            # After multiprocessing was imported, so before it waits at exit for its processes.
            call_at_exit(self.close)
        while len(self.workers) < min(count, self.size):
            with interrupts_held():
                self.workers.append(WorkerHandle(self.transport.start()))

    def begin(self, number: int, job: Job, *, ahead: bool) -> bool:
        """Begin a job, or say that no worker is free.

        ``ahead`` allows for a worker that has states: it sets them aside, in its own memory.
        """
        worker = self._free_worker(ahead=ahead)
        if worker is None:
            return False
        origin = self._origin_for(worker, job.origin)
        worker.ask(Train(number, replace(job, origin=None), origin, tuple(worker.states)))
        return True

    def _free_worker(self, *, ahead: bool) -> WorkerHandle | None:
        """A worker without a state or else, to run ahead, one that waits with the fewest.

        It must have waited for as long as a copy of a state takes: perhaps none is needed.
        """
        idle = sorted(self.idle(), key=lambda worker: len(worker.states))
        if idle and not idle[0].states:
            return idle[0]
        for worker in idle if ahead else ():
            if len(worker.states) > SET_ASIDE and any(each.request for each in self.workers):
                break  # somebody else will get free; one that is starting perhaps never
            left = self._packing - (time.monotonic() - worker.since)
            if left <= 0:
                return worker
            self._may_wait = min(self._may_wait, left)
        return None

    def idle(self) -> list[WorkerHandle]:
        """The workers with nothing to do; those that died meanwhile are replaced first."""
        for worker in list(self.workers):
            if worker.request is None and not worker.channel.is_alive():
                self._replace(worker)
        early = not self.transport.remote  # else one that is starting may have to wait for long
        return [each for each in self.workers if each.request is None and (each.ready or early)]

    def _origin_for(self, worker: WorkerHandle, origin: State) -> Any | None:
        """What to send to a worker that starts from there; None where it has that origin."""
        if worker.origin is origin:
            return None
        if self._jobs_from[id(origin)] == 1 < len(self._jobs_from):
            worker.origin, worker.lent = UNKNOWN_STATE, self._pack(origin)
            return worker.lent
        if id(origin) not in self._packed:
            self._packed[id(origin)] = origin, self._pack(origin)
        worker.origin = origin
        return self._packed[id(origin)][1]

    def _pack(self, origin: State) -> Any:
        began = time.monotonic()
        packed = self.transport.pack(origin)
        if not self.transport.remote:
            self._packing = time.monotonic() - began
        return packed

    def hand_out(self, number: int) -> bool:
        """Ask for the state at the end of a job, or say that no worker has it; a busy one later."""
        worker = next((worker for worker in self.workers if number in worker.states), None)
        if worker is not None and worker.request is None:
            worker.ask(Pack(number, tuple(worker.states)))
        return worker is not None

    def release(self, number: int, packed: Packed | Raised | None) -> None:
        """The end of a job is not needed any longer; its worker drops the state later."""
        if isinstance(packed, Packed):
            self.transport.release(packed.state)
        for worker in self.workers:
            worker.states.discard(number)
            if worker.number == number:
                worker.number = None

    def receive(self) -> Iterator[tuple[int, News]]:
        """What there is to report of jobs that are still needed; after a while perhaps nothing."""
        for worker, answer in self._answers():
            number = worker.number
            if isinstance(answer, Ready | Began):
                continue
            if isinstance(answer, Lost):
                self._replace(worker)
            else:
                self._settle(worker, answer)
            if number is not None:
                yield number, answer
            elif isinstance(answer, Packed):  # released before it came: keep() was interrupted
                self.transport.release(answer.state)

    def _answers(self) -> list[tuple[WorkerHandle, Answer | Lost]]:
        """The next answer of each worker that has one, and workers that are lost."""
        expected = [each for each in self.workers if each.request is not None or not each.ready]
        channels = [worker.channel for worker in expected]
        answered = self.transport.wait(channels, self._seconds_to_wait(expected))
        answers = []
        for worker in expected:
            # What has been answered counts, however late it is received: limits come second.
            in_time, starting = worker.channel in answered, not worker.ready
            answer = worker.receive() if in_time else worker.overdue(self._time_limit)
            if starting:
                self._starts.check(worker, answer, self.workers)
            if answer is not None:
                answers.append((worker, answer))
        return answers

    def _seconds_to_wait(self, expected: list[WorkerHandle]) -> float:
        left = [worker.seconds_left(self._time_limit) for worker in expected]
        may_wait, self._may_wait = self._may_wait, math.inf
        return max(0.0, min([may_wait, LOOK_UP, *(each for each in left if each is not None)]))

    def _settle(self, worker: WorkerHandle, answer: Answer) -> None:
        """What was asked is answered, and what was lent for that is released."""
        if isinstance(answer, TryReport) and worker.number is not None:
            worker.since = time.monotonic()
            worker.states.add(worker.number)
        elif worker.number is not None:
            worker.states.discard(worker.number)
        if isinstance(answer, Raised):
            worker.origin = UNKNOWN_STATE  # perhaps it could not be loaded
        self._release_lent(worker)
        worker.number = worker.request = None

    def _release_lent(self, worker: WorkerHandle) -> None:
        if worker.lent is not None:
            self.transport.release(worker.lent)
            worker.lent = None

    def _replace(self, worker: WorkerHandle) -> None:
        """Start a new worker instead of one that is gone."""
        self._end([worker], 0)
        self.start_workers(len(self.workers) + 1)

    def reset(self) -> None:
        """End the workers that are busy, and let the others drop their states."""
        until = time.monotonic() + GRACE
        busy = [worker for worker in self.workers if worker.request is not None]
        self._end([each for each in busy if not self._finishes(each, until)], 0)
        for worker in self.workers:
            worker.forget()

    def _finishes(self, worker: WorkerHandle, until: float) -> bool:
        """Whether a worker ends by then what it is doing; not waited for on this machine."""
        while self.transport.remote and worker.request is not None and worker.channel.is_alive():
            seconds = max(0.0, until - time.monotonic())
            if not self.transport.wait([worker.channel], seconds):
                break
            answer = worker.receive()
            if isinstance(answer, Lost):
                break
            if isinstance(answer, TryReport | Packed | Raised):
                self._settle(worker, answer)
        return worker.request is None

    def close(self) -> None:
        """End all workers and free the memory; the next run starts new ones."""
        if os.getpid() != self._process:  # a fork of the main process must not end its workers
            return
        self._end([worker for worker in self.workers if worker.request is not None], 0)
        for worker in self.workers:
            worker.channel.close()  # all at once, then wait for each
        self._end(self.workers, PATIENCE)
        self.transport.close()
        call_at_exit(self.close, wanted=False)

    def _end(self, workers: Sequence[WorkerHandle], patience: float) -> None:
        until = time.monotonic() + patience
        for worker in list(workers):
            self._release_lent(worker)
            worker.end(max(0.0, until - time.monotonic()))
            self.workers.remove(worker)
