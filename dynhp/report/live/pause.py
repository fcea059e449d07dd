"""Pauses that keep what is shown from slowing down what it shows."""

from __future__ import annotations

import math
import time

__all__ = ["Pause"]

SHARE = 400
FREE = 0.002  # seconds that are not counted


class Pause:
    """Says when something may be done again, if it is to take a 400th of the time.

    Args:
        least: the seconds that a pause lasts at least.
        most: those that it lasts at most, whatever was done before it.

    >>> pause = Pause(least=3600.0)
    >>> pause.is_over()
    True
    >>> pause.begin(cost=0.001)
    >>> pause.is_over(), pause.is_over(eager=True)
    (False, True)
    """

    def __init__(self, *, least: float, most: float = math.inf) -> None:
        self.until = 0.0
        self._least = least
        self._most = most
        self._began = time.monotonic()
        self._spent = 0.0

    def is_over(self, *, eager: bool = False) -> bool:
        """Whether it is time; ``eager``: also before, if little time was spent so far."""
        now = time.monotonic()
        return now >= self.until or (eager and self._spent < FREE + (now - self._began) / SHARE)

    def begin(self, cost: float) -> None:
        """Begin the next one, after something that took ``cost`` seconds of the processor.

        Measure them with ``time.thread_time``: a terminal that stands still, as after Ctrl-S, or a
        computer that sleeps must not make the next pause longer.
        """
        self._spent += cost
        self.until = time.monotonic() + min(self._most, max(self._least, SHARE * cost))
