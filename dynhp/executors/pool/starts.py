"""Workers while they start: those that cannot, or take too long, are reported as what they are."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from dynhp.errors import SettingsError
from dynhp.executors.pool.handle import WorkerHandle
from dynhp.executors.pool.messages import Answer, Lost, Raised
from dynhp.executors.pool.transport import Transport

__all__ = ["StartWatch"]

SLOW = 30.0
"""Seconds of starting after which a warning is due."""

LOSSES = 3
"""So many workers without a job may be lost in a row while they start."""

LIMIT = 10, 60.0
"""Times the limit of a try, and seconds at least, in which a worker must start."""


class StartWatch:
    """Stops a run whose workers cannot start: no repetition of a try would help."""

    def __init__(self, transport: Transport[Any], time_limit: float | None) -> None:
        self._transport = transport
        self._time_limit = None if transport.remote else time_limit
        self._slow_reported = False
        self._losses = 0

    def check(
        self, worker: WorkerHandle, answer: Answer | Lost | None, workers: Sequence[WorkerHandle]
    ) -> None:
        """Look at a worker that was starting, and at what it has answered, if it has."""
        if worker.ready:
            self._losses = 0
        elif answer is None:
            self._waited(time.monotonic() - worker.since, workers)
        elif isinstance(answer, Raised):
            raise SettingsError(
                f"{self._transport.name}: make_trainer must build a trainer in a worker, got "
                f"{type(answer.error).__name__}: {answer.error}"
            ) from answer.again()
        elif isinstance(answer, Lost):
            self._lost(worker, answer)

    def _lost(self, worker: WorkerHandle, lost: Lost) -> None:
        why = lost.why
        if not lost.by_itself:
            self._losses += 1
            if worker.number is not None or self._losses < LOSSES:
                return  # bad luck: a new one is started, and a job that waits for it is repeated
            why = f"{LOSSES} in a row were lost ({why})"
        raise SettingsError(
            f"{self._transport.name}: a worker must be able to start, but {why}; "
            f"{self._transport.start_hint}"
        )

    def _waited(self, seconds: float, workers: Sequence[WorkerHandle]) -> None:
        """Warn that a worker takes long to start, or stop where it takes too long."""
        if self._time_limit is not None:
            times, least = LIMIT
            allowed = max(times * self._time_limit, least)
            if seconds > allowed:
                raise SettingsError(
                    f"{self._transport.name}: make_trainer must build a trainer in a worker in "
                    f"{allowed:g} s ({times} times time_limit={self._time_limit}, {least:g} s at "
                    "least), and still does; raise time_limit, or let it do less"
                )
            return
        # Where workers may have to wait for room, one that works is enough.
        enough = self._transport.remote and any(each.ready for each in workers)
        if seconds > SLOW and not enough and not self._slow_reported:
            self._slow_reported = True
            self._transport.report_slow_start(SLOW)
