"""The jobs of one heat on several actors: begun in order, yielded in order, retried when lost."""

from __future__ import annotations

import heapq
import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import ray

from dynhp.attempt import Job, Outcome
from dynhp.errors import ContractError
from dynhp.executors._messages import Raised, Report
from dynhp.trainer import State
from dynhp_ray._crew import Crew
from dynhp_ray._desk import Answer, Packed
from dynhp_ray._lane import Lane, Lost
from dynhp_ray._parcels import Parcel, own, pack

__all__ = ["Schedule"]

_keys = itertools.count()  # of origins; never used twice, so that no actor takes one for another


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
        self._missed: Counter[int] = Counter()  # given to an actor that was dead already
        self._origins: dict[int, tuple[int, Any]] = {}  # by identity: key, and where Ray has it

    def outcomes(self) -> Iterator[Outcome]:
        """Yield the outcomes in the order of the jobs."""
        while self._jobs:
            number = self._turn
            yield self._outcome(number, self._reported(number))
            # Whoever asks for the next outcome has made up his mind about this one.
            self._let_go(number)

    def _reported(self, number: int) -> Report | Raised:
        """What came of a job: see to it that all actors have work, and listen until it is told."""
        self._crew.muster(len(self._waiting))
        self._assign(ahead=False)
        while number not in self._reports:
            self._assign(ahead=True)
            self._listen()
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
        """The state at the end of a job, pulled from its actor; where that died: once more."""
        if number != self._turn:
            raise ContractError("keep() must be called before the next outcome is asked for")
        while number not in self._packed:
            lane = self._crew.holder(number)
            if lane is None:
                del self._reports[number]
                heapq.heappush(self._waiting, number)
                self._reported(number)
            else:
                if lane.asked is None:
                    lane.hand_out(number)
                self._assign(ahead=True)
                self._listen()
        found = self._packed[number]
        if isinstance(found, Raised):
            raise found.again()
        return own(found)

    def _let_go(self, number: int) -> None:
        self._turn += 1
        job = self._jobs.pop(number)
        if not any(other.origin is job.origin for other in self._jobs.values()):
            self._origins.pop(id(job.origin), None)
        self._reports.pop(number)
        self._packed.pop(number, None)
        for lane in self._crew.lanes:
            lane.holds.discard(number)

    def _assign(self, *, ahead: bool) -> None:
        """Give jobs to idle actors; to run ahead, one keeps the states it has for the time."""
        for lane in self._crew.idle():
            # Bounded, for every state put aside takes memory.
            if not self._waiting or self._waiting[0] >= self._turn + 2 * self._crew.actors:
                return
            if ahead or not lane.holds:
                number = heapq.heappop(self._waiting)
                job = self._jobs[number]
                lane.train(number, job, *self._origin_of(job))

    def _origin_of(self, job: Job) -> tuple[int, Any]:
        """What names a job's origin, and the reference to it: put into the object store once."""
        if id(job.origin) not in self._origins:
            self._origins[id(job.origin)] = next(_keys), ray.put(pack(job.origin))
        return self._origins[id(job.origin)]

    def _listen(self) -> None:
        for lane, answer in self._crew.listen():
            assert lane.job is not None  # none is asked for anything but a job's sake
            if isinstance(answer, Lost):
                self._lost(lane, lane.job, answer)
            elif lane.job in self._jobs:
                self._heard(lane, lane.job, answer)

    def _heard(self, lane: Lane, number: int, answer: Answer) -> None:
        if isinstance(answer, Report):
            self._reports[number] = answer
            lane.holds.add(number)
        elif isinstance(answer, Packed):
            self._packed[number] = answer.parcel
        elif isinstance(answer, Raised):
            if number in self._reports:
                self._packed[number] = answer
            else:
                self._reports[number] = answer

    def _lost(self, lane: Lane, number: int, lost: Lost) -> None:
        """An actor is gone, with the job it had begun and the states it held."""
        self._crew.replace(lane)
        if number not in self._jobs:
            return
        if lane.epochs is None and self._missed[number] < self._crew.actors:
            self._missed[number] += 1  # it died before the job arrived: no fault of the job's
        else:
            self._losses[number] += 1
        times = self._losses[number]
        if times <= self._retries:
            if number not in self._reports:
                heapq.heappush(self._waiting, number)
            return
        epochs = lane.epochs or 0
        error = f"WorkerLost: {times} of {times} times, the last in epoch {epochs}: {lost.why}"
        self._reports.setdefault(number, Report((), epochs, error, 0.0))
        self._packed[number] = Raised(ContractError(f"there is no state to keep: {error}"), "")
