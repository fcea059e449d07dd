"""Executors side by side: how much faster several workers are, what a try costs, and memory.

Run as ``python benchmarks/bench_executors.py``; the exit code is 1 where a limit is not kept.
"""

from __future__ import annotations

import functools
import heapq
import multiprocessing
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import _memory
import numpy as np
from _facts import Row, machine, table
from _states import Busy, LargeState, compute

from dynhp import DynamicGridAdapter, Serial, highest
from dynhp.executors import Processes

TRIES = 9
WORKERS = 2
STEPS = 3_000_000  # an epoch of about a quarter of a second
SLOPE = 0.1  # the ninth try takes a fifth of the time of the first
ORDERS = {"first try wins": (9, 8, 7, 6, 5, 4, 3, 2, 1), "three lead": (5, 7, 1, 2, 9, 8, 6, 4, 3)}


def main() -> int:
    """Measure, print, and say whether all limits are kept."""
    print(machine(), flush=True)
    rows = [*speed(), *one_megabyte(), *hundred_megabytes(), *_memory.rows()]
    print(table(rows))
    failed = [row.what for row in rows if row.verdict == "FAIL"]
    print(f"{len(failed)} FAIL: {', '.join(failed)}" if failed else "all limits kept")
    return 1 if failed else 0


def seconds(work: Callable[[], object]) -> float:
    """How long it takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def in_turn(repeats: int, *works: Callable[[], object]) -> list[list[float]]:
    """The seconds of each, taken in turn, so that a busy moment hits all of them."""
    for work in works:
        work()  # workers start, memory is taken
    rows = [[seconds(work) for work in works] for _ in range(repeats)]
    return [list(column) for column in zip(*rows, strict=True)]


def round_of(trainer: Any, order: Sequence[int], executor: Any) -> None:
    """One round; the initial value is tried first, so the order is as given."""
    DynamicGridAdapter(
        trainer,
        {"x": order},
        criterion=highest("score"),
        adapt_every=1,
        try_for=1,
        check="off",
        initial={"x": order[0]},
        executor=executor,
    ).step()


def ratio(columns: Sequence[Sequence[float]]) -> float:
    """How much longer the first takes than the second: the median over pairs taken in turn."""
    return statistics.median(a / b for a, b in zip(*columns, strict=True))


def medians(name: str, columns: Sequence[Sequence[float]]) -> str:
    """Medians and minima of two columns, in milliseconds."""
    (a, b) = ((statistics.median(column) * 1e3, min(column) * 1e3) for column in columns)
    return f"{name}: medians {a[0]:.0f} and {b[0]:.0f} ms, fastest {a[1]:.0f} and {b[1]:.0f} ms"


def speed() -> list[Row]:
    """Serial's time over that of workers; the limit is given as a ratio the other way round."""
    return [
        _plain(),
        # Nine tries of equal length cannot be more than 9/5 times faster on two workers.
        _faster("of unequal length", functools.partial(Busy, STEPS, SLOPE), 1.8),
        _faster("of equal length", functools.partial(Busy, STEPS), None),
    ]


def _faster(name: str, make: Callable[[], Busy], limit: float | None) -> Row:
    order = tuple(range(TRIES))
    trainer = make()
    with Processes(make, workers=WORKERS) as executor:
        columns = rounds(trainer, order, executor, 7)
    faster = ratio(columns)
    best = min(columns[0]) / min(columns[1])
    lengths = [trainer.length(x) for x in order]
    note = (
        f"{faster:.2f} times faster (fastest of both {best:.2f}; {possible(lengths, WORKERS):.2f} "
        f"is possible with a core for each); {medians('Serial, Processes', columns)}"
    )
    what = f"{TRIES} tries {name}, {WORKERS} workers: time / Serial's"
    return Row(what, 1 / faster, "", None if limit is None else 1 / limit, note)


def possible(lengths: Sequence[float], workers: int) -> float:
    """How much faster it can be to begin jobs of these lengths in order as workers get free."""
    busy_until = [0.0] * workers
    for length in lengths:
        heapq.heappush(busy_until, heapq.heappop(busy_until) + length)
    return sum(lengths) / max(busy_until)


def _plain() -> Row:
    """What the machine has to offer at the moment: the same work in two bare processes."""
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        work = [3 * STEPS] * 2
        columns = in_turn(7, lambda: compute(2 * work[0]), lambda: pool.map(compute, work, 1))
    faster = ratio(columns)
    note = f"{faster:.2f} times faster; {medians('one, two processes', columns)}"
    return Row("for comparison, the same work in 2 bare processes", 1 / faster, "", None, note)


def one_megabyte() -> list[Row]:
    """What a try with a state of 1 MB takes more than in Serial, with nothing to train."""
    rows = []
    for name, order in ORDERS.items():
        columns = _rounds(1, order, 60)
        more = statistics.median(columns[1]) - statistics.median(columns[0])
        rows.append(
            Row(
                f"1 MB, overhead per try, {name}",
                more / TRIES * 1e3,
                "ms",
                5,
                f"a round: {medians('Serial, Processes', columns)}",
            )
        )
    return rows


def _rounds(megabytes: float, order: Sequence[int], repeats: int) -> list[list[float]]:
    make = functools.partial(LargeState, megabytes)
    with Processes(make, workers=WORKERS) as executor:
        return rounds(make(), order, executor, repeats)


def rounds(trainer: Any, order: Sequence[int], executor: Any, repeats: int) -> list[list[float]]:
    """The seconds of rounds, by Serial and by the executor, in turn."""
    return in_turn(
        repeats,
        lambda: round_of(trainer, order, Serial()),
        lambda: round_of(trainer, order, executor),
    )


def unavoidable(order: Sequence[int]) -> int:
    """The copies of the state that a round in other processes needs, however it is done.

    One of the origin and one to where workers see it; one into a trainer for every try; for every
    try that leads, one out of the trainer and one to where the main process sees it; and one back.
    """
    leads = sum(score == max(order[: place + 1]) for place, score in enumerate(order))
    return 2 + len(order) + 2 * leads + 1


def hundred_megabytes() -> list[Row]:
    """The time of a round with a state of 100 MB against that of its unavoidable copies alone."""
    return [
        against_copies(name, order, "Processes", _rounds(100, order, 7))
        for name, order in ORDERS.items()
    ]


def against_copies(
    name: str, order: Sequence[int], whose: str, columns: Sequence[Sequence[float]]
) -> Row:
    """The rounds of Serial and of an executor, in seconds, against the copies they cannot avoid."""
    array = np.ones(12_500_000)
    other = np.empty_like(array)
    copies = unavoidable(order)
    serial, pooled = columns
    alone = [seconds(lambda: [np.copyto(other, array) for _ in range(copies)]) for _ in pooled]
    note = (
        f"{medians(f'copies, {whose}', (alone, pooled))}; ratio of the fastest "
        f"{min(pooled) / min(alone):.2f}; Serial {statistics.median(serial) * 1e3:.0f} ms"
    )
    return Row(
        f"100 MB, time of a round / of {copies} copies, {name}",
        statistics.median(pooled) / statistics.median(alone),
        "",
        2,
        note,
    )


if __name__ == "__main__":
    sys.exit(main())
