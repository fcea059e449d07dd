"""The one law of executors: any executor answers as ``Serial`` does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, TypeAlias

from dynhp.adapter import DynamicGridAdapter
from dynhp.errors import LawBroken, SettingsError
from dynhp.executors import Executor, Serial
from dynhp.executors.contract import CompletesAnyOrder, Job, Outcome, close
from dynhp.records import Metrics
from dynhp.records.plain import history_to_plain
from dynhp.selfcheck.difference import difference
from dynhp.spaces import SpaceLike
from dynhp.testing.executors import cases
from dynhp.testing.executors.chameleon import Chameleon
from dynhp.testing.laws.check import LawReport, Verdict
from dynhp.testing.laws.experiments import (
    Make,
    broken,
    copy_of,
    error_line,
    generators_put_back,
    require_subject,
)
from dynhp.trainer import State, Trainer

__all__ = ["MakeExecutor", "check_executor"]

MakeExecutor: TypeAlias = Callable[[Make], Executor]
"""Makes the executor under examination, given what builds the trainers of its workers."""

_RunJobs: TypeAlias = Callable[[Trainer, Sequence[Job]], Iterable[tuple[int, Outcome]]]
"""Has jobs carried out: gives the place of each and its outcome."""

_Begin: TypeAlias = Callable[[Trainer, Sequence[Job]], Iterator[Any]]
"""Begins a run of jobs: gives what it hands out."""

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
    "beats": "beat of a job is not called once after each epoch, in order, on the thread of run()",
    "closed": "what a run had begun goes on after that run was closed, or in the next one",
    "run": "a state or an outcome reaches the adapter changed",
}
_WAY_OUT = {
    "state": "copy the state where the try ran, before that trainer takes another job",
    "live": "hand out a copy, taken before that trainer takes another job",
    "in place": "claim in_place only for tries on the trainer that run() was given",
    "beats": "call it there, or give the job to whatever trains elsewhere with beat=None",
    "closed": "end it in a finally around the yield, or in close() of the iterator",
}
_AS_SERIAL = "do what dynhp/executors/serial.py does; it is short, and is the specification"
_ALL, _NONE, _EVERY_OTHER = range(0, 99), range(0), range(1, 99, 2)


def check_executor(
    make_executor: MakeExecutor, *, make_trainer: Make | None = None, space: SpaceLike | None = None
) -> LawReport:
    """Demand that an executor gives what ``Serial`` gives, bit for bit; else raise ``LawBroken``.

    That includes the beats of jobs, if it lets any be called, and what is left of a run that was
    closed early: nothing. If the executor has ``as_completed``, that is examined too; if it has
    ``close``, it is closed in the end.

    Two faults of executors with threads may go unnoticed, because whether they show is a matter of
    luck: trainers that share a global generator or other data (the toys share none), and a
    job that trains on, on a trainer of its own, after its run was closed. What threads must hold is
    said at ``Executor.run``.

    Args:
        make_executor: makes the executor; it is given the factory of the trainers that workers
            need, and may ignore it.
        make_trainer: builds the trainers to examine with. Without it toys of all kinds are used,
            with errors and partial epochs.
        space: the space of these trainers; belongs to ``make_trainer``.

    >>> print(check_executor(lambda make: Serial(), make_trainer=Chameleon, space={"lr": [0.1, 1]}))
    ok       tries
    ok       from origins of their own
    ok       run: grid
    ok       run: racing
    """
    if (make_trainer is None) != (space is None):
        raise SettingsError(
            "check_executor: make_trainer and space belong together, got "
            f"make_trainer={make_trainer!r}, space={space!r}"
        )
    examined: list[cases.TriesCase | cases.RunCase]
    if make_trainer is None or space is None:
        make: Make = Chameleon
        examined = [*cases.toy_tries_cases(), *cases.toy_run_cases()]
    else:
        make = make_trainer
        whole = require_subject(make, space, epochs=1, another_process=False).space
        examined = [*cases.tries_cases(make, whole), *cases.run_cases(make, whole)]
    executor = make_executor(make)
    with ExitStack() as stack:
        stack.callback(close, executor)
        report = LawReport(tuple(_verdict(case, executor) for case in examined))
    return report.require_unbroken()


def _verdict(case: cases.TriesCase | cases.RunCase, executor: Executor) -> Verdict:
    name = case.name if isinstance(case, cases.TriesCase) else f"run: {case.name}"
    try:
        if isinstance(case, cases.RunCase):
            expected = _carried_out(case, Serial())
            _demand("run", expected, _carried_out(case, executor), "result")
        else:
            _check_tries(case, executor)
            if isinstance(executor, CompletesAnyOrder):
                _check_any_order(case, executor)
    except LawBroken as failure:
        return Verdict(law=name, status="BROKEN", message=f"{name}: {failure}")
    return Verdict(law=name, status="ok")


def _check_tries(case: cases.TriesCase, executor: Executor) -> None:
    for keeps in (_ALL, _NONE, _EVERY_OTHER):
        seen, raised = _observe(case, _in_turn(executor), keeps)
        expected, end = _observe(case, _in_turn(Serial()), keeps)
        _demand("raised", end, raised, "exception")
        _demand("order", len(expected), len(seen), "number of outcomes")
        for wanted, outcome in zip(expected, seen, strict=True):
            _compare(wanted, outcome, "order" if _swapped(expected, outcome) else "tries")
        if end is not None:
            return  # it ends there whatever is kept, and workers need not be started again for that
    if case.closed:
        _check_closed(case, executor, lambda trainer, jobs: _begun(executor, trainer, jobs))


def _check_any_order(case: cases.TriesCase, executor: CompletesAnyOrder) -> None:
    def kind(raised: str | None) -> str | None:
        return raised and raised.partition(":")[0]

    seen, raised = _observe(case, lambda trainer, jobs: executor.as_completed(jobs), _ALL)
    expected, end = _observe(case, _in_turn(Serial()), _ALL)
    # Which of several jobs raises first is open: only the kind of exception is not.
    _demand("raised", kind(end), kind(raised), "exception, as_completed")
    if end is None:
        places = sorted(outcome.place for outcome in seen)
        _demand("places", list(range(len(expected))), places, "places, as_completed")
        for outcome in seen:
            cause = "places" if _swapped(expected, outcome) else "tries"
            _compare(expected[outcome.place], outcome, cause)
        if case.closed:
            _check_closed(case, executor, lambda trainer, jobs: executor.as_completed(jobs))


@generators_put_back()
def _check_closed(case: cases.TriesCase, executor: Any, begin: _Begin) -> None:
    """Close a run after its first outcome: it goes on nowhere, and the next run has none of it."""
    trainer = case.make()
    beats = _beats(case)
    outcomes = begin(trainer, case.jobs(trainer, beats))
    next(outcomes)
    end = getattr(outcomes, "close", None)
    if end is not None:
        end()
    heard = [list(each.heard) for each in beats]
    state = copy_of(trainer.get_state())
    seen, raised = _observe(case, _in_turn(executor), _ALL)
    expected, wanted = _observe(case, _in_turn(Serial()), _ALL)
    _demand("closed", wanted, raised, "exception of the next run")
    _demand("closed", _answers(expected), _answers(seen), "outcomes of the next run")
    _demand("closed", heard, [each.heard for each in beats], "beats since it was closed")
    _demand("closed", state, trainer.get_state(), "the trainer since it was closed")


def _begun(executor: Executor, trainer: Trainer, jobs: Sequence[Job]) -> Iterator[Outcome]:
    """The run that an adapter begins."""
    return executor.run(trainer, jobs, at=jobs[0].origin)


def _in_turn(executor: Executor) -> _RunJobs:
    """As an adapter does it."""
    return lambda trainer, jobs: enumerate(_begun(executor, trainer, jobs))


def _beats(case: cases.TriesCase) -> list[cases.Beats]:
    return [cases.Beats() for _ in case.candidates]


@dataclass(frozen=True, slots=True)
class _SeenOutcome:
    """What was seen of one outcome; ``states`` is empty if the state was not asked for.

    ``beats`` is what had been told of its epochs by then: nothing, if they were elsewhere.
    """

    place: int
    record: tuple[tuple[Metrics, ...], int, str | None]  # series, epochs, error
    states: tuple[State, ...]
    beats: tuple[cases.Beat, ...]
    in_the_end: list[cases.Beat]  # the beats of the same job when all is over
    in_place: bool


def _answers(seen: Sequence[_SeenOutcome]) -> list[Any]:
    """What must be the same wherever the tries are carried out."""
    return [(each.record, each.states) for each in seen]


@generators_put_back()  # so that the next one starts from the same numbers
def _observe(
    case: cases.TriesCase, run_jobs: _RunJobs, keeps: range
) -> tuple[list[_SeenOutcome], str | None]:
    """Carry out the tries and keep some states: the outcomes, and the exception that ended it."""
    trainer = case.make()
    beats = _beats(case)
    jobs = case.jobs(trainer, beats)
    origins = [copy_of(job.origin) for job in jobs]
    seen: list[_SeenOutcome] = []
    kept: list[tuple[State, State]] = []
    raised = None
    try:
        for place, outcome in run_jobs(trainer, jobs):
            states: tuple[State, ...] = ()
            if place in keeps:
                if outcome.in_place:
                    what = "the trainer's state and keep()"
                    _demand("in place", trainer.get_state(), outcome.keep(), what)
                states = (outcome.keep(),)
            copies = tuple(map(copy_of, states))
            kept += zip(states, copies, strict=True)
            record = (outcome.series, outcome.epochs, outcome.error)
            heard = beats[place].heard if place in range(len(beats)) else []  # one too many
            told = tuple(heard)
            seen.append(_SeenOutcome(place, record, copies, told, heard, outcome.in_place))
    except LawBroken:
        raise
    except Exception as error:
        raised = error_line(error)
    for state, copy in kept:
        _demand("live", copy, state, "a state kept, after later tries")
    for origin, job in zip(origins, jobs, strict=True):
        _demand("origin", origin, job.origin, "an origin, after the tries")
    return seen, raised


def _swapped(expected: list[_SeenOutcome], outcome: _SeenOutcome) -> bool:
    """Whether another job has this outcome, so that a difference is one of order."""
    series, _, error = outcome.record
    return any((series, error) == (each.record[0], each.record[2]) for each in expected)


def _compare(expected: _SeenOutcome, outcome: _SeenOutcome, cause: str) -> None:
    name = f"outcome {expected.place}"
    _demand(cause, expected.record, outcome.record, f"{name}: (series, epochs, error)")
    _demand("state", expected.states, outcome.states, f"{name}: keep()")
    if outcome.beats or outcome.in_place:
        what = f"{name}: beats (epochs, metrics, on the thread of run())"
        _demand("beats", expected.beats, outcome.beats, what)
    _demand("beats", list(outcome.beats), outcome.in_the_end, f"{name}: beats, after it was there")


@generators_put_back()
def _carried_out(run: cases.RunCase, executor: Executor) -> dict[str, Any]:
    trainer = run.make()
    adapter = DynamicGridAdapter(
        trainer,
        run.space,
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
        raised = error_line(error)
    rounds = history_to_plain(adapter.history)
    for record in [*rounds, *(try_ for round_ in rounds for try_ in round_["tries"])]:
        del record["seconds"]
    return {"raised": raised, "rounds": rounds, "state": trainer.get_state()}


def _demand(cause: str, expected: Any, got: Any, what: str) -> None:
    """Demand that the two are equal; what ``Serial`` gives comes first."""
    place = difference(expected, got, what)
    if place is not None:
        way_out = _WAY_OUT.get(cause, _AS_SERIAL)
        raise broken("the same answer as Serial", place, _CAUSE[cause], way_out)
