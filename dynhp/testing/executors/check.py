"""The one law of executors, for any executor: the answer is that of ``Serial``."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any, TypeAlias

from dynhp.adapter import DynamicGridAdapter
from dynhp.errors import LawBroken, SettingsError
from dynhp.executors import Executor, Serial
from dynhp.rounds.jobs import CompletesAnyOrder, close
from dynhp.rounds.plain import history_to_plain
from dynhp.spaces import SpaceLike
from dynhp.testing.executors import cases
from dynhp.testing.executors.chameleon import Chameleon
from dynhp.testing.executors.outcomes import SeenOutcome, any_order, demand, in_turn, observe
from dynhp.testing.laws import LawReport, Make, Verdict
from dynhp.testing.laws.lines import error_line
from dynhp.testing.laws.probe import generators_put_back, require_subject

__all__ = ["MakeExecutor", "check_executor"]

MakeExecutor: TypeAlias = Callable[[Make], Executor]
"""Makes the executor under examination, given what builds the trainers of its workers."""


def check_executor(
    make_executor: MakeExecutor, *, make_trainer: Make | None = None, space: SpaceLike | None = None
) -> LawReport:
    """Demand that an executor gives what ``Serial`` gives, bit for bit; else raise ``LawBroken``.

    Where the executor has ``as_completed``, that is examined too; where it has ``close``, it is
    closed in the end.

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
    make, checks = _checks(make_trainer, space)
    executor = make_executor(make)
    with ExitStack() as stack:
        stack.callback(close, executor)
        report = LawReport(tuple(_verdict(name, check, executor) for name, check in checks))
    return report.require_unbroken()


_Check: TypeAlias = Callable[[Executor], None]


def _checks(
    make: Make | None, space: SpaceLike | None
) -> tuple[Make, Iterator[tuple[str, _Check]]]:
    if make is None and space is None:
        return Chameleon, _named(cases.toy_tries_cases(), cases.toy_run_cases())
    if make is None or space is None:
        raise SettingsError(
            "check_executor: make_trainer and space belong together, got "
            f"make_trainer={make!r}, space={space!r}"
        )
    whole = require_subject(make, space, epochs=1, another_process=False).space
    return make, _named(cases.tries_cases(make, whole), cases.run_cases(make, whole))


def _named(
    tries: Iterator[cases.TriesCase], runs: Iterator[cases.RunCase]
) -> Iterator[tuple[str, _Check]]:
    for case in tries:
        yield case.name, functools.partial(_check_tries, case)
    for run in runs:
        yield f"run: {run.name}", functools.partial(_check_run, run)


def _verdict(name: str, check: _Check, executor: Executor) -> Verdict:
    try:
        check(executor)
    except LawBroken as failure:
        return Verdict(law=name, status="BROKEN", message=f"{name}: {failure}")
    return Verdict(law=name, status="ok")


_ALL, _NONE, _EVERY_OTHER = range(0, 99), range(0), range(1, 99, 2)


def _check_tries(case: cases.TriesCase, executor: Executor) -> None:
    for keeps in (_ALL, _NONE, _EVERY_OTHER):
        seen, raised = observe(case, in_turn(executor), keeps)
        expected, end = observe(case, in_turn(Serial()), keeps)
        demand("raised", end, raised, "exception")
        demand("order", len(expected), len(seen), "number of outcomes")
        for wanted, outcome in zip(expected, seen, strict=True):
            _compare(wanted, outcome, "order" if _swapped(expected, outcome) else "tries")
        if end is not None:
            break  # it ends there whatever is kept, and workers need not be started again for that
    if isinstance(executor, CompletesAnyOrder):
        _check_any_order(case, executor)


def _check_any_order(case: cases.TriesCase, executor: CompletesAnyOrder) -> None:
    seen, raised = observe(case, any_order(executor), _ALL)
    expected, end = observe(case, in_turn(Serial()), _ALL)
    # Which of several jobs raises first is open: only the kind of exception is not.
    demand("raised", _kind(end), _kind(raised), "exception, as_completed")
    if end is None:
        places = sorted(outcome.place for outcome in seen)
        demand("places", list(range(len(expected))), places, "places, as_completed")
        for outcome in seen:
            cause = "places" if _swapped(expected, outcome) else "tries"
            _compare(expected[outcome.place], outcome, cause)


def _kind(raised: str | None) -> str | None:
    return raised and raised.partition(":")[0]


def _swapped(expected: list[SeenOutcome], outcome: SeenOutcome) -> bool:
    """Whether an outcome is that of some job, so that a difference is one of order."""
    series, _, error = outcome.record
    return any((series, error) == (each.record[0], each.record[2]) for each in expected)


def _compare(expected: SeenOutcome, outcome: SeenOutcome, cause: str) -> None:
    name = f"outcome {expected.place}"
    demand(cause, expected.record, outcome.record, f"{name}: (series, epochs, error)")
    demand("state", expected.states, outcome.states, f"{name}: keep()")


def _check_run(run: cases.RunCase, executor: Executor) -> None:
    demand("run", _carried_out(run, Serial()), _carried_out(run, executor), "result")


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
