"""What ``progress=True`` costs a run whose epochs take a millisecond: with it and without it."""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Mapping
from statistics import median
from typing import Any

import numpy as np
from _facts import Row

from dynhp import DynamicGridAdapter, adapt, lowest
from dynhp.report import LiveDisplay

__all__ = ["rows"]

_EPOCHS, _EVERY, _CANDIDATES = 2400, 10, 3
_EPOCH = 1e-3  # seconds
_TURNS = 7


class TerminalOfNobody(io.StringIO):
    """Takes all that is written, says that it is a terminal, and keeps nothing."""

    encoding = "utf-8"  # type: ignore[assignment]

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        return len(text)


class Dozing:
    """Trains for about a millisecond per epoch, most of it asleep.

    Asleep, because what is measured is a hundredth of that, and the time of a processor for the
    same work differs by more from run to run on any machine that does something else besides. What
    a model would leave of the caches is taken by a pass over a megabyte.
    """

    def __init__(self) -> None:
        self.weights, self._megabyte = 1.0, np.zeros(1 << 17)

    def get_state(self) -> Any:
        return self.weights

    def set_state(self, state: Any) -> None:
        self.weights = state

    def train_k(self, k: int, hyperparameters: Mapping[str, Any]) -> None:
        for _ in range(k):
            began = time.perf_counter()
            np.add(self._megabyte, 1.0, out=self._megabyte)
            time.sleep(max(0.0, began + _EPOCH - time.perf_counter()))

    def metrics(self) -> dict[str, float]:
        return {"loss": self.weights}

    state_dict, load_state_dict = get_state, set_state


def rows() -> list[Row]:
    """How many times as long a run takes with it: a trainer and a loop, in a terminal and not."""
    return [
        _row("a trainer", _trainer_run),
        _row("a loop", _loop_run),
        _row("a loop, as lines", _loop_run, lines=True),
        _ends(),
    ]


def _row(what: str, run: Callable[..., None], *, lines: bool = False) -> Row:
    """The processor time that it takes more, as a share of the time that the run takes."""
    more, whole = _more(run, _EPOCHS, lines=lines)
    trained = _EPOCHS + _EPOCHS // _EVERY * (_CANDIDATES - 1)
    note = (
        f"median of {_TURNS}: {more * 1e3:.1f} ms of cpu more in {whole:.2f} s, {trained} epochs "
        "of a millisecond"
    )
    return Row(f"progress=True / False, {what}", 1 + more / whole, "", 1.01, note)


def _ends() -> Row:
    """What a run of one round takes more: to open the display, to show two pictures, to close it.

    The rows above have it in them: however short a run is, that is what it takes.
    """
    more, _ = _more(_loop_run, _EVERY, turns=10 * _TURNS)
    return Row("progress=True, the first and the last picture", more * 1e3, "ms", None, "of cpu")


def _more(
    run: Callable[..., None], epochs: int, *, turns: int = _TURNS, lines: bool = False
) -> tuple[float, float]:
    """How much processor time it takes more, with and without it in turn, and how long a run takes.

    The median of the differences, each of two runs next to each other: what else a machine does
    makes both of them slower, or moves a difference up as often as down.
    """
    run(LiveDisplay(stream=TerminalOfNobody()), epochs=_EVERY)  # rich is imported by the first
    differences, seconds = [], []
    for turn in range(turns):
        took = {}
        for shown in (False, True) if turn % 2 else (True, False):
            stream = io.StringIO() if lines else TerminalOfNobody()
            display = LiveDisplay(stream=stream) if shown else False
            start, began = time.perf_counter(), time.process_time()
            run(display, epochs=epochs)
            took[shown] = time.process_time() - began
            seconds.append(time.perf_counter() - start)
        differences.append(took[True] - took[False])
    return median(differences), min(seconds)


def _trainer_run(progress: Any, *, epochs: int) -> None:
    DynamicGridAdapter(
        Dozing(),
        {"lr": list(range(1, _CANDIDATES + 1))},
        criterion=lowest("loss"),
        adapt_every=_EVERY,
        try_for=1,
        check="off",
    ).run(epochs, progress=progress)


def _loop_run(progress: Any, *, epochs: int) -> None:
    model = Dozing()
    for epoch in adapt(
        epochs,
        state=[model],
        space={"lr": list(range(1, _CANDIDATES + 1))},
        minimize="loss",
        adapt_every=_EVERY,
        try_for=1,
        check="off",
        progress=progress,
    ):
        model.train_k(1, epoch.values)
        epoch.report(model.metrics())
