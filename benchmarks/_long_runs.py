"""What a round costs after ten thousand others: checkpoints, journals, proposers that look back."""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from _facts import Row
from _overhead import Nothing

from dynhp import DynamicGridAdapter, Interpolation, OneAxis, lowest
from dynhp.records import History
from dynhp.storage.checkpoint import checkpoints
from dynhp.storage.folder import CheckpointFolder
from dynhp.storage.journal import Journal
from dynhp.storage.lines import AppendedFile

__all__ = ["rows"]

EARLY, LATE, MEASURED = 100, 10_000, 400


class RoundCost(NamedTuple):
    """What some rounds cost."""

    milliseconds: float  # of the processor, the median
    kilobytes: float  # written, the mean: not every checkpoint writes the rounds before it


def rows() -> list[Row]:
    """How much more a round costs late in a run; 1 where nothing grows with the history."""
    return [
        *_compared("with a checkpoint and a journal", _saved),
        *_compared("Interpolation", _proposed, proposer=Interpolation),
        *_compared(
            "OneAxis(Interpolation())", _proposed, proposer=lambda: OneAxis(Interpolation())
        ),
    ]


def _compared(name: str, measure: Any, **settings: Any) -> Iterator[Row]:
    early, late = (measure(rounds, **settings) for rounds in (EARLY, LATE))
    what = f"round {LATE:,} / round {EARLY}, {name}"
    note = f"{early.milliseconds:.2f} ms of cpu a round, {late.milliseconds:.2f} ms late"
    yield Row(f"{what}: cpu", late.milliseconds / early.milliseconds, "", 1.5, note)
    if early.kilobytes:
        note = f"{early.kilobytes:.1f} kB written a round, {late.kilobytes:.1f} kB late"
        yield Row(f"{what}: bytes", late.kilobytes / early.kilobytes, "", 1.2, note)


def _adapter(**settings: Any) -> DynamicGridAdapter:
    return DynamicGridAdapter(
        Nothing(),
        {"lr": [0.01, 0.02, 0.03, 0.05, 0.1]},
        criterion=lowest("loss"),
        adapt_every=2,
        try_for=1,
        check="off",  # it would say that nobody uses the value
        **settings,
    )


def _run(adapter: DynamicGridAdapter, rounds: int) -> None:
    for _ in range(rounds):
        adapter.step()


def _saved(rounds: int) -> RoundCost:
    with tempfile.TemporaryDirectory() as name:
        adapter = _adapter(callbacks=[Journal(Path(name, "journal"))])
        _run(adapter, rounds)
        with checkpoints(Path(name, "saved"), adapter), _counted() as written:
            adapter.step()  # writes all rounds so far, once
            return _cost(adapter, written)


def _proposed(rounds: int, proposer: Any) -> RoundCost:
    adapter = _adapter(proposer=proposer())
    _run(adapter, rounds)
    return _cost(adapter, [0])


def _cost(adapter: DynamicGridAdapter, written: list[int]) -> RoundCost:
    before, times = written[0], []
    for _ in range(MEASURED):
        began = time.process_time()
        adapter.step()
        times.append(time.process_time() - began)
    kilobytes = (written[0] - before) / MEASURED / 1e3
    return RoundCost(statistics.median(times) * 1e3, kilobytes)


@contextmanager
def _counted() -> Iterator[list[int]]:
    """Count what is written to checkpoints, to their rounds and to journals; wait for no disk."""
    written, append, save, sync = [0], AppendedFile.write, CheckpointFolder.save, os.fsync

    def counted_append(file: AppendedFile) -> None:
        written[0] += sum(map(len, file.waiting))
        append(file)

    def counted_save(folder: CheckpointFolder, history: History, content: Any) -> str:
        digest = save(folder, history, content)
        written[0] += (folder.path / f"checkpoint-{len(history):08}.zip").stat().st_size
        return digest

    AppendedFile.write, CheckpointFolder.save = counted_append, counted_save  # type: ignore[method-assign]
    os.fsync = lambda descriptor: None  # type: ignore[assignment]
    try:
        yield written
    finally:
        AppendedFile.write, CheckpointFolder.save, os.fsync = append, save, sync  # type: ignore[method-assign]
