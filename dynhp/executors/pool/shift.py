"""A crew of processes at work on the jobs of one run."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

from dynhp.executors.pool.crew import Crew
from dynhp.executors.pool.handle import Lane
from dynhp.executors.pool.messages import (
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
from dynhp.executors.pool.origins import Origins
from dynhp.executors.pool.packing import load
from dynhp.rounds.jobs import UNKNOWN_STATE, Job
from dynhp.trainer import State

__all__ = ["Shift"]


class Shift:
    """What a schedule asks for, as messages; a state stays with its worker until it is asked for.

    A trainer stays in the state of its last job. To run ahead its worker puts that aside, in its
    own memory, and hands it out between two jobs: whoever waits for the state of a worker that
    is busy waits for a job that has to be done anyway.
    """

    def __init__(self, crew: Crew, jobs: Sequence[Job]) -> None:
        self._crew = crew
        self._origins = Origins(crew, jobs)
        self._patience = math.inf  # seconds until a worker may put its state aside

    @property
    def size(self) -> int:
        """How many workers there are at most."""
        return self._crew.workers

    def muster(self, count: int) -> None:
        """Have that many workers, or as many as allowed."""
        self._crew.muster(count)

    def begin(self, number: int, job: Job, *, ahead: bool) -> bool:
        """Begin a job; to run ahead, a worker keeps the states it has for the time."""
        lane = self._free(ahead=ahead)
        if lane is not None:
            origin = self._origins.sent(lane, job.origin)
            lane.ask(Train(number, replace(job, origin=None), origin, tuple(lane.holds)))
        return lane is not None

    def _free(self, *, ahead: bool) -> Lane | None:
        """A worker without a state or else, to run ahead, one that waits with the fewest.

        It has to have waited for as long as a copy of a state takes: perhaps none is needed.
        """
        idle = sorted(self._crew.idle(), key=lambda lane: len(lane.holds))
        if idle and not idle[0].holds:
            return idle[0]
        for lane in idle if ahead else ():
            left = self._crew.packing - (time.monotonic() - lane.since)
            if left <= 0:
                return lane
            self._patience = min(self._patience, left)
        return None

    def hand_out(self, number: int) -> bool:
        """Ask for the state at the end of a job, where a worker has it; a busy one later."""
        lane = next((lane for lane in self._crew.lanes if number in lane.holds), None)
        if lane is not None and lane.asked is None:
            lane.ask(Pack(number))
        return lane is not None

    def listen(self) -> Iterator[tuple[int, Heard]]:
        """What there is to tell of jobs that have not been dealt with."""
        patience, self._patience = self._patience, math.inf
        for lane, answer in self._crew.listen(patience):
            number = lane.number
            if isinstance(answer, Lost):
                self._crew.segments.let_go(lane.segment)
                self._crew.replace(lane)
            elif number is None:  # dealt with before its state came: keep() was broken off
                self._settle(lane)
            else:
                self._go_on(lane, number, answer)
            if number is not None and not isinstance(answer, Ready | Began | Weighed):
                yield number, answer

    def _go_on(self, lane: Lane, number: int, answer: Answer) -> None:
        if isinstance(answer, Weighed):
            lane.segment = self._crew.segments.make(answer.sizes)
            lane.ask(Fill(lane.segment))
        elif isinstance(answer, Report):
            lane.since = time.monotonic()
            lane.holds.add(number)
            self._settle(lane)
        elif isinstance(answer, Packed):
            lane.holds.discard(number)
            lane.segment = None  # the schedule has it now
            self._settle(lane)
        elif isinstance(answer, Raised):
            lane.holds.discard(number)
            lane.origin = UNKNOWN_STATE  # perhaps it could not be loaded
            self._settle(lane)

    def _settle(self, lane: Lane) -> None:
        """What was asked is answered, and what was lent for that comes back."""
        self._crew.segments.let_go(lane.segment)
        lane.number = lane.asked = lane.segment = None

    def load(self, packed: Packed) -> State:
        """The state, as the caller's own."""
        return load(packed.parcel, self._crew.segments.buffer)

    def let_go(self, number: int, packed: Packed | Raised | None) -> None:
        """Free the memory; the worker that has the state is told with its next job."""
        if isinstance(packed, Packed):
            self._crew.segments.let_go(packed.parcel.segment)
        for lane in self._crew.lanes:
            lane.holds.discard(number)
            if lane.number == number:
                lane.number = None
