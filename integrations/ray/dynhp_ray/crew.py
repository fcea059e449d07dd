"""The actors of an executor: started when they are needed, replaced when they die, ended."""

from __future__ import annotations

import time
import warnings
from typing import Any

import ray

from dynhp.errors import SettingsError
from dynhp.executors.pool.messages import Answer, Lost, Raised, Ready
from dynhp_ray.actors import Desk
from dynhp_ray.handle import Lane

__all__ = ["Crew"]

_LOOK_UP = 1.0  # seconds between two looks at the clock
_STARTS = 3  # actors in a row that may die before they are ready
_SLOW = 30.0  # seconds without any actor after which a word is due
_GRACE = 0.25  # seconds to finish what nobody waits for: a new actor takes longer


class Crew:
    """Actors, each with a trainer of its own."""

    def __init__(
        self,
        factory: bytes,
        *,
        actors: int,
        num_cpus: float,
        num_gpus: float,
        time_limit: float | None,
    ) -> None:
        self._factory = factory
        self._limit = time_limit
        self._failed_starts = 0
        self._slow_at = time.monotonic() + _SLOW
        self._needs = f"num_cpus={num_cpus:g}, num_gpus={num_gpus:g}"
        self.actors = actors
        self.lanes: list[Lane] = []
        remote: Any = ray.remote(Desk)
        self._desk = remote.options(
            num_cpus=num_cpus,
            num_gpus=num_gpus,
            max_restarts=0,  # its states would be lost anyway: a new one is started here
            scheduling_strategy="SPREAD",
        )

    def muster(self, count: int) -> None:
        """Have that many actors, or as many as allowed; those Ray has no room for may wait."""
        while len(self.lanes) < min(count, self.actors):
            actor = self._desk.remote(self._factory)
            self.lanes.append(Lane(actor, actor.ready.remote()))

    def idle(self) -> list[Lane]:
        """The actors with nothing to do, those first that hold no state."""
        idle = [lane for lane in self.lanes if lane.ready and lane.asked is None]
        return sorted(idle, key=lambda lane: len(lane.holds))

    def holder(self, number: int) -> Lane | None:
        """Who has the state at the end of that job."""
        return next((lane for lane in self.lanes if number in lane.holds), None)

    def listen(self) -> list[tuple[Lane, Answer | Lost]]:
        """What busy actors answer, one answer each; return after a while without any, too."""
        busy = [lane for lane in self.lanes if lane.asked is not None]
        asked = [lane.asked for lane in busy]
        ray.wait(asked, timeout=self._patience(busy), fetch_local=False)
        found, _ = ray.wait(asked, num_returns=len(asked), timeout=0, fetch_local=False)
        heard: list[tuple[Lane, Answer | Lost]] = []
        for lane in busy:
            # What has been answered counts, however late one listens: limits come second.
            if lane.asked in found:
                heard.append((lane, lane.hear()))
            elif (lost := lane.overdue(self._limit)) is not None:
                heard.append((lane, lost))
        self._warn()
        return [(lane, answer) for lane, answer in heard if self._is_about_a_job(lane, answer)]

    def _patience(self, busy: list[Lane]) -> float:
        left = [lane.left(self._limit) for lane in busy]
        return max(0.0, min([_LOOK_UP, *(seconds for seconds in left if seconds is not None)]))

    def _warn(self) -> None:
        """Say once that Ray has given no actor for long: perhaps it never will."""
        if time.monotonic() > self._slow_at and not any(lane.ready for lane in self.lanes):
            self._slow_at = float("inf")
            everything: Any = ray.cluster_resources()
            warnings.warn(
                f"RayExecutor: no actor with {self._needs} has started for {_SLOW:g} s; the "
                f"cluster has {everything}. It waits on: where that can never be, ask for less",
                RuntimeWarning,
                stacklevel=2,
            )

    def _is_about_a_job(self, lane: Lane, answer: Answer | Lost) -> bool:
        """Whether it concerns a job; what concerns the start of an actor is dealt with here."""
        if isinstance(answer, Ready):
            lane.ready, self._failed_starts = True, 0
        elif lane.ready:
            return True
        elif isinstance(answer, Raised):
            raise SettingsError(
                "RayExecutor: make_trainer must build a trainer in an actor, got "
                f"{type(answer.error).__name__}: {answer.error}"
            ) from answer.again()
        elif isinstance(answer, Lost):
            self._failed_start(answer)
            self.replace(lane)
        return False

    def _failed_start(self, lost: Lost) -> None:
        self._failed_starts += 1
        if self._failed_starts == _STARTS:
            raise SettingsError(
                f"RayExecutor: an actor must be able to start, but {_STARTS} in a row died "
                f"({lost.why}); install dynhp[ray] and the trainer's modules on every node"
            )

    def replace(self, lane: Lane) -> None:
        """Start a new actor instead of one that is lost."""
        lane.end()
        self.lanes.remove(lane)
        self.muster(len(self.lanes) + 1)

    def calm(self) -> None:
        """Have no busy actors, whether they finish soon or not, and none that hold states."""
        until = time.monotonic() + _GRACE
        for lane in list(self.lanes):
            lane.holds.clear()
            if lane.ready and lane.asked is not None and not lane.finishes(until):
                lane.end()
                self.lanes.remove(lane)

    def close(self) -> None:
        """End all actors."""
        for lane in self.lanes:
            lane.end()
        self.lanes.clear()
