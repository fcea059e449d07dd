"""A round with a state of 200 MB: its memory, and its time against the copies it cannot avoid."""

from __future__ import annotations

import statistics
import time
import tracemalloc
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from _facts import Row

from dynhp import DynamicGridAdapter, highest

__all__ = ["rows"]

_FLOATS = 25_000_000  # 200 MB
_REPEATS = 7
_ORDERS = {
    "first try wins": (5, 4, 3, 2, 1),
    "last try wins": (4, 3, 2, 1, 5),
    "middle try wins": (3, 4, 5, 2, 1),
    "each try better": (1, 2, 3, 4, 5),
}


class LargeArray:
    """A trainer whose state is one large array; training writes one number into it."""

    def __init__(self) -> None:
        self.array = np.zeros(_FLOATS)
        self.copies = 0

    def get_state(self) -> np.ndarray:
        self.copies += 1
        return self.array.copy()

    def set_state(self, state: np.ndarray) -> None:
        self.copies += 1
        np.copyto(self.array, state)

    def train_k(self, k: int, hyperparameters: Mapping[str, Any]) -> None:
        self.array[0] = hyperparameters["x"]

    def metrics(self) -> dict[str, float]:
        return {"score": float(self.array[0])}


def rows() -> list[Row]:
    """Memory and time for several orders of winners."""
    memory = [_memory(name, order) for name, order in _ORDERS.items()]
    trainer = LargeArray()
    return memory + [_time(trainer, name, order) for name, order in _ORDERS.items()]


def _one_round(trainer: LargeArray, order: Sequence[int]) -> None:
    # Each candidate is its own score, and the initial value is tried first: the order is as given.
    adapter = DynamicGridAdapter(
        trainer,
        {"x": order},
        criterion=highest("score"),
        adapt_every=2,
        try_for=1,
        check="off",
        initial={"x": order[0]},
    )
    adapter.step()


def unavoidable(order: Sequence[int]) -> str:
    """The copies a round needs, in order: (g)et the state, (s)et it back.

    One of the origin; one back before every try except the first; one of every try that is the best
    so far, except the last, which is still in the trainer; one back where the last did not win.
    """
    copies = "g"
    for place, score in enumerate(order):
        last = place == len(order) - 1
        copies += "s" * (place > 0)
        copies += "g" * (score == max(order[: place + 1]) and not last)
    return copies + "s" * (order[-1] != max(order))


def _copy_only(array: np.ndarray, copies: str) -> None:
    origin = array.copy()
    best = None
    for copy in copies[1:]:
        if copy == "g":
            best = None  # dropped first, as the adapter does
            best = array.copy()
        else:
            np.copyto(array, origin if best is None else best)


def _time(trainer: LargeArray, name: str, order: Sequence[int]) -> Row:
    copies = unavoidable(order)
    rounds, alone = [], []
    for _ in range(_REPEATS):
        trainer.copies = 0
        began = time.perf_counter()
        _one_round(trainer, order)
        between = time.perf_counter()
        _copy_only(trainer.array, copies)
        rounds.append(between - began)
        alone.append(time.perf_counter() - between)
        if trainer.copies != len(copies):
            raise AssertionError(f"{name}: {trainer.copies} copies, but {len(copies)} are needed")
    ratio = statistics.median(rounds) / statistics.median(alone)
    note = (
        f"{copies.count('g')} saves + {copies.count('s')} restores; medians of {_REPEATS}: "
        f"{statistics.median(rounds) * 1e3:.0f} and {statistics.median(alone) * 1e3:.0f} ms, "
        f"ratio of the fastest {min(rounds) / min(alone):.3f}"
    )
    return Row(f"200 MB, time of a round / of its copies alone, {name}", ratio, "", 1.15, note)


def _memory(name: str, order: Sequence[int]) -> Row:
    tracemalloc.start()  # numpy tells it every array
    try:
        trainer = LargeArray()
        _one_round(trainer, order)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    note = "all that Python and numpy hold, the trainer's own live array included"
    return Row(f"200 MB, peak memory, {name}", peak / (8 * _FLOATS), "states", 3.2, note)
