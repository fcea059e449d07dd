"""Journals of runs that went on after Ctrl-C, or after another callback had raised."""

from __future__ import annotations

import builtins
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dynhp.errors import CheckpointError
from dynhp.records import Event, Round, RoundStarted, Try
from dynhp.storage.journal import Journal, history_from_journal, read_journal
from tests.support.disks import ROOT
from tests.support.messages import raises
from tests.support.resuming import adapter_of, mortal, without_times


def raising_once(when: Callable[[Event], bool]) -> Callable[[Event], None]:
    """A callback that fails at the first such event, as a logger whose network is down."""
    raised: list[Event] = []

    def callback(event: Event) -> None:
        if when(event) and not raised:
            raised.append(event)
            raise ConnectionError("the network is down")

    return callback


@pytest.mark.parametrize("kind", [RoundStarted, Try, Round])
@pytest.mark.parametrize("index", [0, 1])
def test_a_callback_that_raises_after_the_journal(kind: Any, index: int, tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal")
    started: list[int] = []

    def when(event: Event) -> bool:
        if isinstance(event, RoundStarted):
            started.append(event.index)
        return isinstance(event, kind) and started[-1] == index

    adapter = adapter_of(mortal({}), {}, (journal, raising_once(when)))
    with pytest.raises(ConnectionError):
        adapter.run(12)
    assert len(adapter.history) == index
    whole = adapter.run(12)
    assert whole == adapter_of(mortal({}), {}).run(12)
    assert without_times(history_from_journal(tmp_path / "journal")) == without_times(whole)


def test_a_round_that_is_begun_again_is_not_finished(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    adapter = adapter_of(mortal({}), {}, (Journal(path), raising_once(is_a_round)))
    with pytest.raises(ConnectionError):
        adapter.run(4)
    assert len(history_from_journal(path)) == 1  # the journal cannot know
    adapter.callbacks = (adapter.callbacks[0], raising_once(lambda event: isinstance(event, Try)))
    with pytest.raises(ConnectionError):
        adapter.run(4)
    content = read_journal(path)
    assert (len(content.history), len(content.unfinished)) == (0, 1)


def is_a_round(event: Event) -> bool:
    return isinstance(event, Round)


def test_rounds_alone_can_be_journaled_again_too(tmp_path: Path) -> None:
    history = adapter_of(mortal({}), {}).run(8)
    journal = Journal(tmp_path / "journal")
    for round_ in (history[0], history[0], history[1], history[1]):
        journal(round_)  # of a driver that reports rounds only
    assert history_from_journal(tmp_path / "journal") == history


class StoppedFile:
    """A file into which Ctrl-C comes when a part of the data, or all of it, is written."""

    def __init__(self, file: Any, share: float) -> None:
        self.file, self.share = file, share

    def __enter__(self) -> StoppedFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

    def write(self, data: bytes) -> None:
        self.file.write(data[: round(self.share * len(data))])
        signal.raise_signal(signal.SIGINT)


@pytest.fixture
def stopped_in_write(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[int, float], None]]:
    real, writes = builtins.open, 0

    def stop_at(number: int, share: float) -> None:
        def opened(path: Any, mode: str = "r", *arguments: Any, **more: Any) -> Any:
            nonlocal writes
            file = real(path, mode, *arguments, **more)
            writes += mode == "ab"
            return StoppedFile(file, share) if mode == "ab" and writes == number else file

        monkeypatch.setattr(builtins, "open", opened)

    yield stop_at
    monkeypatch.undo()


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("write", range(1, 13))
def test_ctrl_c_while_the_journal_writes(
    write: int,
    share: float,
    tmp_path: Path,
    stopped_in_write: Callable[[int, float], None],
) -> None:
    path = tmp_path / "journal"
    adapter = adapter_of(mortal({}), {}, (Journal(path, seconds=False),))
    stopped_in_write(write, share)
    with pytest.raises(KeyboardInterrupt):
        adapter.run(8)
    assert adapter.run(8) == adapter_of(mortal({}), {}).run(8)
    assert without_times(history_from_journal(path)) == without_times(adapter.history)
    assert not read_journal(path).torn


def test_lines_of_others_are_not_taken_for_ones_own(
    tmp_path: Path, stopped_in_write: Callable[[int, float], None]
) -> None:
    adapter = adapter_of(mortal({}), {}, (Journal(tmp_path / "journal"),))
    stopped_in_write(3, 0.5)
    with pytest.raises(KeyboardInterrupt):
        adapter.run(8)
    with builtins.open(tmp_path / "journal", "a") as file:
        file.write("hello")
    with raises(CheckpointError):
        adapter.run(8)


# In a process of its own: a signal in the middle of what measures coverage would leave that locked.
SIGNALS = """
import random, signal, sys
from pathlib import Path
from dynhp.storage.journal import Journal, history_from_journal, read_journal
from tests.support.resuming import CASES, adapter_of, mortal, without_times

def stop(number, frame):
    raise KeyboardInterrupt

signal.signal(signal.SIGPROF, stop)
case, moments, stops, run = CASES["grid"], random.Random(5), 0, 0
while stops < 40:  # however fast the machine is, and however coarse its timer
    run += 1
    assert run < 2000, "the timer stops nothing"
    path = Path(sys.argv[1], str(run))
    adapter = adapter_of(mortal(case), case, (Journal(path),))
    for _ in range(4):
        try:
            signal.setitimer(signal.ITIMER_PROF, moments.uniform(1e-4, 1e-2))
            adapter.run(40)
            signal.setitimer(signal.ITIMER_PROF, 0)
        except KeyboardInterrupt:
            stops += 1
    adapter.run(40)
    assert without_times(history_from_journal(path)) == without_times(adapter.history), run
    assert not read_journal(path).torn
"""


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers here")
def test_real_signals_at_any_moment(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SIGNALS, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
