"""Runs in parts: asked for step by step, saved and loaded, and broken off by Ctrl-C anywhere."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from climbing import Climb
from exact import exact, history_of
from names import public
from running import (
    Record,
    Run,
    Settings,
    adapter_on,
    after,
    noted_warnings,
    outcome_of,
    settings_in,
    trained,
)
from trainers import Breaking, FailingDescent, Noisy, ReadableDescent, Restless

from dynhp import FullGrid, Interpolation, Neighbors, Placebo, Racing

At, OnPlateau, OnSpike = public("At"), public("OnPlateau"), public("OnSpike")
Ladder, Around = public("Ladder"), public("Around")
Snapshots, any_of = public("Snapshots"), public("any_of")
annealed, scale = public("annealed"), public("scale")

CASES: dict[str, tuple[Callable[[], Any], dict[str, Any]]] = {
    "grid": (Noisy, {}),
    "read back": (ReadableDescent, {"proposer": Neighbors(), "check": "every"}),
    "race": (partial(FailingDescent, {0.3: "later"}), {"selection": Racing(), "try_for": 3}),
    "waves": (Noisy, {"proposer": Interpolation(), "randomness": "independent"}),
    "placebo": (Noisy, {"proposer": Placebo(3), "keep": "value"}),
    "tail": (Noisy, {"proposer": Neighbors(), "tail": annealed("lr", epochs=1)}),
    "ladder": (
        Noisy,
        {
            "when": At([0, 6]),
            "space": {"lr": Around(0.03)},
            "try_for": 0,
            "tail": annealed("lr", epochs=0.25),
            "proposer": Climb(3),
            "keep": "value",
            "then": scale(0.3),
            "epochs": 13,
        },
    ),
    "best": (
        Restless,
        {
            "when": OnPlateau("loss", patience=2),
            "start_from": "best",
            "max_rounds": 4,
            "record_every": 3,
            "try_for": 3,
            "proposer": Neighbors(),
        },
    ),
    "rescue": (
        partial(Breaking, "spike", at=(5, 9)),
        {
            "when": any_of(At([0.4]), OnSpike("loss", window=4, factor=2.0)),
            "start_from": "before",
            "snapshots": Snapshots(k=2, every=2),
            "max_rounds": 2,
            "max_rescues": 9,
            "proposer": Ladder(2),
            "initial": {"lr": 0.3},
        },
    ),
    "rescue of what raises": (
        partial(Breaking, "raise", at=(5, 9)),
        {
            "when": OnSpike("loss", window=4, factor=2.0),
            "start_from": "best",
            "max_rounds": 0,
            "max_rescues": 9,
            "proposer": Ladder(2),
            "initial": {"lr": 0.3},
        },
    ),
    "dry": (ReadableDescent, {"proposer": FullGrid(), "dry_run": True}),
}


def _in_steps(adapter: Any, epochs: int) -> list[Any]:
    seen = []
    while not adapter.is_over:
        round_ = adapter.step()
        seen.append([round_.index, round_.start, round_.epochs, adapter.epoch, adapter.current])
    return seen


def _in_two_calls(first: int, adapter: Any, epochs: int) -> None:
    adapter.run(first)
    adapter.run(epochs)


def _left_after(rounds: int, adapter: Any, epochs: int) -> list[Any]:
    """Iterate for so many rounds, leave, and go on."""
    seen = [round_.index for round_ in islice(adapter.rounds(epochs), rounds)]
    return [seen, adapter.epoch, adapter.run(epochs).epochs]


def in_parts() -> Iterator[tuple[str, Run]]:
    """The same run asked for in other ways."""
    for case, (make, settings) in CASES.items():
        given = {**settings, "epochs": 13}
        yield f"{case}, step by step", trained(make, given, drive=_in_steps)
        for first in (4, 6):
            yield (
                f"{case}, {first} first",
                trained(make, settings, drive=partial(_in_two_calls, first)),
            )
        yield f"{case}, left after 2 rounds", trained(make, settings, drive=partial(_left_after, 2))
        for rounds in (0, 1, 3):
            yield f"{case}, saved after {rounds}", saved_and_loaded(make, settings, rounds)


def saved_and_loaded(make: Callable[[], Any], settings: Settings, rounds: int) -> Run:
    """A checkpoint of one's own between two rounds: a new adapter and a new trainer go on."""

    def run(folder: Path) -> Record:
        record: Record = {"events": []}
        with noted_warnings(record):
            trainer = make()
            adapter = adapter_on(trainer, settings_in(settings, folder))

            def first_part() -> None:
                list(islice(adapter.rounds(13), rounds))

            record["first part"] = outcome_of(first_part)["error"]
            saved = copy.deepcopy((adapter.state_dict(), trainer.content()))
            trainer = make()
            adapter = adapter_on(trainer, settings_in(settings, folder), record["events"])

            def second_part() -> None:
                trainer.set_state(saved[1])
                adapter.load_state_dict(saved[0])
                adapter.run(13)

            record.update(outcome_of(second_part))
            record.update(after(adapter, trainer))
        return record

    return run


class Interruption:
    """Raises KeyboardInterrupt once, in the given call of a kind, and notes that it did."""

    def __init__(self, kind: str, number: int) -> None:
        self.kind = kind
        self.left = number
        self.came = False

    def __call__(self, kind: str, number: int) -> None:
        """Called before each call of the trainer."""
        if kind == self.kind and not self.came:
            self.left -= 1
            if self.left == 0:
                self.came = True
                raise KeyboardInterrupt


def interrupts() -> Iterator[tuple[str, Run]]:
    """Ctrl-C in every few calls of each kind; then the same adapter goes on."""
    moments = {
        "epochs": (1, 2, 4, 7, 11, 16, 22),
        "get_state": (1, 2, 3, 5, 9),
        "set_state": (1, 2, 3, 5, 9),
        "metrics": (1, 3, 8),
    }
    for case, (make, settings) in CASES.items():
        for kind, numbers in moments.items():
            for number in numbers:
                yield f"{case}, {kind} {number}", interrupted(make, settings, kind, number)


def interrupted(make: Callable[[], Any], settings: Settings, kind: str, number: int) -> Run:
    """A run that is interrupted once and goes on.

    Where epochs are counted, the moment is the same in both versions, so that what is left by the
    interrupt is recorded too. The calls are not: some are made twice.
    """

    def run(folder: Path) -> Record:
        record: Record = {"events": []}
        with noted_warnings(record):
            trainer = make()
            adapter = adapter_on(trainer, settings_in(settings, folder))
            interruption = Interruption(kind, number)
            trainer.on_call = interruption
            first = outcome_of(lambda: adapter.run(13))
            if kind == "epochs":
                record["left"] = [
                    first["error"],
                    exact(trainer.content()),
                    history_of(adapter.history),
                ]
            if interruption.came:
                record.update(outcome_of(lambda: adapter.run(13)))
            else:
                record.update(first)
            record.update(after(adapter, trainer))
            del record["calls"]
        return record

    return run


KINDS = {"parts": in_parts, "interrupts": interrupts}
