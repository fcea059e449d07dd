"""Jobs on several workers: begun in order, yielded in order or as they end, repeated when lost."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from dynhp.errors import ContractError
from dynhp.executors.pool.messages import Lost, Packed, Raised, TryReport
from dynhp.executors.pool.workers import WorkerPool
from dynhp.rounds.jobs import Job, Outcome
from dynhp.trainer import State

__all__ = ["Dispatcher"]


class Dispatcher:
    """Gives the jobs of one run to workers: jobs have numbers, ``turn`` is the one yielded last.

    With ``in_order`` outcomes come in the order of the jobs, else as soon as they are there.
    """

    def __init__(
        self, pool: WorkerPool, jobs: Sequence[Job], *, retries: int, in_order: bool = True
    ) -> None:
        self._pool = pool
        self._retries = retries
        self._in_order = in_order
        self._jobs = dict(enumerate(jobs))  # those whose outcomes may still be needed
        self._waiting = list(self._jobs)  # a heap
        self._turn: int | None = None
        self._reports: dict[int, TryReport | Raised] = {}
        self._packed: dict[int, Packed | Raised] = {}
        self._losses: Counter[int] = Counter()
        self._missed: Counter[int] = Counter()  # given to a worker that was dead already
        pool.begin_run(jobs)

    def outcomes(self) -> Iterator[tuple[int, Outcome]]:
        """Yield the numbers of jobs and their outcomes."""
        while self._jobs:
            number = self._turn = self._next_reported()
            yield number, self._outcome(number, self._reports[number])
            # The caller asks for the next outcome: it has decided about this one.
            self._turn = None
            self._drop(number)

    def _drop(self, number: int) -> None:
        del self._jobs[number]
        self._reports.pop(number, None)  # gone where keep() was interrupted, made once more
        if number in self._waiting:
            self._waiting.remove(number)
            heapq.heapify(self._waiting)
        self._pool.release(number, self._packed.pop(number, None))

    def _next_reported(self) -> int:
        """The job whose outcome is next, once it is reported."""
        if self._in_order:
            first = next(iter(self._jobs))
            self._receive_until(lambda: first in self._reports)
            return first
        self._receive_until(lambda: bool(self._reports))
        return next(iter(self._reports))

    def _receive_until(self, done: Callable[[], bool]) -> None:
        """See to it that all workers have work, and receive answers until it is done."""
        self._pool.start_workers(len(self._waiting))
        self._assign(ahead=False)
        while not done():
            self._assign(ahead=True)
            self._receive()
            self._assign(ahead=False)

    def _outcome(self, number: int, report: TryReport | Raised) -> Outcome:
        if isinstance(report, Raised):
            raise report.again()
        return Outcome(
            series=report.series,
            epochs=report.epochs,
            keep=partial(self._keep, number),
            error=report.error,
            elsewhere=True,
            seconds=report.seconds,
        )

    def _keep(self, number: int) -> State:
        """The state at the end of a job, from the worker that has it; it is sent once."""
        if number != self._turn:
            raise ContractError("keep() must be called before the next outcome is asked for")
        while number not in self._packed:
            if self._pool.hand_out(number):
                self._assign(ahead=self._in_order)  # that worker may be busy for long
                self._receive()
            else:  # it died with its worker: once more
                if number in self._reports and number not in self._waiting:
                    heapq.heappush(self._waiting, number)
                self._reports.pop(number, None)
                self._receive_until(lambda: number in self._reports)
                self._outcome(number, self._reports[number])
        packed = self._packed[number]
        if isinstance(packed, Raised):
            raise packed.again()
        return self._pool.transport.load(packed.state)

    def _assign(self, *, ahead: bool) -> None:
        """Give jobs to workers for as long as there are both."""
        while self._has_next():
            number = self._waiting[0]
            if not self._pool.begin(number, self._jobs[number], ahead=ahead):
                return
            heapq.heappop(self._waiting)

    def _has_next(self) -> bool:
        """Whether a job may be begun; bounded, because every state set aside takes memory."""
        if not self._waiting or not self._in_order:
            return bool(self._waiting)
        return self._waiting[0] < next(iter(self._jobs)) + 2 * self._pool.size

    def _receive(self) -> None:
        for number, news in self._pool.receive():
            if isinstance(news, Lost):
                self._lost(number, news)
            elif isinstance(news, TryReport):
                self._reports[number] = news
            elif isinstance(news, Packed) or number in self._reports:
                self._packed[number] = news
            else:
                self._reports[number] = news

    def _lost(self, number: int, lost: Lost) -> None:
        """A worker is gone, with the job it had begun or the state it was in: that is repeated."""
        if lost.epochs is None and self._missed[number] < self._pool.size:
            self._missed[number] += 1  # it died before the job arrived: no fault of the job's
        else:
            self._losses[number] += 1
        times = self._losses[number]
        if times <= self._retries:
            if number not in self._reports:
                heapq.heappush(self._waiting, number)
            return
        epochs = lost.epochs or 0
        error = f"WorkerLost: its worker was lost {times} times, last in epoch {epochs}: {lost.why}"
        self._reports.setdefault(number, TryReport((), epochs, error, 0.0))
        self._packed[number] = Raised(ContractError(f"there is no state to keep: {error}"), "")
