"""The jobs of one heat on several workers: begun in order, yielded in order, retried when lost."""

from __future__ import annotations

import heapq
import math
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from dynhp.attempt import NOWHERE, Job, Outcome
from dynhp.errors import ContractError
from dynhp.executors._crew import Crew
from dynhp.executors._lane import Lane
from dynhp.executors._messages import (
    Answer,
    Began,
    Fill,
    Lost,
    Pack,
    Packed,
    Raised,
    Report,
    Train,
    Weighed,
)
from dynhp.executors._origins import Origins
from dynhp.executors._shared import Parcel, load
from dynhp.trainer import State

__all__ = ["Schedule"]


class Schedule:
    """Who does what: jobs have numbers, and ``turn`` is the one whose outcome is next."""

    def __init__(self, crew: Crew, jobs: Sequence[Job], *, retries: int) -> None:
        self._crew = crew
        self._retries = retries
        self._jobs = dict(enumerate(jobs))  # those whose outcomes have not been dealt with
        self._waiting = list(self._jobs)  # a heap
        self._turn = 0
        self._reports: dict[int, Report | Raised] = {}
        self._packed: dict[int, Parcel | Raised] = {}
        self._losses: Counter[int] = Counter()
        self._origins = Origins(crew, jobs)

    def outcomes(self) -> Iterator[Outcome]:
        """Yield the outcomes in the order of the jobs."""
        while self._jobs:
            number = self._turn
            yield self._outcome(number, self._reported(number))
            # Whoever asks for the next outcome has made up his mind about this one.
            self._let_go(number)

    def _reported(self, number: int) -> Report | Raised:
        """What came of a job: see to it that all workers have work, and listen until it is told."""
        self._crew.muster(len(self._waiting))
        self._assign()
        while number not in self._reports:
            self._listen(self._run_ahead())
            self._assign()
        return self._reports[number]

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
        """The state at the end of a job, pulled from its worker or from where it was put aside."""
        if number != self._turn:
            raise ContractError("keep() must be called before the next outcome is asked for")
        while number not in self._packed:
            lane = next((lane for lane in self._crew.lanes if lane.number == number), None)
            if lane is None:  # it died with the state: once more
                del self._reports[number]
                heapq.heappush(self._waiting, number)
                self._outcome(number, self._reported(number))
            else:
                if lane.asked is None:
                    lane.ask(Pack())
                self._listen()
        found = self._packed[number]
        if isinstance(found, Raised):
            raise found.again()
        return load(found, self._crew.segments.buffer)

    def _let_go(self, number: int) -> None:
        self._turn += 1
        del self._jobs[number], self._reports[number]
        found = self._packed.pop(number, None)
        if isinstance(found, Parcel):
            self._crew.segments.let_go(found.segment)
        for lane in self._crew.lanes:
            if lane.number == number and lane.asked is None:
                lane.number = None

    def _assign(self) -> None:
        """Give jobs to the workers that have nothing to do or to hold."""
        for lane in self._crew.idle():
            if lane.number is None and self._has_next():
                self._begin(lane, heapq.heappop(self._waiting))

    def _has_next(self) -> bool:
        """Whether a job may be begun; bounded, for every state put aside takes memory."""
        return bool(self._waiting) and self._waiting[0] < self._turn + 2 * self._crew.workers

    def _run_ahead(self) -> float:
        """Let workers put their states aside and go on, where it is not soon their turn.

        A state is put aside when its worker has waited for as long as that takes. Gives the
        seconds until the next one has.
        """
        left = math.inf
        for lane in self._crew.idle():
            if lane.number is not None and self._has_next():
                waited = time.monotonic() - lane.since
                if waited >= self._crew.packing:
                    lane.ask(Pack())
                else:
                    left = min(left, self._crew.packing - waited)
        return left

    def _begin(self, lane: Lane, number: int) -> None:
        job = self._jobs[number]
        lane.number = number
        lane.ask(Train(replace(job, origin=None), self._origins.sent(lane, job.origin)))

    def _listen(self, patience: float = math.inf) -> None:
        for lane, answer in self._crew.listen(patience):
            assert lane.number is not None  # none is asked for anything but a job's sake
            if isinstance(answer, Lost):
                self._lost(lane, lane.number, answer)
            elif lane.number not in self._jobs:
                self._unwanted(lane)
            else:
                self._heard(lane, lane.number, answer)

    def _heard(self, lane: Lane, number: int, answer: Answer) -> None:
        if isinstance(answer, Weighed):
            lane.segment = self._crew.segments.make(answer.sizes)
            lane.ask(Fill(lane.segment))
        elif isinstance(answer, Report):
            self._reports[number] = answer
            lane.since = time.monotonic()
            self._crew.segments.let_go(lane.segment)
            lane.asked = lane.segment = None
        elif isinstance(answer, Packed):
            self._packed[number] = answer.parcel
            lane.asked = lane.segment = lane.number = None
        elif isinstance(answer, Raised):
            self._raised(lane, number, answer)
        elif isinstance(answer, Began):
            lane.epochs += 1

    def _unwanted(self, lane: Lane) -> None:
        """A state that was to be put aside, but was dealt with before it was packed."""
        self._crew.segments.let_go(lane.segment)
        lane.asked = lane.segment = lane.number = None

    def _raised(self, lane: Lane, number: int, answer: Raised) -> None:
        where = self._reports if isinstance(lane.asked, Train) else self._packed
        where[number] = answer
        self._crew.segments.let_go(lane.segment)
        lane.asked = lane.segment = lane.number = None
        lane.origin = NOWHERE  # perhaps it could not be loaded

    def _lost(self, lane: Lane, number: int, lost: Lost) -> None:
        """A worker is gone, with the job it had begun or the state it was in: that is repeated."""
        self._crew.segments.let_go(lane.segment)
        self._crew.replace(lane)
        if number not in self._jobs:
            return
        self._losses[number] += 1
        times = self._losses[number]
        if times <= self._retries:
            if number not in self._reports:
                heapq.heappush(self._waiting, number)
            return
        error = (
            f"WorkerLost: its worker was lost {times} times, at last in epoch {lane.epochs}: "
            f"{lost.why}"
        )
        if number not in self._reports:
            self._reports[number] = Report((), lane.epochs, error, 0.0)
        self._packed[number] = Raised(ContractError(f"there is no state to keep: {error}"), "")
