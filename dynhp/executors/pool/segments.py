"""Shared memory between the main process and its workers.

Only the main process makes segments and removes them: none is left behind when a worker dies. What
a main process leaves behind that is killed together with all that could clean up for it is removed
when the next pool starts. A segment's maker holds a lock on it, which ends with the maker, so that
neither a process id that serves again nor other containers with the same memory mislead anybody.
"""

from __future__ import annotations

import logging
import os
import secrets
import stat
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing import resource_tracker
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path
from typing import cast

with suppress(ImportError):  # not on Windows: memory goes with the last process that has it open
    from fcntl import LOCK_EX, LOCK_NB, LOCK_SH, flock

__all__ = ["Openings", "Segments", "remove_leftovers"]

FOLDER = Path("/dev/shm")
"""Where Linux shows shared memory as files; other systems have no such folder, and no list."""

PREFIX = "dynhp-"
SUFFIX = "-locked"
"""Of the names of segments whose maker holds a lock; there may be others, of an older dynhp."""

SPARE = 2
"""So many segments are kept for the next states, in the main process and in each worker."""


class Segments:
    """The shared memory that the main process has made.

    Fresh memory takes longer to get than to fill, so what is released may serve again.
    """

    def __init__(self) -> None:
        self._used: dict[str, SharedMemory] = {}
        self._spare: list[SharedMemory] = []

    def make(self, sizes: Sequence[int]) -> str | None:
        """A segment for pieces of these sizes; None where there is no room for one."""
        size = sum(sizes)
        fits = [spare for spare in self._spare if size <= spare.size <= 2 * size]
        if fits:
            self._spare.remove(fits[0])
        shared = fits[0] if fits else self._new(size)
        if shared is None:
            return None
        self._used[shared.name] = shared
        return shared.name

    def _new(self, size: int) -> SharedMemory | None:
        try:
            shared = SharedMemory(_name(), create=True, size=size)
        except OSError:
            return None
        if _locked(shared) and _has_room(shared):
            return shared
        _remove(shared)
        return None

    def buffer(self, name: str) -> memoryview:
        """The memory of a segment in use."""
        return cast(memoryview, self._used[name].buf)

    def release(self, name: str | None) -> None:
        """A segment is not needed any longer, if it is one in use."""
        if name in self._used:
            self._spare.insert(0, self._used.pop(name))
            while len(self._spare) > SPARE:
                _remove(self._spare.pop())

    def release_all(self) -> None:
        """None is in use any longer."""
        for name in list(self._used):
            self.release(name)

    def clear(self) -> None:
        """Remove all segments."""
        self.release_all()
        while self._spare:
            _remove(self._spare.pop())


class Openings:
    """Segments of the main process, as a worker opens them: the last few stay open."""

    def __init__(self) -> None:
        self._open: dict[str, SharedMemory] = {}

    def buffer(self, name: str) -> memoryview:
        """The memory of a segment."""
        shared = self._open.pop(name, None) or SharedMemory(name)
        self._open[name] = shared  # the last used comes last
        while len(self._open) > SPARE:
            _close(self._open.pop(next(iter(self._open))))
        return cast(memoryview, shared.buf)

    def close(self) -> None:
        """Close them all."""
        while self._open:
            _close(self._open.popitem()[1])


def _close(shared: SharedMemory) -> None:
    """Close a segment; where arrays still lie in it, it goes with the last of them."""
    with suppress(BufferError):
        shared.close()


def remove_leftovers() -> None:
    """Remove the segments of this user's whose makers are dead."""
    removed = sum(map(_removed_if_left, FOLDER.glob(f"{PREFIX}*{SUFFIX}")))
    if removed:
        logging.getLogger("dynhp").info(
            "removed %d segments of shared memory that killed programs have left", removed
        )


def _removed_if_left(path: Path) -> bool:
    """Remove a segment if nobody holds its lock, and it is one of this user's."""
    try:
        # Neither links nor pipes that others have put there may lead astray or hold up.
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:  # gone already, or somebody else's
        return False
    try:
        facts = os.fstat(handle)
        if facts.st_uid != os.geteuid() or not stat.S_ISREG(facts.st_mode):
            return False
        flock(handle, LOCK_EX | LOCK_NB)
        path.unlink()
    except OSError:  # its maker is alive, or another process is removing it
        return False
    finally:
        os.close(handle)
    return True


def _locked(shared: SharedMemory) -> bool:
    """Lock a segment, to say that its maker is alive; False where another process was faster."""
    if not FOLDER.is_dir():
        return True
    try:
        flock(_file_of(shared), LOCK_SH | LOCK_NB)
    except BlockingIOError:  # it was taken for left behind
        return False
    except OSError:  # there are no locks, for nobody
        return True
    return os.fstat(_file_of(shared)).st_nlink > 0


def _file_of(shared: SharedMemory) -> int:
    return cast(int, shared._fd)  # type: ignore[attr-defined]  # there is no public way to it


def _name() -> str:
    """A name that is used once and says which process made it; macOS allows no longer ones."""
    suffix = SUFFIX if FOLDER.is_dir() else ""
    return f"{PREFIX}{os.getpid()}-{secrets.token_hex(6)}{suffix}"


def _remove(shared: SharedMemory) -> None:
    try:
        shared.unlink()  # first: its lock ends when it is closed
    except FileNotFoundError:  # somebody has cleaned up
        resource_tracker.unregister(shared._name, "shared_memory")  # type: ignore[attr-defined]
    shared.close()


def _has_room(shared: SharedMemory) -> bool:
    """Take the memory now: where it is missing, writing would end the process (a bus error)."""
    reserve = getattr(os, "posix_fallocate", None)  # Linux, where /dev/shm may be small
    try:
        if reserve is not None:
            reserve(_file_of(shared), 0, shared.size)
    except OSError:
        return False
    return True
