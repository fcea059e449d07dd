"""The one law of executors, for anybody's executor: the answer is that of ``Serial``."""

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
from dynhp.spaces import Space, SpaceLike
from dynhp.testing.executors import cases
from dynhp.testing.executors.chameleon import Chameleon
from dynhp.testing.executors.outcomes import Seen, any_order, demand, in_turn, watch
from dynhp.testing.laws.check import Report, Verdict
from dynhp.testing.laws.probe import Make, generators_put_back, require_subject, told

__all__ = ["MakeExecutor", "check_executor"]

MakeExecutor: TypeAlias = Callable[[Make], Executor]
"""Makes the executor under examination, given what builds the trainers of its workers."""


def check_executor(
    make_executor: MakeExecutor,
    *,
    make_trainer: Make | None = None,
    space: SpaceLike | None = None,
) -> Report:
    """Demand that an executor gives what ``Serial`` gives, bit for bit; else raise ``LawBroken``.

    ``make_executor`` is given the factory of the trainers that workers need, and may ignore it.
    Toys of all kinds are tried, with errors and partial epochs; with ``make_trainer`` and
    ``space`` it is that trainer instead. ``as_completed`` is examined where there is one; what
    has a ``close`` is closed in the end.

    >>> print(check_executor(lambda make: Serial(), make_trainer=Chameleon, space={"lr": [0.1]}))
    ok       tries
    ok       from origins of their own
    ok       run: grid
    ok       run: racing
    """
    make, checks = _checks(make_trainer, space)
    executor = make_executor(make)
    with ExitStack() as stack:
        stack.callback(close, executor)
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


_ALL, _NONE, _EVERY_OTHER = range(0, 99), range(0), range(1, 99, 2)


def _check_heat(heat: cases.Heat, executor: Executor) -> None:
    for keeps in (_ALL, _NONE, _EVERY_OTHER):
        ours, our_end = watch(heat, in_turn(executor), keeps)
        serial, end = watch(heat, in_turn(Serial()), keeps)
        demand("raised", end, our_end, "exception")
        demand("order", len(serial), len(ours), "number of outcomes")
        for one, other in zip(serial, ours, strict=True):
            _compare(one, other, "order" if _swapped(serial, other) else "tries")
        if end is not None:
            break  # it ends there whatever is kept, and workers need not be started anew for that
    if isinstance(executor, CompletesAnyOrder):
        _check_any_order(heat, executor)


def _check_any_order(heat: cases.Heat, executor: CompletesAnyOrder) -> None:
    ours, our_end = watch(heat, any_order(executor), _ALL)
    serial, end = watch(heat, in_turn(Serial()), _ALL)
    # Which of several jobs raises first is open: only the kind of exception is not.
    demand("raised", _kind(end), _kind(our_end), "exception, as_completed")
    if end is None:
        places = sorted(seen.place for seen in ours)
        demand("places", list(range(len(serial))), places, "places, as_completed")
        for seen in ours:
            _compare(serial[seen.place], seen, "places" if _swapped(serial, seen) else "tries")


def _kind(raised: str | None) -> str | None:
    return raised and raised.partition(":")[0]


def _swapped(seen: list[Seen], one: Seen) -> bool:
    """Whether an outcome is that of some job, so that a difference is one of order."""
    return any(one.series == other.series and one.error == other.error for other in seen)


def _compare(serial: Seen, ours: Seen, cause: str) -> None:
    demand(cause, serial.told, ours.told, f"outcome {serial.place}: (series, epochs, error)")
    demand("state", serial.states, ours.states, f"outcome {serial.place}: keep()")


def _check_run(run: cases.Run, executor: Executor) -> None:
    demand("run", _carried_out(run, Serial()), _carried_out(run, executor), "result")


@generators_put_back()
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
