"""Runs in which the commit before was known to be wrong: ``expected.toml`` lists what changed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Any

from exact import exact, global_generators, history_of
from names import public, settings_of
from running import (
    Record,
    Run,
    adapter_on,
    after,
    after_loop,
    loop_on,
    noted_warnings,
    outcome_of,
    seed_globals,
    train_and_report,
)
from trainers import Breaking, ForgetfulDescent, LoopModel, Noisy, Restless, Unused

from kinds.resumed import in_a_process


def counters() -> Iterator[tuple[str, Run]]:
    """A counter that is assigned to another name is a number from then on."""
    for period in (3, 5):
        yield f"02, assigned, every {period}", partial(_counted, period)


def _counted(period: int, folder: Path) -> Record:
    counter = public("Counter")
    model, steps, last = LoopModel(), counter(), counter()
    seed_globals()
    fired = []
    loop = loop_on(model, {"state": [model, steps, last], "epochs": 14})

    def whole() -> None:
        nonlocal steps, last
        for epoch in loop:
            steps += 1
            if steps - last >= period:
                last = steps
                fired.append([int(epoch), epoch.main])
            train_and_report(model, epoch)

    record: Record = {}
    with noted_warnings(record):
        record.update(outcome_of(whole))
        record["fired"] = fired
        record.update(after_loop(loop, model))
    return record


def generators() -> Iterator[tuple[str, Run]]:
    """Where the global generators stand after loops that were resumed, or that had a trigger."""
    for number in (None, 4, 9, 15):
        yield f"03, independent, killed in {number}", partial(_resumed_loop, number)
    for body in ("sound", "raises"):
        yield f"04, rescue, {body}", partial(_rescued_loop, body)


def _resumed_loop(kill_in: int | None, folder: Path) -> Record:
    settings = {"randomness": "independent", "check": "off", "epochs": 12}

    def script(kill_in: int | None) -> tuple[Any, LoopModel]:
        model = LoopModel()
        seed_globals()
        loop = loop_on(model, settings)
        with public("checkpoints")(folder / "saved", loop):
            for number, epoch in enumerate(loop, 1):
                if number == kill_in:
                    os._exit(9)
                train_and_report(model, epoch)
        return loop, model

    record: Record = {}
    with noted_warnings(record):
        if kill_in is not None:
            in_a_process(lambda: script(kill_in))
        loop, model = script(None)
        record.update(after_loop(loop, model))
    return record


def _rescued_loop(body: str, folder: Path) -> Record:
    model = LoopModel()
    seed_globals()
    preset = public("rescue")("lr", default=0.3, loss="loss", spike=50.0)
    record: Record = {}
    with noted_warnings(record):
        loop = loop_on(model, {**settings_of(preset), "epochs": 12})
        for epoch in loop:
            with epoch:
                if body == "raises" and epoch["lr"] == 0.3 and model.trained == 5:
                    raise FloatingPointError("broke")
                train_and_report(model, epoch)
        record.update(after_loop(loop, model))
        if body == "sound":
            seed_globals()
            plain = LoopModel()
            for _ in range(12):
                plain.train(0.3)
            record["as the plain loop"] = record["globals"] == global_generators()
    return record


def shared_folders() -> Iterator[tuple[str, Run]]:
    """Two runs side by side that are given one folder for their snapshots."""
    yield "05, one folder of snapshots", _side_by_side


def _side_by_side(folder: Path) -> Record:
    record: Record = {}

    def made(seed: int) -> tuple[Any, Any]:
        trainer = Restless(seed)
        snapshots = public("Snapshots")(k=4, store=public("on_disk")(folder / "snapshots"))
        settings = {
            "when": public("OnPlateau")("loss", patience=2),
            "start_from": "before",
            "max_rounds": 3,
            "record_every": 1,
            "snapshots": snapshots,
        }
        return adapter_on(trainer, settings), trainer

    with noted_warnings(record):

        def whole() -> None:
            (first, one), (second, other) = made(1), made(2)
            list(zip_longest(first.rounds(20), second.rounds(20)))
            record["states"] = exact([one.content(), other.content()])
            record["histories"] = [history_of(first.history), history_of(second.history)]

        record.update(outcome_of(whole))
    return record


def restarts() -> Iterator[tuple[str, Run]]:
    """Runs that were stopped by an error of ours, or by a kill in a check, and started again."""
    every = {"adapt_every": 6, "check": "first"}
    once = {"when": public("At")([0]), "check": "first"}
    for name, settings in {"every 6": every, "once": once}.items():
        yield f"06, not repeatable, {name}", again_and_again([ForgetfulDescent] * 3, settings)
        yield f"06, mended, {name}", again_and_again([ForgetfulDescent, Noisy], settings)
        yield f"07, unused, {name}", again_and_again([Unused] * 3, settings)
        yield f"07, mended, {name}", again_and_again([Unused, Noisy], settings)
    for most in (1, 30):
        yield f"08, rescues raised to {most}", _more_rescues(most)


def again_and_again(makes: list[Callable[[], Any]], settings: dict[str, Any]) -> Run:
    """The same script started several times on one folder, with these trainers."""

    def run(folder: Path) -> Record:
        record: Record = {"starts": []}
        with noted_warnings(record):
            for make in makes:
                trainer = make()
                adapter = adapter_on(trainer, settings)
                outcome = outcome_of(partial(_on_folder, adapter, folder))
                record["starts"].append(outcome["error"])
            record.update(after(adapter, trainer))
        return record

    return run


def _on_folder(adapter: Any, folder: Path) -> None:
    public("run_with_checkpoints")(adapter, 18, checkpoint=folder / "saved")


def _more_rescues(most: int) -> Run:
    def run(folder: Path) -> Record:
        record: Record = {"starts": []}
        with noted_warnings(record):
            for allowed in (1, most):
                trainer = Breaking("spike", at=(5, 8, 11), limit=0.0)
                preset = public("rescue")("lr", default=0.1, loss="loss", try_for=1)
                adapter = adapter_on(trainer, settings_of(preset, max_rescues=allowed))
                outcome = outcome_of(partial(_on_folder, adapter, folder))
                record["starts"].append(outcome["error"])
            record.update(after(adapter, trainer))
        return record

    return run


def all_defects() -> Iterator[tuple[str, Run]]:
    """One after the other."""
    for runs in (counters, generators, shared_folders, restarts):
        yield from runs()


KINDS = {"defects": all_defects}
