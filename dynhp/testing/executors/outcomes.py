"""What can be seen of an executor's outcomes, and the demand that it is what ``Serial`` gives."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from dynhp.errors import LawBroken
from dynhp.records import Metrics
from dynhp.rounds.jobs import CompletesAnyOrder, Executor, Job, Outcome
from dynhp.testing.difference import difference
from dynhp.testing.executors.cases import Heat
from dynhp.testing.laws.probe import broken, copy_of, generators_put_back, told
from dynhp.trainer import State, Trainer

__all__ = ["Seen", "Way", "any_order", "demand", "in_turn", "watch"]

_CAUSE = {
    "order": "outcomes are yielded as they are done, not in the order of the jobs",
    "places": "as_completed leaves a job out, or gives an outcome the place of another",
    "tries": "a try does not start from its own origin, seed and trainer alone, or an error is "
    "not recorded as Serial does",
    "state": "keep() hands out the state of another try, or of another moment",
    "live": "keep() hands out something that later tries write into",
    "origin": "a try writes into the state it starts from",
    "raised": "an exception that ends the run is swallowed, or one is made up",
    "in place": "in_place is claimed though the main line's trainer is elsewhere",
    "run": "a state or an outcome reaches the adapter changed",
}

Way: TypeAlias = Callable[[Trainer, Sequence[Job]], Iterable[tuple[int, Outcome]]]
"""A way to have jobs carried out: the place of each and its outcome."""


def in_turn(executor: Executor) -> Way:
    """As an adapter does it."""
    return lambda trainer, jobs: enumerate(executor.run(trainer, jobs, at=jobs[0].origin))


def any_order(executor: CompletesAnyOrder) -> Way:
    """As a campaign does it."""
    return lambda trainer, jobs: executor.as_completed(jobs)


@dataclass(frozen=True, slots=True)
class Seen:
    """What was seen of one outcome; the state where it was asked for."""

    place: int
    series: tuple[Metrics, ...]
    epochs: int
    error: str | None
    states: tuple[State, ...]

    @property
    def told(self) -> tuple[tuple[Metrics, ...], int, str | None]:
        """What it says."""
        return self.series, self.epochs, self.error


@generators_put_back()  # so that whoever comes next starts from the same
def watch(heat: Heat, way: Way, keeps: range) -> tuple[list[Seen], str | None]:
    """Carry out a heat and keep some states: what was seen, and the exception that ended it."""
    trainer = heat.make()
    jobs = heat.jobs(trainer)
    origins = [copy_of(job.origin) for job in jobs]
    seen: list[Seen] = []
    kept: list[tuple[State, State]] = []
    raised = None
    try:
        for place, outcome in way(trainer, jobs):
            states = _kept(trainer, outcome) if place in keeps else ()
            kept += [(state, copy_of(state)) for state in states]
            copies = tuple(copy for _, copy in kept[len(kept) - len(states) :])
            seen.append(Seen(place, outcome.series, outcome.epochs, outcome.error, copies))
    except LawBroken:
        raise
    except Exception as error:
        raised = told(error)
    for state, copy in kept:
        demand("live", copy, state, "a state kept, after later tries")
    for origin, job in zip(origins, jobs, strict=True):
        demand("origin", origin, job.origin, "an origin, after the tries")
    return seen, raised


def _kept(trainer: Any, outcome: Outcome) -> tuple[State, ...]:
    if outcome.in_place:
        demand("in place", trainer.get_state(), outcome.keep(), "the trainer's state and keep()")
    return (outcome.keep(),)


def demand(cause: str, serial: Any, ours: Any, what: str) -> None:
    """Demand that the two are equal; Serial's is told first."""
    found = difference(serial, ours, what)
    if found is not None:
        raise broken("the same answer as Serial", found, _CAUSE[cause])
