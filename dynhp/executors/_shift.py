"""A crew of processes at work on the jobs of one run."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

from dynhp.attempt import NOWHERE, Job
from dynhp.executors._crew import Crew
from dynhp.executors._lane import Lane
from dynhp.executors._messages import (
    Answer,
    Began,
    Fill,
    Heard,
    Lost,
    Pack,
    Packed,
    Raised,
    Ready,
    Report,
    Train,
    Weighed,
)
from dynhp.executors._origins import Origins
from dynhp.executors._shared import load
from dynhp.trainer import State

__all__ = ["Shift"]


class Shift:
    """What a schedule asks for, as messages; a trainer stays in the state of its last job.

    So a worker has one state at most, and has to put that aside before it can go on.
    """

    def __init__(self, crew: Crew, jobs: Sequence[Job]) -> None:
        self._crew = crew
        self._origins = Origins(crew, jobs)
        self._patience = math.inf  # seconds until there is a state to put aside

    @property
    def size(self) -> int:
        """How many workers there are at most."""
        return self._crew.workers

    def muster(self, count: int) -> None:
        """Have that many workers, or as many as allowed."""
        self._crew.muster(count)

    def begin(self, number: int, job: Job, *, ahead: bool) -> bool:
        """Begin a job; without a free worker, let those with a state put that aside."""
        idle = self._crew.idle()
        for lane in idle:
            if lane.number is None:
                lane.number = number
                lane.ask(Train(replace(job, origin=None), self._origins.sent(lane, job.origin)))
                return True
        if ahead:
            self._put_aside(idle)
        return False

    def _put_aside(self, idle: Sequence[Lane]) -> None:
        """A state is put aside when its worker has waited for as long as that takes."""
        for lane in idle:
            left = self._crew.packing - (time.monotonic() - lane.since)
            if left > 0:
                self._patience = min(self._patience, left)
            else:
                lane.ask(Pack())

    def hand_out(self, number: int) -> bool:
        """Ask for the state at the end of a job, where a worker is in it."""
        lane = next((lane for lane in self._crew.lanes if lane.number == number), None)
        if lane is not None and lane.asked is None:
            lane.ask(Pack())
        return lane is not None

    def listen(self) -> Iterator[tuple[int, Heard]]:
        """What there is to tell of jobs that have not been dealt with."""
        patience, self._patience = self._patience, math.inf
        for lane, answer in self._crew.listen(patience):
            number = lane.number
            if isinstance(answer, Lost):
                self._crew.segments.let_go(lane.segment)
                self._crew.replace(lane)
            elif number is None:  # dealt with before its state was put aside
                self._settle(lane)
            else:
                self._go_on(lane, answer)
            if number is not None and not isinstance(answer, Ready | Began | Weighed):
                yield number, answer

    def _go_on(self, lane: Lane, answer: Answer) -> None:
        if isinstance(answer, Weighed):
            lane.segment = self._crew.segments.make(answer.sizes)
            lane.ask(Fill(lane.segment))
        elif isinstance(answer, Report):
            lane.since = time.monotonic()
            self._settle(lane)
        elif isinstance(answer, Packed):
            lane.segment = None  # the schedule has it now
            lane.number = lane.asked = None
        elif isinstance(answer, Raised):
            self._settle(lane)
            lane.number = None
            lane.origin = NOWHERE  # perhaps it could not be loaded

    def _settle(self, lane: Lane) -> None:
        """What was asked is answered, and what was lent for that comes back."""
        self._crew.segments.let_go(lane.segment)
        lane.asked = lane.segment = None

    def load(self, packed: Packed) -> State:
        """The state, as the caller's own."""
        return load(packed.parcel, self._crew.segments.buffer)

    def let_go(self, number: int, packed: Packed | Raised | None) -> None:
        """Free the memory, and the worker that is in that state."""
        if isinstance(packed, Packed):
            self._crew.segments.let_go(packed.parcel.segment)
        for lane in self._crew.lanes:
            if lane.number == number:
                lane.number = None
