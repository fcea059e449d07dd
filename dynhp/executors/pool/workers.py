"""The workers of an executor: started, given jobs, watched, replaced when they die, and ended."""

from __future__ import annotations

import atexit
import math
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any

from dynhp.errors import SettingsError
from dynhp.executors.contract import UNKNOWN_STATE, Job
from dynhp.executors.pool.transport import (
    Answer,
    Began,
    Channel,
    ForgetRequest,
    JobResult,
    Lost,
    Packed,
    PackRequest,
    Raised,
    Ready,
    Request,
    TrainRequest,
    Transport,
    TryReport,
)
from dynhp.trainer import State

LOOK_UP = 1.0  # seconds between two looks whether silent workers are alive
SET_ASIDE = 1  # states outside of its trainer that a worker holds to run ahead
GRACE = 0.25  # seconds to finish what is not needed, if it may take long to get a new worker
PATIENCE = 5.0  # seconds that a worker with nothing to do has to end by itself

SLOW = 30.0  # seconds of starting after which a warning is due
START_TIMES = 10  # times the limit of a try in which a worker must start,
START_LEAST = 60.0  # and the seconds that it has at least
LOSSES = 3  # workers without a job in a row that may be lost while they start


@dataclass(slots=True, eq=False)
class WorkerHandle:
    """A worker, the request that it has not answered yet, and the states that are with it."""

    channel: Channel
    ready: bool = False
    request: Request | None = None  # not answered yet
    number: int | None = None  # the job that it carries out, or whose end state was asked for
    epochs: int | None = None  # begun of the job sent last; None: that has not arrived yet
    states: set[int] = field(default_factory=set)  # the jobs whose end states are with it
    sets_aside: bool = False  # some of them outside of its trainer, known here or not any longer
    origin: State = UNKNOWN_STATE  # what it was sent last
    lent: Any | None = None  # an origin that was packed for the job under way alone
    since: float = field(default_factory=time.monotonic)

    def ask(self, request: TrainRequest | PackRequest) -> None:
        """Send a request; that the worker is gone shows when its answer is received."""
        self.request = request
        self.number = request.number
        self.since = time.monotonic()
        if isinstance(request, TrainRequest):
            self.epochs = None
            self.sets_aside = bool(request.wanted)
        self._send(request)

    def forget(self) -> None:
        """None of its states is wanted any longer; no answer is waited for."""
        self.number = None
        self.states.clear()
        if self.sets_aside:
            self.sets_aside = False
            self._send(ForgetRequest())

    def _send(self, request: Request) -> None:
        with suppress(OSError):
            self.channel.send(request)

    def receive(self) -> Answer | Lost | None:
        """The next answer; None for a message that is the transport's own."""
        try:
            answer = self.channel.receive()
        except (EOFError, OSError):
            return self.end(PATIENCE)
        if isinstance(answer, Ready):
            self.ready = True
            self.since = time.monotonic()  # starting is no part of a try
        elif isinstance(answer, Began):
            self.epochs = answer.epochs
        return answer

    def overdue(self, limit: float | None) -> Lost | None:
        """Whether it takes too long, or has died without a sign (a child may hold its pipe)."""
        if not self.channel.is_alive():
            return self.end(0)
        left = self.seconds_left(limit)
        if left is None or left > 0:
            return None
        self.end(0)
        return Lost(f"it took longer than time_limit={limit} s", self.epochs)

    def seconds_left(self, limit: float | None) -> float | None:
        """The seconds it still has for what it was asked; None without a limit."""
        if limit is None or not self.ready:
            return None
        return self.since + limit - time.monotonic()

    def end(self, patience: float) -> Lost:
        """End it, by force if it does not end by itself, and say how it ended."""
        return self.channel.end(patience)._replace(epochs=self.epochs)


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
        self._slow_reported = False
        self._lost_starting = 0  # workers in a row, before they were ready
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
                worker.origin = UNKNOWN_STATE  # its round is over
        if not self._packed.keys() & self._jobs_from.keys():
            self._packed.clear()
            self.transport.release_all()

    def start_workers(self, count: int) -> None:
        """Have that many workers, or as many as allowed."""
        if not self.workers:
            # After multiprocessing was imported, so before it waits at exit for its processes;
            # twice, because Ctrl-C may break off the first call before it can be ignored.
            atexit.unregister(self._close_at_exit)
            for _ in range(2):
                atexit.register(self._close_at_exit)
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
        worker.ask(TrainRequest(number, replace(job, origin=None), origin, tuple(worker.states)))
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
                break  # a busy one will get free; one that is starting perhaps never
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
        """What to send to a worker that starts from there; None if it has that origin."""
        if worker.origin is origin:
            return None
        if self._jobs_from[id(origin)] == 1 < len(self._jobs_from):
            worker.lent = self._pack(origin)
            worker.origin = UNKNOWN_STATE
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
            worker.ask(PackRequest(number, tuple(worker.states)))
        return worker is not None

    def release(self, number: int, packed: Packed | Raised | None) -> None:
        """The end of a job is not needed any longer; its worker drops the state later."""
        if isinstance(packed, Packed):
            self.transport.release(packed.state)
        for worker in self.workers:
            worker.states.discard(number)
            if worker.number == number:
                worker.number = None

    def receive(self) -> Iterator[tuple[int, JobResult]]:
        """What there is to report of jobs that are still needed; after a while perhaps nothing."""
        expected = [each for each in self.workers if each.request is not None or not each.ready]
        left = [worker.seconds_left(self._time_limit) for worker in expected]
        may_wait, self._may_wait = self._may_wait, math.inf
        seconds = min([may_wait, LOOK_UP, *(each for each in left if each is not None)])
        channels = [worker.channel for worker in expected]
        answered = self.transport.wait(channels, max(0.0, seconds))
        for worker in expected:
            starting = not worker.ready
            # What has been answered counts, however late it is received: limits come second.
            in_time = worker.channel in answered
            answer = worker.receive() if in_time else worker.overdue(self._time_limit)
            if starting:
                self._check_start(worker, answer)
            if answer is None or isinstance(answer, Ready | Began):
                continue
            number = worker.number
            if isinstance(answer, Lost):
                self._replace(worker)
            else:
                self._settle(worker, answer)
            if number is not None:
                yield number, answer
            elif isinstance(answer, Packed):  # released before it came: keep() was interrupted
                self.transport.release(answer.state)

    def _check_start(self, worker: WorkerHandle, answer: Answer | Lost | None) -> None:
        """Stop a run whose workers cannot start: no repetition of a try would help."""
        name = self.transport.name
        if worker.ready:
            self._lost_starting = 0
        elif answer is None:
            self._check_wait(time.monotonic() - worker.since)
        elif isinstance(answer, Raised):
            raise SettingsError(
                f"{name}: make_trainer must build a trainer in a worker, got "
                f"{type(answer.error).__name__}: {answer.error}"
            ) from answer.to_raise()
        elif isinstance(answer, Lost):
            why = answer.why
            if not answer.by_itself:
                self._lost_starting += 1
                if worker.number is not None or self._lost_starting < LOSSES:
                    return  # bad luck: a new one is started, and its job is repeated
                why = f"{LOSSES} in a row were lost ({why})"
            raise SettingsError(
                f"{name}: a worker must be able to start, but {why}; {self.transport.start_hint}"
            )

    def _check_wait(self, seconds: float) -> None:
        """Warn that a worker takes long to start, or stop if it takes too long."""
        limit = None if self.transport.remote else self._time_limit
        if limit is not None:
            allowed = max(START_TIMES * limit, START_LEAST)
            if seconds > allowed:
                raise SettingsError(
                    f"{self.transport.name}: make_trainer must build a trainer in a worker in "
                    f"{allowed:g} s ({START_TIMES} times time_limit={limit}, {START_LEAST:g} s at "
                    "least), and still does; raise time_limit, or let it do less"
                )
            return
        # If workers may have to wait for room, one that works is enough.
        enough = self.transport.remote and any(each.ready for each in self.workers)
        if seconds > SLOW and not enough and not self._slow_reported:
            self._slow_reported = True
            self.transport.report_slow_start(SLOW)

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
        """Whether a worker finishes in time what it is doing; never waited for on this machine."""
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
        atexit.unregister(self._close_at_exit)

    def _close_at_exit(self) -> None:
        with interrupts_ignored():
            self.close()

    def _end(self, workers: Sequence[WorkerHandle], patience: float) -> None:
        until = time.monotonic() + patience
        for worker in list(workers):
            self._release_lent(worker)
            worker.end(max(0.0, until - time.monotonic()))
            self.workers.remove(worker)


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Hold Ctrl-C back: a worker just started must be known before anything is interrupted."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def interrupts_ignored() -> Iterator[None]:
    """Ignore Ctrl-C, in all threads: a mask would be this one's, and another might take it."""
    if threading.current_thread() is not threading.main_thread():
        yield  # Ctrl-C goes to the main thread, and only that may ignore it
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before or signal.SIG_DFL)  # None: not set by Python
