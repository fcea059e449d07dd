"""How one golden run is carried out, and what is recorded of it."""

from __future__ import annotations

import json
import random
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from exact import cost_of, error_of, event_of, exact, global_generators, history_of
from names import generator_of, public
from trainers import LoopModel

Record: TypeAlias = dict[str, Any]
"""What is left of a run, section by section; see ``compare.py`` for what each section must hold."""

Run: TypeAlias = Callable[[Path], Record]
"""One golden run: it is given an empty folder."""

Settings: TypeAlias = Mapping[str, Any] | Callable[[Path], Mapping[str, Any]]
"""Keywords of an adapter or of a loop, or what makes them of the run's folder."""

RATES = (0.01, 0.03, 0.1, 0.3)
SPACE = {"lr": RATES}


def settings_in(settings: Settings, folder: Path) -> dict[str, Any]:
    """The keywords, made for this run."""
    return dict(settings(folder) if callable(settings) else settings)


@contextmanager
def noted_warnings(record: Record) -> Iterator[None]:
    """Note the classes of all warnings of a run; hints come once per process, and so per run."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield
        finally:
            record["warnings"] = [each.category.__name__ for each in caught]


def outcome_of(function: Callable[[], object]) -> Record:
    """Call it, and give what it raised: the class, and apart from that the message."""
    try:
        function()
    except (Exception, KeyboardInterrupt) as error:
        return error_of(error)
    return error_of(None)


def adapter_on(
    trainer: Any, settings: Mapping[str, Any], events: list[Any] | None = None, **more: Any
) -> Any:
    """An adapter with the settings of a run over the defaults of all of them."""
    given: dict[str, Any] = {**settings, **more}
    if "policy" not in given:
        given = {"space": SPACE, "try_for": 2, **given}
        if not given.keys() & {"adapt_every", "when"}:
            given["adapt_every"] = 4
        if not given.keys() & {"criterion", "minimize", "maximize"}:
            given["minimize"] = "loss"
    if events is not None:
        given["callbacks"] = [*given.get("callbacks", ()), lambda event: _note(events, event)]
    return public("DynamicGridAdapter")(trainer, **given)


def _note(events: list[Any], event: Any) -> None:
    events.append(event_of(event))


def planned_cost(adapter: Any, epochs: int) -> Any:
    """What the plan says before the run, or the class of its error."""
    try:
        plan = public("plan_for")(adapter, epochs)
    except Exception as error:
        return error_of(error)["error"]
    return {"least": cost_of(plan.least), "most": cost_of(plan.most)}


def after(adapter: Any, trainer: Any) -> Record:
    """What is left of an adapter and its trainer."""
    return {
        "history": history_of(adapter.history),
        "cost": cost_of(public("spent")(adapter)),
        "value": exact(adapter.current),
        "generator": exact(generator_of(adapter)),
        "state": exact(trainer.content()),
        "calls": dict(trainer.calls),
    }


def trained(
    make: Callable[[], Any],
    settings: Settings,
    epochs: int = 13,
    *,
    drive: Callable[[Any, int], object] | None = None,
    wrap: Callable[[Any], Any] | None = None,
) -> Run:
    """A run of an adapter on a new trainer, to its end or to its error.

    ``drive(adapter, epochs)`` stands for ``adapter.run(epochs)``, and what it returns is recorded.
    """

    def run(folder: Path) -> Record:
        record: Record = {"events": []}
        trainer = make()
        with noted_warnings(record):
            adapters: list[Any] = []

            def whole() -> None:
                given = settings_in(settings, folder)
                adapter = adapter_on(
                    trainer if wrap is None else wrap(trainer), given, record["events"]
                )
                adapters.append(adapter)
                record["plan"] = planned_cost(adapter, epochs)
                if drive is None:
                    adapter.run(epochs)
                else:
                    record["driven"] = exact(drive(adapter, epochs))

            record.update(outcome_of(whole))
            if adapters:
                record.update(after(adapters[0], trainer))
        return record

    return run


def seed_globals() -> None:
    """Before a loop, as a script does."""
    random.seed(1)
    np.random.seed(1)


def loop_on(model: LoopModel, settings: Mapping[str, Any], events: list[Any] | None = None) -> Any:
    """A loop of ``adapt`` over a model, with the settings of a run over the defaults."""
    given: dict[str, Any] = {"state": [model], **settings}
    if "policy" not in given:
        given = {"space": SPACE, "try_for": 1, **given}
        if not given.keys() & {"adapt_every", "when"}:
            given["adapt_every"] = 4
        if not given.keys() & {"criterion", "minimize", "maximize"}:
            given["minimize"] = "loss"
    if not given.keys() & {"epochs", "steps"}:
        given["epochs"] = 11
    if events is not None:
        given["callbacks"] = [*given.get("callbacks", ()), lambda event: _note(events, event)]
    return public("adapt")(**given)


def pass_of(epoch: Any) -> list[Any]:
    """What the body of a loop sees of one pass."""
    return [int(epoch), exact(epoch.values), epoch.trying, epoch.place, epoch.tail]


def after_loop(loop: Any, model: LoopModel) -> Record:
    """What is left of a loop, its model and the global generators."""
    return {
        "globals": global_generators(),
        "history": history_of(loop.history),
        "cost": cost_of(public("spent")(loop)),
        "generator": exact(generator_of(loop)),
        "state": exact(model.content()),
        "value": exact(model.lr),
        "calls": dict(model.calls),
    }


def looped(settings: Settings, body: Callable[[LoopModel, Any, int], object]) -> Run:
    """A run of a loop; ``body(model, epoch, number)`` is one pass, and ``"break"`` leaves it."""

    def run(folder: Path) -> Record:
        record: Record = {"events": [], "passes": []}
        model = LoopModel()
        seed_globals()
        with noted_warnings(record):
            loops: list[Any] = []

            def whole() -> None:
                given = settings_in(settings, folder)
                bound = given.pop("bound", False)
                if bound:
                    given["bind"] = {"lr": public("attribute")(model, "lr")}
                loop = loop_on(model, given, record["events"])
                loops.append(loop)
                for number, epoch in enumerate(loop, 1):
                    record["passes"].append(pass_of(epoch))
                    if body(model, epoch, number) == "break":
                        break

            record.update(outcome_of(whole))
            if loops:
                record.update(after_loop(loops[0], model))
                if settings_in(settings, folder).get("keep_best"):
                    record["best"] = best_of(loops[0], model)
        return record

    return run


def best_of(loop: Any, model: LoopModel) -> Any:
    """The best epoch that a loop kept, and the model put back to it."""
    best = loop.best
    if best is None:
        return None
    loop.restore_best()
    return exact([best.epoch, best.metrics, best.score, model.content()])


def train_and_report(model: LoopModel, epoch: Any, number: int = 0) -> None:
    """The body of an ordinary loop."""
    model.train(epoch["lr"])
    epoch.report(model.measure())


def journal_of(path: Path) -> list[Any]:
    """The lines of a journal, with what tells them from each other."""
    kept = ("event", "round", "start", "epochs", "end", "candidate", "score", "error", "chosen")
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return [
        {name: exact(line[name]) for name in kept if name in line}
        for line in lines
        if line.get("event") in ("round_started", "try", "round")
    ]
