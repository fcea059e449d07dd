"""Limits: middleware that ends a run between two rounds, where nothing is lost by it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from dynhp._checks import require_number
from dynhp.engine.commands import Agree, Commands, Middleware
from dynhp.engine.memory import Memory
from dynhp.errors import TimeIsUp

__all__ = ["time_limit"]


def time_limit(seconds: float, *, clock: Callable[[], float] = time.monotonic) -> Middleware:
    """Middleware that ends a run between two rounds, by ``TimeIsUp``, once its time is over.

    The time counts from the first round that it sees, and a round under way is not cut short. So
    each process that goes on with a saved run gets further by at least one round, however short the
    limit is. If something else ends the process after a fixed time, leave enough of that for one
    more round, with its self-check. Of several ranks all end before the same round.

    Args:
        seconds: for how long another round may begin.
        clock: what tells the time in seconds.

    >>> from dynhp import DynamicGridAdapter
    >>> from dynhp.testing import Quadratic
    >>> adapter = DynamicGridAdapter(Quadratic(), {"lr": [0.1, 0.5]}, minimize="loss",
    ...                              adapt_every=4, try_for=1, middleware=[time_limit(0.0001)])
    >>> adapter.run(100_000)
    Traceback (most recent call last):
    dynhp.errors.TimeIsUp: the run has ended before round 1, because its time limit of 0.0001 s \
is over; the rounds before it stay as they are. Go on from there with a new time_limit, or, if the \
run is saved, with the same call in a new process
    >>> adapter.epoch
    4
    """
    seconds = require_number(
        "time_limit: seconds", seconds, "be a number above 0", lambda number: 0 < number < math.inf
    )
    end = math.inf

    def middleware(commands: Commands, memory: Memory) -> Commands:
        nonlocal end
        now = clock()
        end = min(end, now + seconds)
        if any((yield Agree(now > end))):  # the clocks of the ranks differ
            raise TimeIsUp(
                f"the run has ended before round {len(memory.rounds)}, because its time limit of "
                f"{seconds:g} s is over; the rounds before it stay as they are. Go on from there "
                "with a new time_limit, or, if the run is saved, with the same call in a new "
                "process"
            )
        return (yield from commands)

    return middleware
