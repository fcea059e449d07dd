"""Ray's actors against Serial: how much faster two of them are, and what a try costs besides.

Run as ``python benchmarks/bench_executors_ray.py``; the exit code is 1 where a limit is not kept.
"""

from __future__ import annotations

import functools
import multiprocessing
import os
import statistics
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _facts import Row, machine, table
from _states import Busy, LargeState, compute
from bench_executors import (
    ORDERS,
    SLOPE,
    STEPS,
    TRIES,
    against_copies,
    in_turn,
    medians,
    possible,
    ratio,
    round_of,
    rounds,
)

from dynhp_ray import RayExecutor

ACTORS = 2
FASTER = 1.6  # times than Serial, at least
OVERHEAD = 15.0  # ms per try with a state of 1 MB, at most


def main() -> int:
    """Measure, print, and say whether all limits are kept."""
    print(machine(), flush=True)
    load = os.getloadavg()[0]  # before anything is measured
    with tempfile.TemporaryDirectory() as home:
        os.environ["HOME"] = os.environ["RAY_TMPDIR"] = home  # Ray keeps a token and logs there
        with RayExecutor(functools.partial(LargeState, 1), actors=ACTORS, num_cpus=0.1) as first:
            round_of(LargeState(1), ORDERS["three lead"], first)  # starts the Ray of the others
            rows = [*speed(), *(overhead(*each) for each in ORDERS.items()), *hundred_megabytes()]
    print(table(rows))
    failed = [row.what for row in rows if row.verdict == "FAIL"]
    print(f"FAIL: {', '.join(failed)}" if failed else "PASS: all limits kept")
    if load > 0.5:
        print(f"the machine was busy (load {load:.1f}): figures of speed say little")
    return 1 if failed else 0


def speed() -> list[Row]:
    """Serial's time over that of actors; the limit is given as a ratio the other way round."""
    return [
        _plain(),
        _faster("of unequal length", functools.partial(Busy, STEPS, SLOPE), FASTER),
        _faster("of equal length", functools.partial(Busy, STEPS), FASTER),
    ]


def _plain() -> Row:
    """What the machine has to offer at the moment: the same work in two bare processes."""
    work = [3 * STEPS] * ACTORS
    with multiprocessing.get_context("spawn").Pool(ACTORS) as pool:
        columns = in_turn(
            3, lambda: [compute(steps) for steps in work], lambda: pool.map(compute, work, 1)
        )
    faster = ratio(columns)
    note = f"{faster:.2f} times faster; {medians('one, two processes', columns)}"
    return Row(f"for comparison, {ACTORS} bare processes", 1 / faster, "", None, note)


def _faster(name: str, make: Callable[[], Busy], limit: float) -> Row:
    order = tuple(range(TRIES))
    columns = _rounds(make, order, 7)
    faster = ratio(columns)
    best = min(columns[0]) / min(columns[1])
    lengths = [make().length(x) for x in order]
    note = (
        f"{faster:.2f} times faster (fastest of both {best:.2f}; {possible(lengths, ACTORS):.2f} "
        f"is possible with a core for each); {medians('Serial, Ray', columns)}"
    )
    return Row(
        f"{TRIES} tries {name}, {ACTORS} actors: time / Serial's", 1 / faster, "", 1 / limit, note
    )


def overhead(name: str, order: Sequence[int]) -> Row:
    """What a try with a state of 1 MB takes more than in Serial, with nothing to train."""
    columns = _rounds(functools.partial(LargeState, 1), order, 30)
    more = statistics.median(columns[1]) - statistics.median(columns[0])
    note = f"a round: {medians('Serial, Ray', columns)}"
    return Row(f"1 MB, overhead per try, {name}", more / TRIES * 1e3, "ms", OVERHEAD, note)


def hundred_megabytes() -> list[Row]:
    """The time of a round with a state of 100 MB against that of its unavoidable copies alone."""
    return [
        against_copies(name, order, "Ray", _rounds(functools.partial(LargeState, 100), order, 7))
        for name, order in ORDERS.items()
    ]


def _rounds(make: Callable[[], Any], order: Sequence[int], repeats: int) -> list[list[float]]:
    """The seconds of rounds, by Serial and by Ray, in turn."""
    trainer = make()
    with RayExecutor(make, actors=ACTORS, num_cpus=0.5) as executor:
        round_of(trainer, order, executor)
        return rounds(trainer, order, executor, repeats)


if __name__ == "__main__":
    sys.exit(main())
