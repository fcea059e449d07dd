"""Loops of one's own: over epochs and steps, left everywhere, driven from hooks, saved, killed."""

from __future__ import annotations

import copy
import os
import random
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from climbing import Climb
from exact import exact
from names import public, settings_of
from running import (
    Record,
    Run,
    after_loop,
    best_of,
    loop_on,
    looped,
    noted_warnings,
    outcome_of,
    pass_of,
    seed_globals,
    settings_in,
    train_and_report,
)
from trainers import LoopModel

from dynhp import BestByMargin, Interpolation, Neighbors, Placebo, Racing, lowest
from kinds.resumed import in_a_process

At, OnPlateau, OnSpike = public("At"), public("OnPlateau"), public("OnSpike")
any_of, Ladder, Around = public("any_of"), public("Ladder"), public("Around")
annealed, scale = public("annealed"), public("scale")

BACK: dict[str, Any] = {
    "when": OnPlateau("loss", patience=2),
    "start_from": "best",
    "max_rounds": 3,
    "record_every": 3,
    "try_for": 2,
    "proposer": Neighbors(),
}
RESCUED: dict[str, Any] = {
    "when": any_of(At([0.5]), OnSpike("loss", window=4, factor=2.0)),
    "start_from": "before",
    "max_rounds": 2,
    "max_rescues": 6,
    "proposer": Ladder(2),
    "initial": {"lr": 0.3},
}
CASES: dict[str, dict[str, Any]] = {
    "plain": {},
    "a whole round is tried": {"try_for": 4, "adapt_every": 4},
    "share": {"try_for": 0.2},
    "bound": {"bound": True},
    "bound, checked": {"bound": True, "check": "every", "proposer": Neighbors()},
    "race": {"selection": Racing(), "try_for": 3},
    "margin": {"selection": BestByMargin(noise=1.0)},
    "waves": {"proposer": Interpolation()},
    "placebo": {"proposer": Placebo(3)},
    "independent": {"randomness": "independent"},
    "independent, value": {"randomness": "independent", "keep": "value"},
    "dry": {"dry_run": True},
    "unchecked": {"check": "off"},
    "best": {"keep_best": True},
    "best by norm": {"keep_best": lowest("norm"), "selection": Racing(), "try_for": 2},
    "tail": {"tail": annealed("lr", epochs=2)},
    "tail, bound": {"tail": annealed("lr", epochs=2), "keep": "value", "bound": True},
    "ladder": {
        "when": At([0]),
        "space": {"lr": Around(0.03)},
        "try_for": 0,
        "tail": annealed("lr", epochs=3),
        "proposer": Climb(3),
        "keep": "value",
        "then": scale(0.3),
        "keep_best": True,
    },
    "at moments": {"when": At([2, 0.6]), "bound": True},
    "back to the best": BACK,
    "back to the best, kept": {**BACK, "keep_best": True, "bound": True},
    "rescued": RESCUED,
    "rescued, bound": {**RESCUED, "bound": True, "keep_best": True},
    "longer than the run": {"adapt_every": 40},
}


def _quiet_but_every(n: int, model: LoopModel, epoch: Any, number: int) -> None:
    """The body of a loop over steps, which reports now and then."""
    model.train(epoch["lr"])
    if int(epoch) % n == n - 1:
        epoch.report(**model.measure())


def _read_from_model(model: LoopModel, epoch: Any, number: int) -> None:
    """The body of a loop whose value is bound."""
    model.train(model.lr)
    epoch.report(model.measure())


def _spiking(model: LoopModel, epoch: Any, number: int) -> None:
    """A body whose main line breaks with a high rate."""
    model.train(epoch["lr"])
    if epoch["lr"] == 0.3 and model.trained in (5, 9):
        model.weight = float("nan") if model.trained == 9 else 50.0
    epoch.report(model.measure())


def _body_of(settings: dict[str, Any]) -> Callable[[LoopModel, Any, int], object]:
    if settings.get("max_rescues"):
        return _spiking
    return _read_from_model if settings.get("bound") else train_and_report


def whole_loops() -> Iterator[tuple[str, Run]]:
    """To the end, over epochs and over steps, reported always and now and then."""
    for case, settings in CASES.items():
        for epochs in (11, 12):
            run = looped({**settings, "epochs": epochs}, _body_of(settings))
            yield f"{case}, {epochs} epochs", run
        stepped = {**settings, "steps": 24, "try_for": settings.get("try_for", 2)}
        yield f"{case}, steps", looped(stepped, _body_of(settings))
        seldom = {**stepped, "try_for": 4, "adapt_every": 8, "bound": False}
        if "when" in settings:
            del seldom["adapt_every"]
        yield f"{case}, steps, reported seldom", looped(seldom, partial(_quiet_but_every, 2))


def _leave(at: int, inner: Callable[..., object], model: LoopModel, epoch: Any, number: int) -> Any:
    inner(model, epoch, number)
    return "break" if number == at else None


def _leave_unreported(at: int, model: LoopModel, epoch: Any, number: int) -> Any:
    if number == at:
        model.train(epoch["lr"])
        return "break"
    return train_and_report(model, epoch, number)


def _raise(at: int, error: type[BaseException], model: LoopModel, epoch: Any, number: int) -> None:
    if number == at:
        raise error("in the body")
    train_and_report(model, epoch, number)


def left_loops() -> Iterator[tuple[str, Run]]:
    """Left by a break or an exception in passes of every kind: repeats, tries, tails, stretches."""
    for case in ("plain", "unchecked", "race", "tail", "back to the best, kept", "rescued, bound"):
        settings = CASES[case]
        body = _body_of(settings)
        for at in (1, 2, 4, 5, 6, 7, 8, 9, 10, 12, 15, 19):
            yield f"{case}, break in pass {at}", looped(settings, partial(_leave, at, body))
    for case, at in product(("plain", "independent", "placebo", "waves"), (2, 6, 8, 11, 17)):
        run = looped(CASES[case], partial(_leave_unreported, at))
        yield f"{case}, break unreported in pass {at}", run
        for error in (RuntimeError, KeyboardInterrupt):
            run = looped(CASES[case], partial(_raise, at, error))
            yield f"{case}, {error.__name__} in pass {at}", run
    for case, at in product(("plain", "race"), (3, 9, 14)):
        settings = {**CASES[case], "steps": 20, "try_for": 2}
        run = looped(settings, partial(_leave, at, train_and_report))
        yield f"{case}, steps, break in pass {at}", run


def _fragile(model: LoopModel, epoch: Any, number: int) -> None:
    """Some rates raise; so does the main line now and then, with a high rate."""
    with epoch:
        model.train(epoch["lr"])
        if epoch["lr"] == 0.3 and model.trained % 5 == 4:
            raise FloatingPointError("broke")
        epoch.report(model.measure())


def _mistaken(kind: str, model: LoopModel, epoch: Any, number: int) -> None:
    """Mistakes that a loop must notice."""
    model.train(0.1 if kind == "unused" else epoch["lr"])
    if kind == "global":
        model.weight += 1e-3 * number
    if kind == "unreported" and number == 3:
        return
    if kind == "another metric":
        epoch.report(acc=1.0)
        return
    epoch.report(model.measure())
    if kind == "twice":
        epoch.report(model.measure())
    if kind == "set":
        epoch["lr"] = 0.1
    if kind == "no such name":
        epoch["rate"]


def failing_loops() -> Iterator[tuple[str, Run]]:
    """Exceptions inside ``with epoch:``, spikes, and mistakes in the body."""
    for case, settings in CASES.items():
        if settings.get("bound"):
            continue
        yield f"{case}, raises", looped(settings, _fragile)
        yield f"{case}, raises from 0.3", looped(_from(0.3, settings), _fragile)
        yield f"{case}, spikes", looped(_from(0.3, settings), _spiking)
    kinds = ("unused", "global", "unreported", "another metric", "twice", "set", "no such name")
    for kind, case in product(kinds, ("plain", "unchecked", "rescued")):
        yield f"{kind}, {case}", looped(CASES[case], partial(_mistaken, kind))
    refused: dict[str, dict[str, Any]] = {
        "no length": {"epochs": None},
        "two lengths": {"epochs": 5, "steps": 5},
        "no state": {"state": []},
        "state of a number": {"state": [3]},
        "bound to nothing": {"bind": {"rate": 3}},
        "try_for 0": {"try_for": 0},
        "keep_best a word": {"keep_best": "loss"},
    }
    for name, settings in refused.items():
        yield f"refused, {name}", looped(settings, train_and_report)


def _from(rate: float, settings: dict[str, Any]) -> dict[str, Any]:
    if "space" in settings or settings.get("proposer") == Interpolation():
        return settings
    return {**settings, "initial": {"lr": rate}}


def preset_loops() -> Iterator[tuple[str, Run]]:
    """Loops with presets."""
    made: dict[str, Callable[[], Any]] = {
        "rescue": partial(public("rescue"), "lr", default=0.3, loss="loss"),
        "plateau": partial(public("plateau"), "lr", default=0.3, loss="loss", patience=2),
        "learning rate": partial(
            public("recommended"), "learning_rate", name="lr", default=0.1, loss="loss"
        ),
    }
    bodies = {"sound": train_and_report, "raises": _fragile, "spikes": _spiking}
    for preset, body in product(made, bodies):
        yield f"{preset}, {body}", looped(partial(_of_preset, made[preset]), bodies[body])


def _of_preset(make: Callable[[], Any], folder: Path) -> dict[str, Any]:
    return {**settings_of(make()), "epochs": 24}


DRIVEN = ("plain", "race", "placebo", "dry", "tail", "best", "independent, value", "at moments")


def driven_loops() -> Iterator[tuple[str, Run]]:
    """Driven from the hooks of a framework: to the end, closed early, with passes that fail."""
    for case in (*DRIVEN, "back to the best", "rescued"):
        yield f"{case}, whole", driven(CASES[case])
        yield f"{case}, tries fail", driven(CASES[case], fails="tries")
        yield f"{case}, all fails", driven(CASES[case], fails="all")
        for at in (2, 6, 9):
            yield f"{case}, closed in pass {at}", driven(CASES[case], close_at=at)


def driven(settings: dict[str, Any], *, fails: str = "", close_at: int = 0) -> Run:
    """A run whose passes begin and end in calls."""

    def run(folder: Path) -> Record:
        record: Record = {"events": [], "passes": []}
        model = LoopModel()
        seed_globals()
        given = settings_in(settings, folder)
        if given.pop("bound", False):
            given["bind"] = {"lr": public("attribute")(model, "lr")}
        with noted_warnings(record):
            loop = loop_on(model, given, record["events"])
            record.update(
                outcome_of(partial(_drive, loop, model, record["passes"], fails, close_at))
            )
            record.update(after_loop(loop, model))
            if given.get("keep_best"):
                record["best"] = best_of(loop, model)
        return record

    return run


def _drive(loop: Any, model: LoopModel, passes: list[Any], fails: str, close_at: int) -> None:
    driver = public("LoopDriver")(loop)
    try:
        _drive_on(driver, model, passes, fails, close_at)
    finally:
        driver.close()


def _drive_on(driver: Any, model: LoopModel, passes: list[Any], fails: str, close_at: int) -> None:
    number = 0
    while True:
        number += 1
        epoch = driver.begin_epoch()
        model.train(epoch["lr"])
        if number == close_at:
            return
        if (fails == "all" or (fails and epoch.trying)) and epoch["lr"] > 0.2:
            move = driver.fail_epoch(FloatingPointError("broke"))
        else:
            move = driver.end_epoch(model.measure())
        passes.append([pass_of(epoch), move.name, [int(each) for each in driver.kept]])
        if move.name == "STOP":
            return


SAVED = ("plain", "race", "dry", "best", "independent, value", "back to the best", "rescued")


def saved_loops() -> Iterator[tuple[str, Run]]:
    """A checkpoint of one's own in an epoch of the main line; a new loop goes on from it."""
    for case, at in product(SAVED, (0, 2, 3, 5, 7, 10)):
        yield f"{case}, saved in epoch {at}", saved_in(CASES[case], at)


def saved_in(settings: dict[str, Any], at: int) -> Run:
    """A loop that is saved in the given epoch of the main line, or the next one there is."""

    def run(folder: Path) -> Record:
        record: Record = {"events": [], "passes": []}
        model = LoopModel()
        seed_globals()
        saved: list[Any] = []
        with noted_warnings(record):
            loop = loop_on(model, settings)
            body = _body_of(settings)
            for epoch in loop:
                body(model, epoch, 0)
                if epoch.main and epoch >= at and not saved:
                    held = (loop.state_dict(), model.content(), np.random.get_state())
                    saved += [*copy.deepcopy(held), random.getstate(), int(epoch)]
            record["saved in"] = saved[-1] if saved else None
            if saved:
                model = LoopModel()
                loop = loop_on(model, settings, record["events"])
                model.load_state_dict(saved[1])
                np.random.set_state(saved[2])
                random.setstate(saved[3])
                record.update(outcome_of(lambda: loop.load_state_dict(saved[0])))
                for epoch in loop:
                    record["passes"].append(pass_of(epoch))
                    body(model, epoch, 0)
            record.update(after_loop(loop, model))
            if settings.get("keep_best"):
                record["best"] = best_of(loop, model)
        return record

    return run


KILLED = ("plain", "race", "placebo", "tail", "best", "back to the best", "rescued", "ladder")


def killed_loops() -> Iterator[tuple[str, Run]]:
    """Loops inside ``checkpoints`` that are killed in a pass and started again."""
    for case, numbers in product(KILLED, ((), (2,), (5,), (9,), (13,), (17,), (22,), (9, 3, 8))):
        settings = {"check": "off", **CASES[case]}
        yield f"{case}, killed in {numbers}", killed(settings, numbers)
    for number in (3, 8, 12):
        yield f"plain, checked, killed in ({number},)", killed({}, (number,))
        yield f"bound, killed in ({number},)", killed({"check": "off", "bound": True}, (number,))


def killed(settings: dict[str, Any], numbers: tuple[int, ...]) -> Run:
    """The script of a loop, killed in these passes of its processes."""

    def run(folder: Path) -> Record:
        record: Record = {}
        with noted_warnings(record):
            for number in numbers:
                in_a_process(partial(_script, folder, settings, number))
            loop, model, passes, outcome = _script(folder, settings, None)
            record.update(outcome)
            record["passes"] = passes
            record.update(after_loop(loop, model))
            if settings.get("keep_best"):
                record["best"] = best_of(loop, model)
        return record

    return run


def _script(folder: Path, settings: dict[str, Any], kill_in: int | None) -> Any:
    model = LoopModel()
    seed_globals()
    given = dict(settings)
    body = _body_of(given)
    if given.pop("bound", False):
        given["bind"] = {"lr": public("attribute")(model, "lr")}
    loop = loop_on(model, given)
    passes: list[Any] = []

    def whole() -> None:
        with public("checkpoints")(folder / "saved", loop):
            for number, epoch in enumerate(loop, 1):
                if number == kill_in:
                    os._exit(9)
                passes.append(exact([int(epoch), dict(epoch.values), epoch.trying]))
                body(model, epoch, number)

    outcome = outcome_of(whole)
    return loop, model, passes, outcome


KINDS = {
    "loops": whole_loops,
    "left-loops": left_loops,
    "failing-loops": failing_loops,
    "preset-loops": preset_loops,
    "driven-loops": driven_loops,
    "saved-loops": saved_loops,
    "killed-loops": killed_loops,
}
