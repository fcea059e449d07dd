"""One job after the other on the main line's own trainer: the specification of all executors."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dynhp.executors.attempt import attempt
from dynhp.executors.contract import UNKNOWN_STATE, Job, Outcome
from dynhp.trainer import State, Trainer

__all__ = ["Serial"]


@dataclass(frozen=True, slots=True)
class Serial:
    """Carry out tries in turn, in this process, on the trainer itself.

    >>> Serial()
    Serial()
    """

    def run(self, trainer: Trainer, jobs: Sequence[Job], *, at: State) -> Iterator[Outcome]:
        """Yield the outcomes as they come; nothing is trained before it is asked for."""
        left = deque(jobs)
        del jobs  # a job done is dropped, and with it the state it started from
        while left:
            yield attempt(trainer, left.popleft(), at=at)
            at = UNKNOWN_STATE
