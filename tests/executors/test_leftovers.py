"""Segments whose makers are dead: removed by the next pool, and no others."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dynhp.executors.pool import shared_memory
from dynhp.executors.pool.shared_memory import FOLDER, Segments, remove_leftovers

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="shared memory cannot be listed here")

DEAD = "dynhp-7-0123456789ab-locked"


def put(kind: str, path: Path) -> None:
    if kind == "link":
        path.symlink_to(path.with_name("elsewhere"))
        path.resolve().touch()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.touch()


def test_what_nobody_holds_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(shared_memory, "FOLDER", tmp_path)
    caplog.set_level("INFO", "dynhp")
    remove_leftovers()
    assert caplog.messages == []
    put("file", tmp_path / DEAD)
    remove_leftovers()
    assert list(tmp_path.iterdir()) == []
    assert len(caplog.messages) == 1
    assert caplog.messages[0].startswith("removed 1 segments of shared memory that ")


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("link", DEAD),
        ("pipe", DEAD),
        ("folder", DEAD),
        ("file", "dynhp-7-0123456789ab"),  # of an older dynhp, which may be at work
        ("file", "psm_0123456789ab-locked"),
        ("another user's", DEAD),
    ],
)
def test_what_may_be_somebodys_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, name: str
) -> None:
    monkeypatch.setattr(shared_memory, "FOLDER", tmp_path)
    if kind == "another user's":
        monkeypatch.setattr(os, "geteuid", lambda: 12345)
    put(kind, tmp_path / name)
    before = set(tmp_path.iterdir())
    remove_leftovers()
    assert set(tmp_path.iterdir()) == before


MAKER = """
from dynhp.executors.pool.shared_memory import Segments
made = Segments()
print(made.make([100]), flush=True)
input()
made.clear()
"""


def test_a_segment_stays_for_as_long_as_its_maker_lives() -> None:
    """Its maker is another process, and has its own idea of process ids for all we know."""
    maker = subprocess.Popen(
        [sys.executable, "-c", MAKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert maker.stdout is not None
    path = FOLDER / maker.stdout.readline().strip()
    own = Segments()
    mine = FOLDER / (own.make([100]) or "")
    remove_leftovers()
    assert path.is_file()
    assert mine.is_file()
    maker.communicate("now\n")
    assert not path.exists()
    own.clear()
    assert not mine.exists()


def removed_first(handle: int, how: int) -> None:
    Path(os.readlink(f"/proc/self/fd/{handle}")).unlink()


def held(handle: int, how: int) -> None:
    raise BlockingIOError


@pytest.mark.parametrize("faster", [removed_first, held])
def test_a_segment_taken_for_left_behind_at_its_birth_is_not_used(
    monkeypatch: pytest.MonkeyPatch, faster: Callable[[int, int], None]
) -> None:
    """Another pool starts between the making of a segment and its lock."""
    monkeypatch.setattr(shared_memory, "flock", faster)
    assert Segments().make([100]) is None


def test_without_locks_or_a_folder_segments_are_made_all_the_same_and_stay(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def no_locks(*args: Any) -> None:
        raise OSError(errno.ENOLCK, "no locks available")

    made = Segments()
    monkeypatch.setattr(shared_memory, "flock", no_locks)
    assert made.make([100]) is not None
    monkeypatch.setattr(shared_memory, "FOLDER", tmp_path)
    put("file", tmp_path / DEAD)
    remove_leftovers()
    assert (tmp_path / DEAD).is_file()
    monkeypatch.setattr(shared_memory, "FOLDER", tmp_path / "missing")
    short = made.make([1000])
    assert short is not None
    assert len(short) <= 29  # macOS: 31 with a slash and the end of the string
    remove_leftovers()
    made.clear()
