"""What every logger promises, checked on what can be read back from it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from dynhp import Categorical, DynamicGridAdapter, History, adapt
from dynhp.records import Event, Round
from dynhp.storage import checkpoints
from dynhp.testing import NoisyQuadratic
from tests.support.killing import Killed

Series = Mapping[str, list[tuple[int, float]]]
"""The points of each series, in the order in which they were written."""


def adapter_with(*callbacks: Any, **settings: Any) -> DynamicGridAdapter:
    """An adapter of rounds of 5 epochs with tries of 2, over a number and a word."""
    space = {"lr": [0.01, 0.1, 0.3], "kind": Categorical("plain", "fancy")}
    return DynamicGridAdapter(
        TwoKinds(),
        space,
        minimize="loss",
        adapt_every=5,
        try_for=2,
        callbacks=callbacks,
        **settings,
    )


class TwoKinds(NoisyQuadratic):
    """A trainer with a hyperparameter that is a word."""

    def train_k(self, k: int, hyperparameters: Mapping[str, Any]) -> None:
        momentum = {"plain": 0.9, "fancy": 0.5}[hyperparameters["kind"]]
        super().train_k(k, {"lr": hyperparameters["lr"], "momentum": momentum})


def loop_with(callback: Any, epochs: int = 12) -> History:
    """A loop that reports every epoch."""
    model = NoisyQuadratic()
    loop = adapt(
        epochs, state=[model], space={"lr": [0.01, 0.1, 0.3]}, minimize="loss",
        adapt_every=5, try_for=2, callbacks=[callback],
    )  # fmt: skip
    for epoch in loop:
        model.train_k(1, epoch.values)
        epoch.report(loss=model.metrics()["loss"])
    return loop.history


def expected_series(history: History) -> Series:
    """What a logger must have of a run, worked out from its records by other means."""
    series: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for number, metrics in history.measured:
        for name, value in metrics.items():
            series[f"main/{name}"].append((number, value))
    tried = spent = 0
    for round_ in history:
        last = round_.start + round_.epochs - 1
        for name, value in round_.candidate.items():
            for step in sorted({round_.start, last}):
                if not isinstance(value, str):
                    series[f"schedule/{name}"].append((step, float(value)))  # type: ignore[arg-type]
                    continue
                for word in {try_.candidate[name] for try_ in round_.tries}:
                    series[f"schedule/{name}={word}"].append((step, float(word == value)))
        spent += round_.epochs + round_.overhead
        series["cost/spent"].append((last, float(spent)))
        series["cost/overhead"].append((last, float(spent - last - 1)))
        for place, try_ in enumerate(round_.tries):
            for epoch, metrics in enumerate(try_.series):
                for name, value in metrics.items():
                    series[f"tries/{name}"].append((tried + epoch, value))
            tried += try_.epochs
            ends = {"score": try_.score, "round": round_.index, "kept": place == round_.chosen}
            for name, value in ends.items():
                series[f"try/{name}"].append((tried - 1, float(value)))
    return series


def check_series(read: Series, history: History, *, rel: float = 1e-12) -> None:
    """Each point once, in order, and nothing of a try on the axis of the main line."""
    expected = expected_series(history)
    for name, points in expected.items():
        assert [step for step, _ in read[name]] == [step for step, _ in points], name
        values = [value for _, value in points]
        assert [value for _, value in read[name]] == pytest.approx(values, rel=rel, nan_ok=True)
    others = {name for name in read if name not in expected}
    assert all(name.startswith("values/") for name in others), others
    on_main = [step for name in read if name.startswith("main/") for step, _ in read[name]]
    assert max(on_main) < history.epochs


def killed_after(index: int) -> Callable[[Event], None]:
    """A callback that kills the run when a round is over, after the loggers before it had it."""

    def kill(event: Event) -> None:
        if isinstance(event, Round) and event.index == index:
            raise Killed

    return kill


def killed_and_resumed(make: Callable[[], Any], folder: Path, **settings: Any) -> History:
    """Kill a run twice after its rounds were logged but not saved, and go on to the end."""
    for index in (0, 2):
        adapter = adapter_with(make(), killed_after(index), **settings)
        with pytest.raises(Killed), checkpoints(folder, adapter):
            adapter.run(23)
    adapter = adapter_with(make(), **settings)
    with checkpoints(folder, adapter):
        return adapter.run(23)
