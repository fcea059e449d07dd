"""All tries of a stage in one pass, for trainers that can do that."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dynhp._log import logger
from dynhp.errors import ContractError, SettingsError, advise
from dynhp.executors.attempt import TryLog, attempt
from dynhp.executors.contract import UNKNOWN_STATE, Job, Outcome
from dynhp.executors.serial import Serial
from dynhp.read_back import plain_metrics
from dynhp.records import Metrics
from dynhp.trainer import State, Trainer, TriesBatches

__all__ = ["Batched"]

_ONE_BY_ONE = (
    "Batched: with start_from='best' tries of several epochs are carried out one by one, because "
    "one pass hands out no state of an epoch in between, which may be the best; with try_for=1, or "
    "with start_from='here' or 'before', they are one pass again"
)


@dataclass(frozen=True, slots=True)
class Batched:
    """Carry out the tries of a stage in one pass: one call of the trainer's ``try_batch``.

    Jobs that do not start from one origin, and those with a seed, a schedule or a tail, are carried
    out as ``Serial`` does; likewise a stage whose pass raises, so that only the try to blame fails,
    and with ``start_from="best"`` tries of several epochs, because a pass hands out no state of an
    epoch in between. In the middle of a pass no value can be read back: ``try_batch`` must raise
    if one is not in force.

    >>> Batched()
    Batched()
    """

    def run(self, trainer: Trainer, jobs: Sequence[Job], *, at: State) -> Iterator[Outcome]:
        """Yield the outcomes in order; all is trained when the first is asked for."""
        if not isinstance(trainer, TriesBatches):
            raise SettingsError(
                "Batched needs a trainer with try_batch(origin, candidates, k), got "
                f"{trainer!r}; add that method or use Serial()"
            )
        began = time.perf_counter()
        if not _alike(jobs):
            if any(job.inner_rule is not None for job in jobs):
                advise(_ONE_BY_ONE)
            yield from Serial().run(trainer, jobs, at=at)
            return
        results = _in_one_pass(trainer, jobs)
        if results is None:  # and the pass has left the trainer in any state
            yield from Serial().run(trainer, jobs, at=UNKNOWN_STATE)
            return
        seconds = (time.perf_counter() - began) / len(jobs)
        left = deque(zip(jobs, results, strict=True))
        del jobs, results  # a state that was dealt with is dropped
        while left:
            job, (series, state) = left.popleft()
            outcome = _outcome(trainer, job, series, state)
            del job, series, state
            yield replace(outcome, seconds=seconds)


def _alike(jobs: Sequence[Job]) -> bool:
    """Whether one pass can do them all."""
    return bool(jobs) and all(
        job.origin is jobs[0].origin
        and job.epochs == jobs[0].epochs
        and job.seed is None
        and not job.scheduled
        and not job.tail
        and job.inner_rule is None
        for job in jobs
    )


def _in_one_pass(trainer: TriesBatches, jobs: Sequence[Job]) -> Sequence[Any] | None:
    """Metrics and end state for each job, or None if one pass does not work out."""
    candidates = [job.candidate for job in jobs]
    try:
        results = trainer.try_batch(jobs[0].origin, candidates, jobs[0].epochs)
    except Exception as error:
        logger.info(
            "tries in one pass raised %s: %s; one by one instead", type(error).__name__, error
        )
        return None
    if len(results) != len(jobs):
        raise ContractError(
            f"try_batch must give one result for each candidate, got {len(results)} for {len(jobs)}"
        )
    return results


def _outcome(trainer: Any, job: Job, series: Any, state: State) -> Outcome:
    if len(series) != job.epochs:
        raise ContractError(
            f"try_batch must give the metrics of each of {job.epochs} epochs, got {len(series)}"
        )
    log = TryLog(job, lambda: state)
    trained: list[Metrics] = []
    for number in log.epochs(trained.pop):
        trained.append(plain_metrics(series[number - 1]))
    outcome = log.outcome()
    if outcome.error is None:
        return replace(outcome, in_place=False)
    # It was trained on after it had failed; its state must be that at its failure all the same.
    again = replace(job, beat=None)  # its epochs were told
    return replace(
        outcome, in_place=False, keep=lambda: attempt(trainer, again, at=UNKNOWN_STATE).keep()
    )
