"""One actor as the main process sees it: asked, listened to, ended."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import ray
from ray.exceptions import RayError

from dynhp.executors.pool.messages import Answer, Began, Lost
from dynhp.rounds.jobs import Job

__all__ = ["Lane"]


@dataclass(slots=True, eq=False)
class Lane:
    """An actor, what it was asked last, and what is known of it."""

    actor: Any
    asked: Any  # not answered yet: a reference, or a stream of them
    ready: bool = False
    job: int | None = None  # under way, or whose state was asked for
    epochs: int | None = None  # begun of that job; None: it has not arrived yet
    holds: set[int] = field(default_factory=set)  # jobs whose end states are with it
    since: float = field(default_factory=time.monotonic)

    def train(self, number: int, job: Job, key: int, origin: Any) -> None:
        """Ask for a job to be carried out."""
        self.job, self.epochs, self.since = number, None, time.monotonic()
        bare = replace(job, origin=None)
        self.asked = self.actor.train.remote(number, bare, key, origin, tuple(self.holds))

    def hand_out(self, number: int) -> None:
        """Ask for the state at the end of a job."""
        self.job, self.since = number, time.monotonic()
        self.asked = self.actor.state.remote(number)

    def hear(self) -> Answer | Lost:
        """The next answer, which is there already."""
        try:
            stream = isinstance(self.asked, ray.ObjectRefGenerator)
            answer: Answer = ray.get(next(self.asked) if stream else self.asked)
        except (RayError, StopIteration) as error:
            return Lost(told(error), self.epochs)
        if isinstance(answer, Began):
            self.epochs = answer.epochs
        else:
            self.asked = None
        return answer

    def overdue(self, limit: float | None) -> Lost | None:
        """Whether it takes too long."""
        left = self.left(limit)
        if left is None or left > 0:
            return None
        return Lost(f"it took longer than time_limit={limit} s", self.epochs)

    def left(self, limit: float | None) -> float | None:
        """The seconds it still has for what it was asked, None where there is no limit."""
        if limit is None or not self.ready:
            return None
        return self.since + limit - time.monotonic()

    def finishes(self, until: float) -> bool:
        """Whether it has answered all it was asked by then."""
        while ray.is_initialized() and self.asked is not None:
            seconds = max(0.0, until - time.monotonic())
            if not ray.wait([self.asked], timeout=seconds)[0] or isinstance(self.hear(), Lost):
                break
        return self.asked is None

    def end(self) -> None:
        """Kill the actor; that it is dead already, or Ray gone, is as good."""
        if ray.is_initialized():  # Ray would start anew to kill what is not there
            with suppress(Exception):
                ray.kill(self.actor)


def told(error: Exception) -> str:
    """What Ray says, in one line.

    >>> told(RuntimeError("The actor died.\\n  At night."))
    'RuntimeError: The actor died. At night.'
    """
    return f"{type(error).__name__}: {' '.join(str(error).split())}"
