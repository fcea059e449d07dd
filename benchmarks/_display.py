"""What ``progress=True`` costs a run whose epochs take a millisecond."""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from statistics import median
from typing import Any

import numpy as np
from _facts import Row

from dynhp import DynamicGridAdapter, adapt, lowest
from dynhp.middleware.display import ShownRun
from dynhp.report import LiveDisplay

__all__ = ["rows"]

_EPOCHS, _EVERY, _CANDIDATES = 2400, 10, 3
_EPOCH = 1e-3  # seconds
_TURNS = 5


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
    """The processor time that it takes, as a share of the time that the run takes."""
    spent, whole = _spent(run, _EPOCHS, lines=lines)
    trained = _EPOCHS + _EPOCHS // _EVERY * (_CANDIDATES - 1)
    note = (
        f"median of {_TURNS}: {spent * 1e3:.1f} ms of cpu in {whole:.2f} s, {trained} epochs of a "
        "millisecond"
    )
    return Row(f"progress=True / False, {what}", 1 + spent / whole, "", 1.01, note)


def _ends() -> Row:
    """What a run of one round takes: to open the display, to show two pictures, to close it.

    The rows above have it in them: however short a run is, that is what it takes.
    """
    spent, _ = _spent(_loop_run, _EVERY)
    return Row("progress=True, the first and the last picture", spent * 1e3, "ms", None, "of cpu")


def _spent(run: Callable[..., None], epochs: int, *, lines: bool = False) -> tuple[float, float]:
    """The processor time of all that a run does for its display, and how long the run takes.

    It is taken where it is spent, with the caches as a model leaves them. The difference of runs
    with and without it is no better: for the same code it came to 0 and to 50 ms.
    """
    run(LiveDisplay(stream=TerminalOfNobody()), epochs=_EVERY)  # rich is imported by the first
    each = []
    for _ in range(_TURNS):
        stream = io.StringIO() if lines else TerminalOfNobody()
        began = time.perf_counter()
        with _clocked(ShownRun, "_seen", "beat", "close") as clock:
            run(LiveDisplay(stream=stream), epochs=epochs)
        each.append((clock.seconds, time.perf_counter() - began))
    return median(spent for spent, _ in each), min(whole for _, whole in each)


class _Clock:
    """Adds up processor time, once where calls are inside of each other."""

    def __init__(self) -> None:
        self.seconds, self._inside = 0.0, False

    def around(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def clocked(*given: Any) -> Any:
            if self._inside:
                return method(*given)
            self._inside, began = True, time.thread_time()
            try:
                return method(*given)
            finally:
                self.seconds += time.thread_time() - began
                self._inside = False

        return clocked


@contextmanager
def _clocked(kind: type, *names: str) -> Iterator[_Clock]:
    clock, before = _Clock(), {name: getattr(kind, name) for name in names}
    for name, method in before.items():
        setattr(kind, name, clock.around(method))
    try:
        yield clock
    finally:
        for name, method in before.items():
            setattr(kind, name, method)


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
