"""Jobs on several workers: begun in order, yielded in order or as they end, retried when lost."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Protocol

from dynhp.errors import ContractError
from dynhp.executors.pool.messages import Heard, Lost, Packed, Raised, Report
from dynhp.rounds.jobs import Job, Outcome
from dynhp.trainer import State

__all__ = ["Dispatcher", "Workers"]


class Workers(Protocol):
    """Who carries out the jobs, as a schedule sees it: whatever is done is done for a number."""

    @property
    def size(self) -> int:
        """How many workers there are at most."""
        ...

    def muster(self, count: int) -> None:
        """Have that many workers, or as many as allowed."""
        ...

    def begin(self, number: int, job: Job, *, ahead: bool) -> bool:
        """Begin a job, or tell that no worker is free.

        ``ahead`` allows for a worker that has a state: it puts that aside, in its own memory.
        """
        ...

    def hand_out(self, number: int) -> bool:
        """Ask for the state at the end of a job, or tell that no worker has it any longer."""
        ...

    def listen(self) -> Iterable[tuple[int, Heard]]:
        """What there is to tell of jobs; after a while perhaps nothing."""
        ...

    def load(self, packed: Packed) -> State:
        """The state, as the caller's own."""
        ...

    def let_go(self, number: int, packed: Packed | Raised | None) -> None:
        """The end of a job is not needed any longer, nor its state where that was packed."""
        ...


class Dispatcher:
    """Who does what: jobs have numbers, and ``turn`` is the one whose outcome is dealt with.

    With ``in_order`` outcomes come in the order of the jobs, else as soon as they are there.
    """

    def __init__(
        self, workers: Workers, jobs: Sequence[Job], *, retries: int, in_order: bool = True
    ) -> None:
        self._workers = workers
        self._retries = retries
        self._in_order = in_order
        self._jobs = dict(enumerate(jobs))  # those whose outcomes have not been dealt with
        self._waiting = list(self._jobs)  # a heap
        self._turn: int | None = None
        self._reports: dict[int, Report | Raised] = {}
        self._packed: dict[int, Packed | Raised] = {}
        self._losses: Counter[int] = Counter()
        self._missed: Counter[int] = Counter()  # given to a worker that was dead already

    def outcomes(self) -> Iterator[tuple[int, Outcome]]:
        """Yield the numbers of jobs and their outcomes."""
        while self._jobs:
            number = self._turn = self._due()
            yield number, self._outcome(number, self._reports[number])
            # Whoever asks for the next outcome has made up his mind about this one.
            self._turn = None
            del self._jobs[number], self._reports[number]
            self._workers.let_go(number, self._packed.pop(number, None))

    def _due(self) -> int:
        """The job whose outcome is next, once it is told."""
        if self._in_order:
            first = next(iter(self._jobs))
            self._listen_until(lambda: first in self._reports)
            return first
        self._listen_until(lambda: bool(self._reports))
        return next(iter(self._reports))

    def _listen_until(self, told: Callable[[], bool]) -> None:
        """See to it that all workers have work, and listen until something is told."""
        self._workers.muster(len(self._waiting))
        self._assign(ahead=False)
        while not told():
            self._assign(ahead=True)
            self._listen()
            self._assign(ahead=False)

    def _outcome(self, number: int, report: Report | Raised) -> Outcome:
        if isinstance(report, Raised):
            raise report.again()
        return Outcome(
            series=report.series,
            epochs=report.epochs,
            keep=partial(self._keep, number),
            error=report.error,
            seconds=report.seconds,
        )

    def _keep(self, number: int) -> State:
        """The state at the end of a job, from the worker that has it; it is sent once."""
        if number != self._turn:
            raise ContractError("keep() must be called before the next outcome is asked for")
        while number not in self._packed:
            if self._workers.hand_out(number):
                self._assign(ahead=self._in_order)  # that worker may be busy for long
                self._listen()
            else:  # it died with its worker: once more
                del self._reports[number]
                heapq.heappush(self._waiting, number)
                self._listen_until(lambda: number in self._reports)
                self._outcome(number, self._reports[number])
        found = self._packed[number]
        if isinstance(found, Raised):
            raise found.again()
        return self._workers.load(found)

    def _assign(self, *, ahead: bool) -> None:
        """Give jobs to workers for as long as there are both."""
        while self._has_next():
            number = self._waiting[0]
            if not self._workers.begin(number, self._jobs[number], ahead=ahead):
                return
            heapq.heappop(self._waiting)

    def _has_next(self) -> bool:
        """Whether a job may be begun; bounded, for every state put aside takes memory."""
        if not self._waiting or not self._in_order:
            return bool(self._waiting)
        return self._waiting[0] < next(iter(self._jobs)) + 2 * self._workers.size

    def _listen(self) -> None:
        for number, heard in self._workers.listen():
            if isinstance(heard, Lost):
                self._lost(number, heard)
            elif isinstance(heard, Report):
                self._reports[number] = heard
            elif isinstance(heard, Packed) or number in self._reports:
                self._packed[number] = heard
            else:
                self._reports[number] = heard

    def _lost(self, number: int, lost: Lost) -> None:
        """A worker is gone, with the job it had begun or the state it was in: that is repeated."""
        if lost.epochs is None and self._missed[number] < self._workers.size:
            self._missed[number] += 1  # it died before the job arrived: no fault of the job's
        else:
            self._losses[number] += 1
        times = self._losses[number]
        if times <= self._retries:
            if number not in self._reports:
                heapq.heappush(self._waiting, number)
            return
        epochs = lost.epochs or 0
        error = (
            f"WorkerLost: its worker was lost {times} times, at last in epoch {epochs}: {lost.why}"
        )
        self._reports.setdefault(number, Report((), epochs, error, 0.0))
        self._packed[number] = Raised(ContractError(f"there is no state to keep: {error}"), "")
