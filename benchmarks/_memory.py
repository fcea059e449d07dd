"""The memory of ``Processes``: what all processes together hold at most, in states of 200 MB."""

from __future__ import annotations

import functools
import os
import statistics
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from _facts import Row
from _states import LargeState

from dynhp import DynamicGridAdapter, highest
from dynhp.executors import Processes

__all__ = ["rows"]

MEGABYTES = 200
ROUNDS = 5
SMALL = 0.05  # of a state: pages, pickles, records
ORDERS = {"each try better": (1, 2, 3, 4, 5, 6, 7, 8, 9), "three lead": (5, 7, 1, 2, 9, 8, 6, 4, 3)}


def rows() -> list[Row]:
    """Two states for each worker and four besides are the limit; only Linux says what is held."""
    if not Path("/proc/self/smaps_rollup").exists():
        return []
    first, other = ORDERS
    return [*(_row(workers, first) for workers in (1, 2, 4)), _row(2, other)]


def _row(workers: int, name: str) -> Row:
    order = ORDERS[name]
    empty = min(_peaks(0.001, workers, order))  # interpreters and libraries
    peaks = [(peak - empty) / (MEGABYTES * 1e6) for peak in _peaks(MEGABYTES, workers, order)]
    note = (
        f"median of {ROUNDS} rounds, the highest {max(peaks):.2f}; without the interpreters' "
        f"{empty / 1e6:.0f} MB"
    )
    what = f"{MEGABYTES} MB, {len(order)} candidates, {workers} workers, peak memory, {name}"
    return Row(what, statistics.median(peaks), "states", 2 * workers + 4 + SMALL, note)


def _peaks(megabytes: float, workers: int, order: Sequence[int]) -> list[int]:
    """The most bytes that were seen in each of some rounds."""
    make = functools.partial(LargeState, megabytes)
    with Processes(make, workers=workers) as executor:
        adapter = DynamicGridAdapter(
            make(),
            {"x": order},
            criterion=highest("score"),
            adapt_every=1,
            try_for=1,
            check="off",
            initial={"x": order[0]},
            executor=executor,
        )
        adapter.step()  # workers start
        peaks = []
        for _ in range(ROUNDS):
            with _watched() as seen:
                adapter.step()
            peaks.append(max(seen))
    return peaks


@contextmanager
def _watched() -> Iterator[list[int]]:
    """Look again and again at what all processes hold; shared memory counts once."""
    seen, ended = [_held()], threading.Event()

    def look() -> None:
        while not ended.wait(0.002):
            seen.append(_held())

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        yield seen
    finally:
        ended.set()
        watcher.join()


def _held() -> int:
    return sum(map(_proportional_size, _family(os.getpid())))


def _family(process: int) -> Iterator[int]:
    yield process
    for task in _read(f"/proc/{process}/task", os.listdir):
        for child in _read(f"/proc/{process}/task/{task}/children", lambda p: Path(p).read_text()):
            yield from _family(int(child))


def _read(path: str, how: object) -> Sequence[str]:
    try:
        content = how(path)  # type: ignore[operator]
    except OSError:  # it has ended
        return ()
    return content.split() if isinstance(content, str) else content


def _proportional_size(process: int) -> int:
    for line in _read(f"/proc/{process}/smaps_rollup", lambda p: Path(p).read_text().splitlines()):
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    return 0
