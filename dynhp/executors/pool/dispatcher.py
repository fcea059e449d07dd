"""The jobs of one run on several workers: begun in order, repeated if a worker is lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial

from dynhp.errors import ContractError
from dynhp.executors.contract import Job, Outcome
from dynhp.executors.pool.transport import Lost, Packed, Raised, TryReport
from dynhp.executors.pool.workers import WorkerPool
from dynhp.trainer import State


class Dispatcher:
    """Gives the jobs of one run to workers; a job is known by its place among them.

    With ``in_order`` outcomes come in the order of the jobs, else as soon as they are there.
    """

    def __init__(
        self, pool: WorkerPool, jobs: Sequence[Job], *, retries: int, in_order: bool = True
    ) -> None:
        self._pool = pool
        self._retries = retries
        self._in_order = in_order
        self._jobs = dict(enumerate(jobs))  # those whose outcomes may still be needed
        self._waiting = set(self._jobs)  # for a worker
        self._turn: int | None = None  # the job that was yielded last
        self._reports: dict[int, TryReport | Raised] = {}
        self._packed: dict[int, Packed | Raised] = {}
        self._losses: Counter[int] = Counter()
        self._missed: Counter[int] = Counter()  # given to a worker that was dead already
        pool.begin_run(jobs)

    def outcomes(self) -> Iterator[tuple[int, Outcome]]:
        """Yield the numbers of jobs and their outcomes."""
        while self._jobs:
            first = next(iter(self._jobs)) if self._in_order else None
            number = self._turn = self._wait_for_report(first)
            yield number, self._outcome(number)
            # The caller asks for the next outcome: it has decided about this one.
            self._turn = None
            del self._jobs[number]
            self._waiting.discard(number)  # there if keep() was interrupted while it was repeated
            self._reports.pop(number, None)
            self._pool.release(number, self._packed.pop(number, None))

    def _outcome(self, number: int) -> Outcome:
        report = self._reports[number]
        if isinstance(report, Raised):
            raise report.to_raise()
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
            else:  # the state died with its worker: carry out the job once more
                if number in self._reports:
                    self._waiting.add(number)
                    del self._reports[number]
                self._wait_for_report(number)
                self._outcome(number)  # raises what the repetition raised
        packed = self._packed[number]
        if isinstance(packed, Raised):
            raise packed.to_raise()
        return self._pool.transport.load(packed.state)

    def _wait_for_report(self, wanted: int | None) -> int:
        """Keep all workers busy until this job is reported (None: any); the job that is."""
        self._pool.start_workers(len(self._waiting))
        self._assign(ahead=False)
        while (wanted not in self._reports) if wanted is not None else not self._reports:
            self._assign(ahead=True)
            self._receive()
            self._assign(ahead=False)
        return next(iter(self._reports)) if wanted is None else wanted

    def _assign(self, *, ahead: bool) -> None:
        """Give jobs to workers for as long as there are both."""
        while self._waiting:
            number = min(self._waiting)
            # In order it is bounded how far workers run ahead: every state set aside takes memory.
            if self._in_order and number >= next(iter(self._jobs)) + 2 * self._pool.size:
                return
            if not self._pool.begin(number, self._jobs[number], ahead=ahead):
                return
            self._waiting.remove(number)

    def _receive(self) -> None:
        for number, news in self._pool.receive():
            if isinstance(news, Lost):
                self._repeat(number, news)
            elif isinstance(news, Packed) or (isinstance(news, Raised) and number in self._reports):
                self._packed[number] = news
            else:
                self._reports[number] = news

    def _repeat(self, number: int, lost: Lost) -> None:
        """A worker is lost, with the job it had begun or the state it was in: repeat that job."""
        if lost.epochs is None and self._missed[number] < self._pool.size:
            self._missed[number] += 1  # it died before the job arrived: not the job's fault
        else:
            self._losses[number] += 1
        times = self._losses[number]
        if times <= self._retries:
            if number not in self._reports:
                self._waiting.add(number)
            return
        epochs = lost.epochs or 0
        error = f"WorkerLost: its worker was lost {times} times, last in epoch {epochs}: {lost.why}"
        self._reports.setdefault(number, TryReport((), epochs, error, 0.0))
        self._packed[number] = Raised(ContractError(f"there is no state to keep: {error}"), "")
