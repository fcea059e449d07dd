"""What ``progress=True`` costs a run whose epochs take a millisecond: with it and without it."""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from _facts import Row

from dynhp import DynamicGridAdapter, adapt, lowest
from dynhp.report import LiveDisplay

__all__ = ["rows"]

_EPOCHS, _EVERY, _CANDIDATES = 600, 10, 3
_TRAINED = _EPOCHS + _EPOCHS // _EVERY * (_CANDIDATES - 1)
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
    ]


def _row(what: str, run: Callable[[Any], None], *, lines: bool = False) -> Row:
    """Both in turn: the least processor time of each, as a share of the time that the run takes."""
    times: dict[bool, list[float]] = {False: [], True: []}
    seconds = []
    for _ in range(_TURNS):
        for shown, each in times.items():
            stream = io.StringIO() if lines else TerminalOfNobody()
            start, began = time.perf_counter(), time.process_time()
            run(LiveDisplay(stream=stream) if shown else False)
            each.append(time.process_time() - began)
            seconds.append(time.perf_counter() - start)
    plain, shown = (min(each) for each in times.values())
    more, whole = shown - plain, min(seconds)
    note = f"{more * 1e3:.1f} ms of cpu more in {whole:.2f} s, {_TRAINED} epochs of a millisecond"
    return Row(f"progress=True / False, {what}", 1 + more / whole, "", 1.01, note)


def _trainer_run(progress: Any) -> None:
    DynamicGridAdapter(
        Dozing(),
        {"lr": list(range(1, _CANDIDATES + 1))},
        criterion=lowest("loss"),
        adapt_every=_EVERY,
        try_for=1,
        check="off",
    ).run(_EPOCHS, progress=progress)


def _loop_run(progress: Any) -> None:
    model = Dozing()
    for epoch in adapt(
        _EPOCHS,
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
