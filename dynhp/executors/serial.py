"""One job after the other on the main line's own trainer: the specification of all executors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dynhp.attempt import NOWHERE, Job, Outcome, attempt
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
        for job in jobs:
            yield attempt(trainer, job, at=at)
            at = NOWHERE
