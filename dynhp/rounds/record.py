"""The record of a round, made of its tries and of the stretch that followed."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from dynhp.records import Candidate, Metrics, Round, Try
from dynhp.rounds.steps import TrainStretch
from dynhp.selection import reason

if TYPE_CHECKING:
    from dynhp.rounds.tries import RoundTries

__all__ = ["round_record"]

NOT_DUE = "no round was due"


def round_record(
    tries: RoundTries,
    corrected: Candidate | None,
    stretch: TrainStretch,
    *,
    done: int,
    seed: int | None,
    began: float,
) -> Round:
    """The record of the round, after its stretch; one without tries has no winner."""
    chosen, why, metrics, records = -1, NOT_DUE, stretch.metrics, tries.records
    if tries.best is not None:
        chosen = tries.best.place
        why = reason(records, chosen, tries.current)
        metrics = stretch.metrics if stretch.epochs else _at_the_end(tries.best.record, done)
    end = tries.started.start + done + stretch.epochs
    return Round(
        index=tries.started.index,
        start=tries.started.start,
        epochs=done + stretch.epochs,
        previous=tries.current,
        tries=records,
        chosen=chosen,
        reason=why,
        metrics=metrics,
        seed=seed,
        restarted=done == 0 and chosen >= 0,
        checked=0 if tries.check is None else tries.check.epochs,
        tolerance=0.0 if tries.check is None else tries.check.tolerance,
        stretch=tuple([each for each in stretch.measured if each[0] < end - 1]),
        seconds=time.perf_counter() - began,
        because=tries.because,
        rescue=tries.rescue,
        abandoned=tries.started.abandoned,
        failure=stretch.failure,
        corrected=corrected,
    )


def _at_the_end(winner: Try, done: int) -> Metrics:
    return dict(winner.own.measured).get(done - 1, {})
