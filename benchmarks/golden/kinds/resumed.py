"""Runs that are killed and started again on the same folder, and their journals."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from exact import exact, history_of
from names import public
from running import Record, Run, adapter_on, after, journal_of, noted_warnings, outcome_of

from dynhp import lowest
from kinds.interrupted import CASES

EPOCHS = 13
EVERY = {"waves": 2, "best": 3, "rescue": 2}
"""How many rounds lie between checkpoints; 1 in all other cases."""


class Kill:
    """Ends the process in the given call of a kind; of any kind where it is ``"any"``."""

    def __init__(self, kind: str, number: int) -> None:
        self.kind = kind
        self.left = number

    def __call__(self, kind: str, number: int) -> None:
        """Called before each call of the trainer."""
        if self.kind == kind or (self.kind == "any" and kind != "epochs"):
            self.left -= 1
            if self.left == 0:
                os._exit(9)


def started(folder: Path, case: str, kill: Kill | None, **more: Any) -> tuple[Any, Any, Record]:
    """Start the run of a folder, or go on with it, until it ends or is killed."""
    make, settings = CASES[case]
    trainer = make()
    trainer.on_call = kill
    journal = public("Journal")(folder / "journal.jsonl", seconds=False)
    given = {"check": "off", **settings, "callbacks": [journal], **more}
    adapter = adapter_on(trainer, given)
    outcome = outcome_of(
        lambda: public("run_with_checkpoints")(
            adapter, EPOCHS, checkpoint=folder / "saved", every=EVERY.get(case, 1)
        )
    )
    return adapter, trainer, outcome


def killed(case: str, kills: list[tuple[str, int]], **more: Any) -> Run:
    """A run that is killed in a process of its own each time, and then goes on to its end."""

    def run(folder: Path) -> Record:
        record: Record = {}
        with noted_warnings(record):
            for kind, number in kills:
                in_a_process(partial(started, folder, case, Kill(kind, number), **more))
            adapter, trainer, outcome = started(folder, case, None, **more)
            record.update(outcome)
            record.update(after(adapter, trainer))
        if any(kind == "any" for kind, _ in kills):
            del record["calls"]  # of the last process, which depend on where it begins
        path = folder / "journal.jsonl"
        record["journal"] = journal_of(path)
        read = public("history_from_journal")(path)
        record["journal's history"] = history_of(read) == record["history"]
        return record

    return run


def in_a_process(work: Callable[[], object]) -> None:
    """Do the work in a process that it may end."""
    child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            os._exit(0)
    os.waitpid(child, 0)


def kills() -> Iterator[tuple[str, Run]]:
    """Each case undisturbed, and killed in every few epochs and calls, once, twice and again."""
    for case in CASES:
        yield f"{case}, undisturbed", killed(case, [])
        for number in (1, 3, 6, 10, 15, 21):
            yield f"{case}, epoch {number}", killed(case, [("epochs", number)])
        for number in (2, 5, 9, 14, 20):
            yield f"{case}, call {number}", killed(case, [("any", number)])
        for number, again in ((9, 2), (14, 7)):
            twice = [("epochs", number), ("epochs", again)]
            yield f"{case}, epochs {number} and {again}", killed(case, twice)
        yield f"{case}, five times", killed(case, [("any", 13)] * 5)
    for case, number in product(("grid", "race", "tail", "best"), (2, 8, 14)):
        once = [("epochs", number)]
        yield f"{case}, checked, epoch {number}", killed(case, once, check="first")
        yield f"{case}, every check, epoch {number}", killed(case, once, check="every")


def longer() -> Iterator[tuple[str, Run]]:
    """Saved runs that are asked for more epochs, go on with other settings, or are over."""
    for case, (first, second) in product(CASES, ((5, 13), (13, 13), (13, 8))):
        yield f"{case}, {first} then {second}", _asked_twice(case, first, second, {})
    changed: dict[str, dict[str, Any]] = {
        "seed": {"seed": 5},
        "space": {"space": {"lr": [0.1, 0.2]}},
        "criterion": {"criterion": lowest("norm")},
        "keep": {"keep": "value"},
        "randomness": {"randomness": "independent"},
        "check": {"check": "every"},
        "tolerance": {"tolerance": 0.5},
        "callbacks": {"callbacks": [print_nothing]},
    }
    for name, settings in changed.items():
        yield f"grid, another {name}", _asked_twice("grid", 5, 13, settings)


def print_nothing(event: object) -> None:
    """A callback."""


def _asked_twice(case: str, first: int, second: int, changed: dict[str, Any]) -> Run:
    def run(folder: Path) -> Record:
        record: Record = {}
        make, settings = CASES[case]
        with noted_warnings(record):
            for epochs, more in ((first, {}), (second, changed)):
                trainer = make()
                adapter = adapter_on(trainer, {"check": "off", **settings, **more})
                go_on = partial(public("run_with_checkpoints"), checkpoint=folder / "saved")
                outcome = outcome_of(partial(go_on, adapter, epochs))
                record[f"asked for {epochs}"] = exact(outcome["error"])
            record.update(outcome)
            record.update(after(adapter, trainer))
        return record

    return run


KINDS = {"kills": kills, "longer": longer}
