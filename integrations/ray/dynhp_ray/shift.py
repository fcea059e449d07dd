"""A crew of actors at work on the jobs of one run."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import ray

from dynhp.executors.pool.messages import Began, Heard, Lost, Packed, Raised, Ready, Report, Weighed
from dynhp.rounds.jobs import Job
from dynhp.trainer import State
from dynhp_ray.crew import Crew
from dynhp_ray.packing import own, pack

__all__ = ["Shift"]

_keys = itertools.count()  # of origins; never used twice, so that no actor takes one for another


class Shift:
    """What a schedule asks for, as calls; an actor may hold several states, one in its trainer."""

    def __init__(self, crew: Crew, jobs: Sequence[Job]) -> None:
        self._crew = crew
        self._origins: dict[int, tuple[int, Any]] = {}  # by identity: key, and where Ray has it
        self._identities = [id(job.origin) for job in jobs]
        self._needed = Counter(self._identities)

    @property
    def size(self) -> int:
        """How many actors there are at most."""
        return self._crew.actors

    def muster(self, count: int) -> None:
        """Have that many actors, or as many as allowed."""
        self._crew.muster(count)

    def begin(self, number: int, job: Job, *, ahead: bool) -> bool:
        """Begin a job; to run ahead, an actor keeps the states it has for the time."""
        lane = next((lane for lane in self._crew.idle() if ahead or not lane.holds), None)
        if lane is not None:
            lane.train(number, job, *self._origin_of(job))
        return lane is not None

    def _origin_of(self, job: Job) -> tuple[int, Any]:
        """What names a job's origin, and the reference to it: put into the object store once."""
        if id(job.origin) not in self._origins:
            self._origins[id(job.origin)] = next(_keys), ray.put(pack(job.origin))
        return self._origins[id(job.origin)]

    def hand_out(self, number: int) -> bool:
        """Ask for the state at the end of a job, where an actor has it."""
        lane = self._crew.holder(number)
        if lane is not None and lane.asked is None:
            lane.hand_out(number)
        return lane is not None

    def listen(self) -> Iterator[tuple[int, Heard]]:
        """What there is to tell of jobs that have not been dealt with."""
        for lane, answer in self._crew.listen():
            number = lane.job
            if isinstance(answer, Lost):
                self._crew.replace(lane)
            if number is None or isinstance(answer, Ready | Began | Weighed):
                continue
            if isinstance(answer, Report):
                lane.holds.add(number)
            yield number, answer

    def load(self, packed: Packed) -> State:
        """The state, as the caller's own."""
        return own(packed.parcel)

    def let_go(self, number: int, packed: Packed | Raised | None) -> None:
        """Let the state go, and the origin where no other job needs it."""
        origin = self._identities[number]
        self._needed[origin] -= 1
        if not self._needed[origin]:
            self._origins.pop(origin, None)
        for lane in self._crew.lanes:
            lane.holds.discard(number)
            if lane.job == number:
                lane.job = None
