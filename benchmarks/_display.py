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
_TURNS = 7


class TerminalOfNobody(io.StringIO):
    """Takes all that is written, says that it is a terminal, and keeps nothing."""

    encoding = "utf-8"  # type: ignore[assignment]

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        return len(text)


class Products:
    """Trains for about a millisecond per epoch: products of matrices, as models are made of.

    Nothing is allocated in an epoch: what that costs depends on what else the process holds, and
    that differs between a run with a display and one without by more than what is measured here.
    """

    products = 1  # in an epoch

    def __init__(self) -> None:
        self.weights, self.spare = np.eye(160), np.empty((160, 160))

    def get_state(self) -> Any:
        return self.weights.copy()

    def set_state(self, state: Any) -> None:
        self.weights[:] = state

    def train_k(self, k: int, hyperparameters: Mapping[str, Any]) -> None:
        for _ in range(self.products * k):
            np.matmul(self.weights, self.weights, out=self.spare)
            np.divide(self.spare, self.spare[0, 0], out=self.weights)

    def metrics(self) -> dict[str, float]:
        return {"loss": float(self.weights[0, 0])}

    state_dict, load_state_dict = get_state, set_state


def rows() -> list[Row]:
    """The ratio of the times of this process, for a trainer and for a loop, in a terminal."""
    Products.products = _products_of(1e-3)
    return [
        _row("a trainer", _trainer_run),
        _row("a loop", _loop_run),
        _row("a loop, as lines", _loop_run, lines=True),
    ]


def _products_of(seconds: float) -> int:
    """How many products take so long on this machine: an epoch is to be a millisecond on each."""
    model, many = Products(), 200
    times = []
    for _ in range(5):
        began = time.process_time()
        model.train_k(many, {})
        times.append((time.process_time() - began) / many)
    return max(1, round(seconds / min(times)))


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
