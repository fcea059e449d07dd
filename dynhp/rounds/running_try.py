"""One try while its round goes on: its record so far, and its state while it may still win."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dynhp.records import Metrics, Try
from dynhp.rounds.jobs import UNKNOWN_STATE, Outcome
from dynhp.trainer import State

__all__ = ["RunningTry"]


@dataclass(slots=True, eq=False)
class RunningTry:
    """One try under way: its record so far, and its state for as long as it may still win."""

    record: Try
    state: State
    place: int = 0  # among the tries of its round
    in_trainer: Outcome | None = None  # where its end state is in the trainer, not yet taken out

    def add(self, outcome: Outcome, score: Callable[[Sequence[Metrics]], float]) -> None:
        """Add what came of a job to the record."""
        series = self.record.series + outcome.series
        self.state = UNKNOWN_STATE  # the state it started from is not needed any more
        self.record = Try(
            candidate=self.record.candidate,
            series=series,
            epochs=self.record.epochs + outcome.epochs,
            score=math.nan if outcome.error else score(series),
            error=outcome.error,
            seed=self.record.seed,
            seconds=self.record.seconds + outcome.seconds,
            reported=_reported(self.record, outcome),
        )

    def take_state(self) -> None:
        """Take the state out of the trainer, where that has not been done yet."""
        if self.in_trainer is not None:
            self.state, self.in_trainer = self.in_trainer.keep(), None

    def drop_state(self) -> None:
        """Forget the state, so that its memory is free."""
        self.state, self.in_trainer = UNKNOWN_STATE, None


def _reported(record: Try, outcome: Outcome) -> tuple[int, ...]:
    """Which epochs of the whole try the series belongs to; empty where there is no gap."""
    if not record.reported and not outcome.reported and len(record.series) == record.epochs:
        return ()
    new = outcome.reported or range(1, len(outcome.series) + 1)
    before = record.reported or range(1, len(record.series) + 1)
    return (*before, *(record.epochs + number for number in new))
