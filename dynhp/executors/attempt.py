"""One try carried out on a trainer, with everything checked that the contract promises."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import Protocol

from dynhp._log import logger
from dynhp.best import BestEpoch, BestKeeper
from dynhp.errors import (
    ContractError,
    DynhpError,
    SettingsError,
    StateLost,
    ValueNotInForce,
    shown,
)
from dynhp.executors.contract import UNKNOWN_STATE, Job, Outcome, TryStates
from dynhp.read_back import check_in_force, not_finite, read_metrics, same_value
from dynhp.records import Candidate, Metrics
from dynhp.selfcheck.fingerprint import fingerprint
from dynhp.trainer import Reseeds, State, Trainer

__all__ = ["TryLog", "advance", "advance_along", "attempt", "error_text", "move_to", "put_back"]
__all__ += ["put_in_force", "reseed"]

MOST_ERROR = 2000
"""The characters that a try keeps of an exception's text."""


class Restorable(Protocol):
    """Whatever hands out its state and takes it back: a trainer, or the parts of a loop."""

    def get_state(self) -> State:
        """Hand out the state."""
        ...

    def set_state(self, state: State) -> None:
        """Take it back."""
        ...


def attempt(trainer: Trainer, job: Job, *, at: State = UNKNOWN_STATE) -> Outcome:
    """Carry out one job on this trainer; an exception while training is a failed try, no crash.

    ``at`` is the state the trainer is known to be in: a job that starts there restores nothing.

    >>> from dynhp import trainer_from
    >>> outcome = attempt(trainer_from(
    ...     get_state=lambda: 0, set_state=lambda state: None,
    ...     train_k=lambda k, values: None, metrics=lambda: {"loss": 0.5},
    ... ), Job(origin=0, candidate=Candidate({"lr": 0.1}), epochs=2))
    >>> outcome.series, outcome.error
    (({'loss': 0.5}, {'loss': 0.5}), None)
    """
    if job.origin is not at:
        trainer.set_state(job.origin)
    if job.seed is not None:
        reseed(trainer, job.seed)
    log = TryLog(job, trainer.get_state)
    for _ in log.epochs(lambda: advance(trainer, log.values, 1)):
        pass
    return log.outcome()


def put_back(trainer: Restorable, origin: State, failure: BaseException | None = None) -> None:
    """Put a trainer back after a failure; if that fails too, even twice, the error says so."""
    try:
        trainer.set_state(origin)
        return
    except BaseException as error:
        first = error
    try:
        trainer.set_state(origin)  # an interrupt may have come in the middle of the first
    except BaseException as error:
        raise StateLost(
            f"{_after(failure)}the trainer could not be put back to where it was, because its "
            f"set_state raised {_line(error)}; what it holds is now unknown. Make it anew, or go "
            "on from a checkpoint"
        ) from error
    if not isinstance(first, Exception):
        raise first


def move_to(trainer: Restorable, state: State) -> None:
    """Set a state wholly or not at all: if that fails, the trainer is back where it was.

    >>> from dynhp.testing import Quadratic
    >>> trainer = Quadratic(); move_to(trainer, 0.5); trainer.get_state()
    0.5
    """
    before = trainer.get_state()
    try:
        trainer.set_state(state)
    except BaseException as failure:
        put_back(trainer, before, failure)
        raise


class TryLog:
    """A try while it is carried out: what was measured so far, and why it failed if it did."""

    def __init__(self, job: Job, get_state: Callable[[], State]) -> None:
        self._job, self._get_state = job, get_state
        self._before: State = UNKNOWN_STATE  # the state before the tail, if that may be kept
        self._inner = None if job.inner_rule is None else BestKeeper(job.inner_rule)
        self.along: tuple[Candidate, ...] = (job.candidate,)  # the values of the epoch under way
        self._began = time.perf_counter()
        self._series: list[Metrics] = []
        self._reported: list[int] = []
        self._error: str | None = None
        self._begun = 0

    def epochs(self, measure: Callable[[], Metrics | None]) -> Iterator[int]:
        """Yield the number of each epoch as it begins; then ``measure()`` completes it.

        This is the one loop of a try, wherever it is carried out. ``measure`` trains the epoch with
        ``values`` and returns its metrics; if the caller trains it between two steps, it returns
        those, or None if nothing was measured. An exception that it raises, or a watched metric
        that is not finite, fails the try: no epoch follows. A broken contract (``DynhpError``) is
        not a failed try: it ends the run.
        """
        job, inner = self._job, self._inner
        watch, beat, own, tail = job.watch, job.beat, job.epochs, job.tail
        scheduled, steps = job.scheduled, job.per_epoch
        for number in range(1, own + job.tail_epochs + 1):
            if number > own:
                if number == own + 1 and job.keeps:
                    self._before = self._get_state()
                self.along = tail[(number - own - 1) * steps : (number - own) * steps]
            elif scheduled:
                self.along = scheduled[(number - 1) * steps : number * steps]
            self._begun = number
            yield number
            try:
                metrics = measure()
            except DynhpError:
                raise
            except Exception as failure:
                self._fail(failure)
                return
            if beat is not None:
                beat(number, metrics)
            if metrics is None:
                continue
            self._series.append(metrics)
            self._reported.append(number)
            self._error = not_finite(metrics, watch, number)
            if self._error is not None:
                return
            if inner is not None and number <= own:  # those of a tail are of no main line
                # The end is kept anyway.
                inner.judge(
                    job.start + number - 1, metrics, self._get_state if number < own else None
                )

    @property
    def values(self) -> Candidate:
        """The values that the epoch under way begins with."""
        return self.along[0]

    def _fail(self, failure: Exception) -> None:
        self._error = error_text(failure)
        # The record keeps a line; the logger shows where it came from.
        logger.info("a try of %r failed", dict(self._job.candidate), exc_info=failure)

    def outcome(self) -> Outcome:
        """What came of the job."""
        inner = self._inner is not None and self._inner_best() is not None
        plain = self._before is UNKNOWN_STATE and not inner
        gaps = bool(self._reported) and self._reported[-1] > len(self._reported)
        return Outcome(  # by position, which takes half of the time
            tuple(self._series),
            self._begun,
            self._get_state if plain else self._states,
            self._error,
            plain,
            time.perf_counter() - self._began,
            tuple(self._reported) if gaps else (),
        )

    def _inner_best(self) -> BestEpoch | None:
        return None if self._inner is None or self._error is not None else self._inner.best

    def _states(self) -> TryStates:
        """The state before the tail, or the end, and what else the job wants."""
        before = self._before
        inner = self._inner_best()
        if before is UNKNOWN_STATE:
            end = self._get_state()
            return TryStates(kept=end, end=end, inner=inner)
        # Without a comparison the end is not looked at.
        end = self._get_state() if self._job.compared else before
        return TryStates(kept=before, end=end, inner=inner)


def advance_along(trainer: Trainer, scheduled: Sequence[Candidate]) -> Metrics:
    """Train an epoch with each of these values, several at once where they stay; measure once."""
    pieces = [(values, len(list(same))) for values, same in groupby(scheduled)]
    for values, epochs in pieces[:-1]:
        trainer.train_k(epochs, values)
        check_in_force(trainer, values)
    values, epochs = pieces[-1]
    return advance(trainer, values, epochs)


def advance(trainer: Trainer, candidate: Candidate, epochs: int) -> Metrics:
    """Train, check that the value stayed in force, and measure once."""
    trainer.train_k(epochs, candidate)
    check_in_force(trainer, candidate)
    return read_metrics(trainer)


def put_in_force(trainer: Trainer, candidate: Candidate) -> None:
    """See that the values are in force if no epoch follows that would be trained with them."""
    read_back = getattr(trainer, "hyperparameters", None)
    if read_back is None:
        return
    before = Candidate(read_back())
    if all(same_value(before[name], candidate[name]) for name in candidate if name in before):
        return
    rule = f"train_k(0, ...) must put {dict(candidate)} in force and train nothing"
    state = fingerprint(trainer.get_state())
    try:
        trainer.train_k(0, candidate)
    except Exception as failure:
        raise ContractError(
            f"{rule}, but raised {type(failure).__name__}: {str(failure)[:200]}; return where k is "
            "0, after the values are set"
        ) from failure
    now = fingerprint(trainer.get_state())
    shared = Candidate({name: before.get(name, candidate[name]) for name in candidate})
    if not state.differs_only_by(now, shared, candidate):
        raise ContractError(f"{rule}, but it changed {state.difference(now)}; train k epochs")
    try:
        check_in_force(trainer, candidate)
    except ValueNotInForce as error:
        found = str(error).partition(" after ")[0]
        raise ValueNotInForce(
            f"{rule}, but {found} then: no epoch follows in which it would be set; set the values "
            "first thing in train_k, before the loop over its epochs"
        ) from error


def reseed(trainer: object, seed: int) -> None:
    """Seed the trainer's generators, or say what is missing for that."""
    if not isinstance(trainer, Reseeds):
        raise SettingsError(
            f"independent randomness needs a trainer with reseed(seed), got {shown(trainer)}; "
            "add that method or use randomness='common'"
        )
    trainer.reseed(seed)


def _after(failure: BaseException | None) -> str:
    if failure is None or isinstance(failure, GeneratorExit):  # what came before is in the chain
        return ""
    return f"{_line(failure)}. After that "


def _line(error: BaseException) -> str:
    return error_text(error)[:300].rstrip(": ")


def error_text(error: BaseException) -> str:
    """What an exception says, cut if it is long: it is kept in every record of the run."""
    try:
        text = f"{type(error).__name__}: {error}"
    except Exception as broken:  # what cannot even say what it is
        text = f"{type(error).__name__}, whose text raises {type(broken).__name__}"
    if len(text) <= MOST_ERROR:
        return text
    return f"{text[: MOST_ERROR - 40]}... ({len(text)} characters)"
