"""What can be seen of an executor's outcomes, and the demand that it is what ``Serial`` gives."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from dynhp.errors import LawBroken
from dynhp.records import Metrics
from dynhp.rounds.jobs import CompletesAnyOrder, Executor, Job, Outcome
from dynhp.testing.difference import difference
from dynhp.testing.executors.cases import TriesCase
from dynhp.testing.laws.lines import copy_of, error_line
from dynhp.testing.laws.probe import broken, generators_put_back
from dynhp.trainer import State, Trainer

_CAUSE = {
    "order": "outcomes are yielded as they are done, not in the order of the jobs",
    "places": "as_completed leaves a job out, or gives an outcome the place of another",
    "tries": "a try does not start from its own origin, seed and trainer alone, or an error is "
    "not recorded as Serial does",
    "state": "keep() hands out the state of another try, or of another moment",
    "live": "keep() hands out something that later tries write into",
    "origin": "a try writes into the state it starts from",
    "raised": "an exception that ends the run is swallowed, or another is raised",
    "in place": "in_place is claimed though the main line's trainer is elsewhere",
    "run": "a state or an outcome reaches the adapter changed",
}

_WAY_OUT = "do what dynhp/executors/serial.py does; it is short, and is the specification"

RunJobs: TypeAlias = Callable[[Trainer, Sequence[Job]], Iterable[tuple[int, Outcome]]]
"""Has jobs carried out: gives the place of each and its outcome."""


def in_turn(executor: Executor) -> RunJobs:
    """As an adapter does it."""
    return lambda trainer, jobs: enumerate(executor.run(trainer, jobs, at=jobs[0].origin))


def any_order(executor: CompletesAnyOrder) -> RunJobs:
    """As a campaign does it."""
    return lambda trainer, jobs: executor.as_completed(jobs)


@dataclass(frozen=True, slots=True)
class SeenOutcome:
    """What was seen of one outcome; ``states`` is empty where the state was not asked for."""

    place: int
    record: tuple[tuple[Metrics, ...], int, str | None]  # series, epochs, error
    states: tuple[State, ...]


@generators_put_back()  # so that the next one starts from the same numbers
def observe(
    case: TriesCase, run_jobs: RunJobs, keeps: range
) -> tuple[list[SeenOutcome], str | None]:
    """Carry out the tries and keep some states: the outcomes, and the exception that ended it."""
    trainer = case.make()
    jobs = case.jobs(trainer)
    origins = [copy_of(job.origin) for job in jobs]
    seen: list[SeenOutcome] = []
    kept: list[tuple[State, State]] = []
    raised = None
    try:
        for place, outcome in run_jobs(trainer, jobs):
            states = _kept(trainer, outcome) if place in keeps else ()
            copies = tuple(map(copy_of, states))
            kept += zip(states, copies, strict=True)
            record = (outcome.series, outcome.epochs, outcome.error)
            seen.append(SeenOutcome(place, record, copies))
    except LawBroken:
        raise
    except Exception as error:
        raised = error_line(error)
    for state, copy in kept:
        demand("live", copy, state, "a state kept, after later tries")
    for origin, job in zip(origins, jobs, strict=True):
        demand("origin", origin, job.origin, "an origin, after the tries")
    return seen, raised


def _kept(trainer: Any, outcome: Outcome) -> tuple[State, ...]:
    if outcome.in_place:
        demand("in place", trainer.get_state(), outcome.keep(), "the trainer's state and keep()")
    return (outcome.keep(),)


def demand(cause: str, expected: Any, got: Any, what: str) -> None:
    """Demand that the two are equal; what ``Serial`` gives comes first."""
    place = difference(expected, got, what)
    if place is not None:
        raise broken("the same answer as Serial", place, _CAUSE[cause], _WAY_OUT)
