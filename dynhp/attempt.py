"""One try carried out on a trainer, with everything checked that the contract promises."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from dynhp.errors import DynhpError, MetricError, SettingsError, ValueNotInForce, nearest
from dynhp.records import Candidate, Metrics, Value
from dynhp.trainer import Reseeds, State, Trainer

__all__ = ["NOWHERE", "Job", "Outcome", "Running", "advance", "attempt", "check_in_force"]
__all__ += ["check_value", "go_to", "plain_metrics", "read_metrics", "reseed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What to train from where: one candidate, ``epochs`` epochs, starting at ``origin``.

    ``seed`` reseeds the trainer first; the metrics in ``watch`` must stay finite.
    """

    origin: State
    candidate: Candidate
    epochs: int
    seed: int | None = None
    watch: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of a job: metrics per epoch, the epochs begun, and an error where it failed.

    ``keep()`` hands out the state at the end; call it before the next outcome is asked for.
    ``in_place`` tells that the main line's own trainer is in that state until then.
    """

    series: tuple[Metrics, ...]
    epochs: int
    keep: Callable[[], State]
    error: str | None = None
    in_place: bool = False
    seconds: float = 0.0


class _Nowhere:
    """A state that no trainer is ever in."""

    def __repr__(self) -> str:
        return "NOWHERE"


NOWHERE: Final = _Nowhere()


def attempt(trainer: Trainer, job: Job, *, at: State = NOWHERE) -> Outcome:
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
    go_to(trainer, job, at=at)
    running = Running(job)
    while running.goes_on():
        try:
            trainer.train_k(1, job.candidate)
            check_in_force(trainer, job.candidate)
            running.learn(read_metrics(trainer))
        except DynhpError:  # a broken contract is nobody's bad luck: it ends the run
            raise
        except Exception as failure:
            running.fail(failure)
    return running.outcome(trainer.get_state)


def go_to(trainer: Trainer, job: Job, *, at: State) -> None:
    """Bring the trainer to where a job starts."""
    if job.origin is not at:
        trainer.set_state(job.origin)
    if job.seed is not None:
        reseed(trainer, job.seed)


class Running:
    """A job under way: what was measured so far, and whether there is more to train."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._began = time.perf_counter()
        self._series: list[Metrics] = []
        self._error: str | None = None
        self.begun = 0

    def goes_on(self) -> bool:
        """Begin the next epoch, if there is one."""
        if self._error is not None or self.begun == self._job.epochs:
            return False
        self.begun += 1
        return True

    def learn(self, metrics: Metrics) -> None:
        """Take the metrics of the epoch; a watched one that is not finite fails the try."""
        self._series.append(metrics)
        self._error = _not_finite(metrics, self._job.watch, self.begun)

    def fail(self, failure: BaseException) -> None:
        """Note that training failed."""
        self._error = f"{type(failure).__name__}: {failure}"
        # The record keeps a line; whoever wants to know where it came from asks the logger.
        logging.getLogger("dynhp").info(
            "a try of %r failed", dict(self._job.candidate), exc_info=failure
        )

    def outcome(self, keep: Callable[[], State]) -> Outcome:
        """What came of the job."""
        return Outcome(
            series=tuple(self._series),
            epochs=self.begun,
            keep=keep,
            error=self._error,
            in_place=True,
            seconds=time.perf_counter() - self._began,
        )


def advance(trainer: Trainer, candidate: Candidate, epochs: int) -> Metrics:
    """Train the main line on, check that the value stayed in force, and measure once."""
    trainer.train_k(epochs, candidate)
    check_in_force(trainer, candidate)
    return read_metrics(trainer)


def reseed(trainer: object, seed: int) -> None:
    """Seed the trainer's generators, or say what is missing for that."""
    if not isinstance(trainer, Reseeds):
        raise SettingsError(
            f"independent randomness needs a trainer with reseed(seed), got {trainer!r}; "
            "add that method or use randomness='common'"
        )
    trainer.reseed(seed)


def check_in_force(trainer: object, candidate: Candidate) -> None:
    """Read the values back from a trainer that can tell, and stop where one did not take."""
    # Asked for after every epoch, where isinstance(trainer, ReadsBack) would cost more than a try.
    read_back = getattr(trainer, "hyperparameters", None)
    if read_back is None:
        return
    found: Mapping[str, Value] = read_back()
    for name, wanted in candidate.items():
        if name in found:
            check_value(name, wanted, found[name], "after training with it")


def same_value(one: Value, other: Value) -> bool:
    """Whether two values are one: a float32 holds 0.1 only nearly, and that is in force."""
    if one == other:
        return True
    if isinstance(one, int) and isinstance(other, int):
        return False  # whole numbers are never nearly equal
    try:
        return math.isclose(one, other, rel_tol=1e-6)  # type: ignore[arg-type]
    except TypeError:
        return False


def check_value(name: str, wanted: Value, found: Value, when: str) -> None:
    """Stop the run where the value found is not the value wanted."""
    if same_value(found, wanted):
        return
    raise ValueNotInForce(
        f"{name} should be {wanted!r} but is {found!r} {when}; something overwrote it (a "
        "scheduler, a restore, a cached copy of the optimiser's groups) or the setter has no "
        "effect. Remove the scheduler, adapt a scale on top of it, or mend the setter"
    )


def read_metrics(trainer: Trainer) -> Metrics:
    """The trainer's metrics as plain floats, or an error that names the one that is not."""
    found = trainer.metrics()
    if not isinstance(found, Mapping):
        raise MetricError(f"metrics() must return a mapping of names to floats, got {found!r}")
    return plain_metrics(found)


def plain_metrics(found: Mapping[str, Any]) -> Metrics:
    """Metrics as plain floats, or an error that names the one that is not."""
    return {_name(name): _number(name, value) for name, value in found.items()}


def _name(name: object) -> str:
    if isinstance(name, str):
        return name
    raise MetricError(f"a metric's name must be a string, got {name!r}; rename it in metrics()")


def _number(name: str, value: Any) -> float:
    if type(value) is float:
        # The one nan that all records have: those that hold the same object are equal.
        return value if value == value else math.nan
    try:
        if not isinstance(value, str):
            return _number(name, float(value))
    except (TypeError, ValueError, OverflowError):
        pass
    raise MetricError(f"metric {name!r} must be a number, got {value!r}")


def _not_finite(metrics: Metrics, watch: tuple[str, ...], epoch: int) -> str | None:
    for name in watch:
        if name not in metrics:
            raise MetricError(f"there is no metric {name!r}{nearest(name, metrics)}")
        if not math.isfinite(metrics[name]):
            return f"{name} is {metrics[name]} after epoch {epoch}"
    return None
