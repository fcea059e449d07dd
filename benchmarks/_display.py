"""What ``progress=True`` costs: the same run with and without it, side by side."""

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

_EPOCHS = 600
_TURNS = 5


class TerminalOfNobody(io.StringIO):
    """Takes all that is written, says that it is a terminal, and keeps nothing."""

    encoding = "utf-8"  # type: ignore[assignment]

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        return len(text)


class Products:
    """Trains for about a millisecond per epoch: products of matrices, as models are made of."""

    def __init__(self) -> None:
        self.weights = np.eye(160)

    def get_state(self) -> Any:
        return self.weights

    def set_state(self, state: Any) -> None:
        self.weights = state

    def train_k(self, k: int, hyperparameters: Mapping[str, Any]) -> None:
        for _ in range(3 * k):
            product = self.weights @ self.weights
            self.weights = product / np.linalg.norm(product)

    def metrics(self) -> dict[str, float]:
        return {"loss": float(self.weights[0, 0])}

    state_dict, load_state_dict = get_state, set_state


def rows() -> list[Row]:
    """The ratio of the times of this process, for a trainer and for a loop, in a terminal."""
    return [
        _row("a trainer", _trainer_run),
        _row("a loop", _loop_run),
        _row("a loop, as lines", _loop_run, lines=True),
    ]


def _row(what: str, run: Callable[[Any], None], *, lines: bool = False) -> Row:
    """Both in turn, and the fastest of each: what else the machine does meets both."""
    times: dict[bool, list[float]] = {False: [], True: []}
    for _ in range(_TURNS):
        for shown, each in times.items():
            stream = io.StringIO() if lines else TerminalOfNobody()
            began = time.process_time()
            run(LiveDisplay(stream=stream) if shown else False)
            each.append(time.process_time() - began)
    plain, shown = (min(each) for each in times.values())
    note = f"{plain * 1e3:.0f} ms of cpu for {_EPOCHS} epochs of the main line, without it"
    return Row(f"progress=True / False, {what}", shown / plain, "", 1.01, note)


def _trainer_run(progress: Any) -> None:
    DynamicGridAdapter(
        Products(),
        {"lr": [1, 2, 3]},
        criterion=lowest("loss"),
        adapt_every=10,
        try_for=1,
        check="off",
    ).run(_EPOCHS, progress=progress)


def _loop_run(progress: Any) -> None:
    model = Products()
    for epoch in adapt(
        _EPOCHS,
        state=[model],
        space={"lr": [1, 2, 3]},
        minimize="loss",
        adapt_every=10,
        try_for=1,
        check="off",
        progress=progress,
    ):
        model.train_k(1, epoch.values)
        epoch.report(model.metrics())
