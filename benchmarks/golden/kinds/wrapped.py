"""Wrappers of trainers and adapters, baselines, journals, and schedules that are replayed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from exact import cost_of, exact, fields_of, history_of
from names import public
from running import (
    SPACE,
    Record,
    Run,
    adapter_on,
    after,
    journal_of,
    noted_warnings,
    outcome_of,
)
from trainers import Breaking, FailingDescent, Noisy, UncopyableDescent

from dynhp import Float, KeepBest, Neighbors, Racing, Shadow, lowest
from kinds.interrupted import CASES

Schedule = public("Schedule")


def shadows() -> Iterator[tuple[str, Run]]:
    """Adapters with an unadapted line beside them; either line may fail."""
    for case, (make, settings) in CASES.items():
        if "max_rescues" not in settings:
            yield case, shadowed(make, settings)
    breaking: dict[str, Callable[[], Any]] = {
        "both lines break": partial(Breaking, "raise", at=(6,), limit=0.01),
        "the shadow breaks": partial(FailingDescent, {0.1: "raise"}),
        "the adapted line breaks": partial(FailingDescent, {0.3: "later"}),
    }
    for name, make in breaking.items():
        for initial in (0.1, 0.3):
            settings = {"initial": {"lr": initial}, "try_for": 1}
            yield f"{name}, from {initial}", shadowed(make, settings)


def shadowed(make: Callable[[], Any], settings: dict[str, Any]) -> Run:
    """A run with a shadow, and what it delivered."""

    def run(folder: Path) -> Record:
        record: Record = {"events": []}
        trainer = make()
        with noted_warnings(record):
            adapter = adapter_on(trainer, settings, record["events"])

            def whole() -> None:
                delivery = Shadow(adapter, criterion=lowest("loss")).run(13)
                names = [
                    "delivered",
                    "adapted_score",
                    "shadow_score",
                    "adapted_error",
                    "shadow_error",
                ]
                record["delivery"] = fields_of(delivery, names)
                record["cost of both"] = cost_of(delivery.cost)
                record["shadow"] = history_of(delivery.shadow)

            record.update(outcome_of(whole))
            record.update(after(adapter, trainer))
        return record

    return run


def wrappers() -> Iterator[tuple[str, Run]]:
    """Trainers that keep their best state, and those that are trained again."""
    for case, (make, settings) in CASES.items():
        yield f"keep best, {case}", kept_best(make, settings)
    retrained: dict[str, dict[str, Any]] = {
        "grid": {},
        "neighbours": {"proposer": Neighbors()},
        "race": {"selection": Racing()},
        "value": {"keep": "value"},
        "dry": {"dry_run": True},
        "every check": {"check": "every"},
    }
    for case, settings in retrained.items():
        yield f"retrained, {case}", trained_again(settings)


def kept_best(make: Callable[[], Any], settings: dict[str, Any]) -> Run:
    """A run of ``KeepBest``, and the state that it delivers."""

    def run(folder: Path) -> Record:
        record: Record = {"events": []}
        trainer = make()
        with noted_warnings(record):
            keeper = KeepBest(trainer, lowest("loss"))
            adapter = adapter_on(keeper, settings, record["events"])
            record.update(outcome_of(lambda: adapter.run(13)))
            record.update(after(adapter, trainer))
            keeper.deliver()
            record["best"] = exact(trainer.content())
        return record

    return run


def trained_again(settings: dict[str, Any]) -> Run:
    """A run of a model that cannot be copied."""

    def run(folder: Path) -> Record:
        record: Record = {"events": []}
        with noted_warnings(record):
            trainer = public("Retrained")(UncopyableDescent)
            given = {"space": {"lr": [0.1, 0.3, 0.5]}, **settings}
            adapter = adapter_on(trainer, given, record["events"])
            record.update(outcome_of(lambda: adapter.run(13)))
            record["history"] = history_of(adapter.history)
            record["state"] = exact(trainer.get_state())
            record["calls"] = {"epochs_retrained": trainer.epochs_retrained}
        return record

    return run


def baselines() -> Iterator[tuple[str, Run]]:
    """What adaptation is compared with."""
    search, drawn, fixed = public("complete_search"), public("random_search"), public("fixed")
    floats = {"lr": Float(0.01, 0.3, log=True, points=4)}
    for part, fails in product((1.0, 0.5, 0.1), ({}, {0.3: "raise"})):
        call = partial(search, space=SPACE, criterion=lowest("loss"), epochs=9, part=part)
        yield f"complete, {part}, {len(fails)} fail", compared(partial(FailingDescent, fails), call)
    for seed in (0, 1, 2):
        yield f"drawn, {seed}", compared(Noisy, partial(drawn, space=floats, epochs=7, seed=seed))
    for every in (None, 2, 3):
        call = partial(fixed, values={"lr": 0.1}, epochs=7, measure_every=every)
        yield f"fixed, {every}", compared(Noisy, call)


def compared(make: Callable[[], Any], call: Callable[..., Any]) -> Run:
    """A baseline on a new trainer."""

    def run(folder: Path) -> Record:
        record: Record = {}
        trainer = make()
        with noted_warnings(record):

            def whole() -> None:
                history = call(trainer)
                record["history"] = history_of(history)
                record["cost"] = cost_of(public("spent")(history))

            record.update(outcome_of(whole))
            record["state"] = exact(trainer.content())
            record["calls"] = dict(trainer.calls)
        return record

    return run


def schedules() -> Iterator[tuple[str, Run]]:
    """The schedule of a run, through JSON, and replayed on a new trainer."""
    for case in CASES:
        yield case, replayed(case)


def replayed(case: str) -> Run:
    """A run, its schedule, and the run that follows it."""

    def run(folder: Path) -> Record:
        record: Record = {}
        make, settings = CASES[case]
        with noted_warnings(record):
            adapter = adapter_on(make(), settings)
            adapter.run(13)
            schedule = public("schedule_of")(adapter.history)
            record["schedule"] = exact(schedule.as_list())
            record["seeds"] = exact([segment.seed for segment in schedule.segments])
            trainer = make()

            def whole() -> None:
                again = Schedule.from_json(schedule.to_json())
                record["history"] = history_of(public("replay")(again, trainer))

            record.update(outcome_of(whole))
            record["state"] = exact(trainer.content())
            record["calls"] = dict(trainer.calls)
        return record

    return run


def journals() -> Iterator[tuple[str, Run]]:
    """Journals of undisturbed runs, and what is read back from them."""
    for case, seconds in product(CASES, (False, True)):
        yield f"{case}, seconds {seconds}", journaled(case, seconds)


def journaled(case: str, seconds: bool) -> Run:
    """A run with a journal."""

    def run(folder: Path) -> Record:
        record: Record = {}
        make, settings = CASES[case]
        trainer = make()
        path = folder / "journal.jsonl"
        with noted_warnings(record):
            journal = public("Journal")(path, seconds=seconds)
            adapter = adapter_on(trainer, {**settings, "callbacks": [journal]})
            record.update(outcome_of(lambda: adapter.run(13)))
            record.update(after(adapter, trainer))
        record["journal"] = journal_of(path)
        read = public("history_from_journal")(path)
        record["journal's history"] = history_of(read) == record["history"]
        return record

    return run


KINDS = {
    "shadows": shadows,
    "wrappers": wrappers,
    "baselines": baselines,
    "schedules": schedules,
    "journals": journals,
}
