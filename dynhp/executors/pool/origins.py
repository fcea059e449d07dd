"""The states that the jobs of a heat start from, sent to each worker no more often than needed."""

from __future__ import annotations

import time
from collections.abc import Sequence

from dynhp.executors.pool.crew import Crew
from dynhp.executors.pool.handle import Lane
from dynhp.executors.pool.packing import PackedState, pack
from dynhp.rounds.jobs import UNKNOWN_STATE, Job
from dynhp.trainer import State

__all__ = ["Origins"]


class Origins:
    """An origin that all jobs share is packed once and stays with the workers that have it.

    Where each job has its own, as in the later stages of a race, each serves once.
    """

    def __init__(self, crew: Crew, jobs: Sequence[Job]) -> None:
        self._crew = crew
        self._shared = all(job.origin is jobs[0].origin for job in jobs)
        self._packed: PackedState | None = None
        for lane in crew.lanes:  # those of a round that is over are let go, here at least
            if all(job.origin is not lane.origin for job in jobs):
                lane.origin = UNKNOWN_STATE

    def sent(self, lane: Lane, origin: State) -> PackedState | None:
        """What to send to a worker that is to start from there; None where it has it."""
        if lane.origin is origin:
            return None
        if not self._shared:
            parcel = self._pack(origin)
            lane.origin, lane.segment = UNKNOWN_STATE, parcel.segment
            return parcel
        if self._packed is None:
            self._packed = self._pack(origin)
        lane.origin = origin
        return self._packed

    def _pack(self, origin: State) -> PackedState:
        began = time.monotonic()
        parcel = pack(origin, self._crew.segments)
        self._crew.packing = time.monotonic() - began
        return parcel
