"""The one law of executors, for anybody's executor: the answer is that of ``Serial``."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, TypeAlias

from dynhp.adapter import DynamicGridAdapter
from dynhp.attempt import Outcome
from dynhp.errors import LawBroken, SettingsError
from dynhp.executors import Executor, Serial
from dynhp.plain import history_to_plain
from dynhp.records import Metrics
from dynhp.space import Space, SpaceLike
from dynhp.testing import _executor_cases as cases
from dynhp.testing._chameleon import Chameleon
from dynhp.testing._probe import Make, broken, copy_of, require_subject, told
from dynhp.testing.difference import difference
from dynhp.testing.laws import Report, Verdict
from dynhp.trainer import State

__all__ = ["MakeExecutor", "check_executor"]

MakeExecutor: TypeAlias = Callable[[Make], Executor]
"""Makes the executor under examination, given what builds the trainers of its workers."""

_CAUSE = {
    "order": "outcomes are yielded as they are done, not in the order of the jobs",
    "tries": "a try does not start from its own origin, seed and trainer alone, or an error is "
    "not recorded as Serial does",
    "state": "keep() hands out the state of another try, or of another moment",
    "live": "keep() hands out something that later tries write into",
    "origin": "a try writes into the state it starts from",
    "raised": "an exception that ends the run is swallowed, or one is made up",
    "in place": "in_place is claimed though the main line's trainer is elsewhere",
    "run": "a state or an outcome reaches the adapter changed",
}


def check_executor(
    make_executor: MakeExecutor,
    *,
    make_trainer: Make | None = None,
    space: SpaceLike | None = None,
) -> Report:
    """Demand that an executor gives what ``Serial`` gives, bit for bit; else raise ``LawBroken``.

    ``make_executor`` is given the factory of the trainers that workers need, and may ignore it.
    Toys of all kinds are tried, with errors and partial epochs; with ``make_trainer`` and
    ``space`` it is that trainer instead. What has a ``close`` is closed in the end.

    >>> print(check_executor(lambda make: Serial(), make_trainer=Chameleon, space={"lr": [0.1]}))
    ok       tries
    ok       from origins of their own
    ok       run: grid
    ok       run: racing
    """
    make, checks = _checks(make_trainer, space)
    executor = make_executor(make)
    with ExitStack() as stack:
        if hasattr(executor, "close"):
            stack.callback(executor.close)
        report = Report(tuple(_verdict(name, check, executor) for name, check in checks))
    if report.broken:
        raise LawBroken("\n".join(verdict.message for verdict in report.broken))
    return report


_Check: TypeAlias = Callable[[Executor], None]


def _checks(
    make: Make | None, space: SpaceLike | None
) -> tuple[Make, Iterator[tuple[str, _Check]]]:
    if make is None and space is None:
        return Chameleon, _named(cases.toy_heats(), cases.toy_runs())
    if make is None or space is None:
        raise SettingsError(
            "check_executor: make_trainer and space belong together, got "
            f"make_trainer={make!r}, space={space!r}"
        )
    subject = require_subject(make, space, epochs=1, another_process=False)
    return make, _named(cases.heats(make, subject.space), cases.runs(make, subject.space))


def _named(heats: Iterator[cases.Heat], runs: Iterator[cases.Run]) -> Iterator[tuple[str, _Check]]:
    for heat in heats:
        yield heat.name, functools.partial(_check_heat, heat)
    for run in runs:
        yield f"run: {run.name}", functools.partial(_check_run, run)


def _verdict(name: str, check: _Check, executor: Executor) -> Verdict:
    try:
        check(executor)
    except LawBroken as failure:
        message = f"{name}: {failure}"
        return Verdict(law=name, status="BROKEN", message=message)
    return Verdict(law=name, status="ok")


@dataclass(frozen=True, slots=True)
class Seen:
    """What was seen of one outcome; the state where it was asked for."""

    series: tuple[Metrics, ...]
    epochs: int
    error: str | None
    states: tuple[State, ...]


def _check_heat(heat: cases.Heat, executor: Executor) -> None:
    for keeps in (range(0, 99), range(0), range(1, 99, 2)):  # all, none, every other
        ours, our_end = _watch(heat, executor, keeps)
        serial, end = _watch(heat, Serial(), keeps)
        _demand("raised", end, our_end, "exception")
        _demand("order", len(serial), len(ours), "number of outcomes")
        for place, (a, b) in enumerate(zip(serial, ours, strict=True)):
            a_told, b_told = (a.series, a.epochs, a.error), (b.series, b.epochs, b.error)
            cause = "order" if _swapped(serial, b) else "tries"
            _demand(cause, a_told, b_told, f"outcome {place}: (series, epochs, error)")
            _demand("state", a.states, b.states, f"outcome {place}: keep()")
        if end is not None:
            return  # it ends there whatever is kept, and workers need not be started anew for that


def _swapped(seen: list[Seen], one: Seen) -> bool:
    """Whether an outcome is that of some job, so that a difference is one of order."""
    return any(one.series == other.series and one.error == other.error for other in seen)


def _watch(heat: cases.Heat, executor: Executor, keeps: range) -> tuple[list[Seen], str | None]:
    """Carry out a heat and keep some states: what was seen, and the exception that ended it."""
    trainer = heat.make()
    jobs = heat.jobs(trainer)
    origins = [copy_of(job.origin) for job in jobs]
    seen: list[Seen] = []
    kept: list[tuple[State, State]] = []
    raised = None
    try:
        for place, outcome in enumerate(executor.run(trainer, jobs, at=jobs[0].origin)):
            states = _kept(trainer, outcome) if place in keeps else ()
            kept += [(state, copy_of(state)) for state in states]
            copies = tuple(copy for _, copy in kept[len(kept) - len(states) :])
            seen.append(Seen(outcome.series, outcome.epochs, outcome.error, copies))
    except LawBroken:
        raise
    except Exception as error:
        raised = told(error)
    for state, copy in kept:
        _demand("live", copy, state, "a state kept, after later tries")
    for origin, job in zip(origins, jobs, strict=True):
        _demand("origin", origin, job.origin, "an origin, after the tries")
    return seen, raised


def _kept(trainer: Any, outcome: Outcome) -> tuple[State, ...]:
    if outcome.in_place:
        _demand("in place", trainer.get_state(), outcome.keep(), "the trainer's state and keep()")
    return (outcome.keep(),)


def _check_run(run: cases.Run, executor: Executor) -> None:
    _demand("run", _carried_out(run, Serial()), _carried_out(run, executor), "result")


def _carried_out(run: cases.Run, executor: Executor) -> dict[str, Any]:
    trainer = run.make()
    adapter = DynamicGridAdapter(
        trainer,
        Space(run.space),
        criterion=run.criterion,
        adapt_every=4,
        try_for=2,
        executor=executor,
        **run.settings,
    )
    raised = None
    try:
        adapter.run(run.epochs)
    except Exception as error:
        raised = told(error)
    rounds = history_to_plain(adapter.history)
    for record in [*rounds, *(try_ for round_ in rounds for try_ in round_["tries"])]:
        del record["seconds"]
    return {"raised": raised, "rounds": rounds, "state": trainer.get_state()}


def _demand(cause: str, serial: Any, ours: Any, what: str) -> None:
    """Demand that the two are equal; Serial's is told first."""
    found = difference(serial, ours, what)
    if found is not None:
        raise broken("the same answer as Serial", found, _CAUSE[cause])
