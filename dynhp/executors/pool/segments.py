"""Shared memory between the main process and its workers.

Only the main process makes segments and removes them: none is left behind when a worker dies.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from multiprocessing.shared_memory import SharedMemory
from typing import cast

__all__ = ["Openings", "Segments"]

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
        if _has_room(shared):
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
            self._open.pop(next(iter(self._open))).close()
        return cast(memoryview, shared.buf)

    def close(self) -> None:
        """Close them all."""
        while self._open:
            self._open.popitem()[1].close()


def _name() -> str:
    """A name that is used once and says which process made it; some systems allow no longer one."""
    return f"dynhp-{os.getpid()}-{secrets.token_hex(6)}"


def _remove(shared: SharedMemory) -> None:
    shared.close()
    shared.unlink()


def _has_room(shared: SharedMemory) -> bool:
    """Take the memory now: where it is missing, writing would end the process (a bus error)."""
    reserve = getattr(os, "posix_fallocate", None)  # Linux, where /dev/shm may be small
    try:
        if reserve is not None:
            # The class has no public way to its file.
            reserve(shared._fd, 0, shared.size)  # type: ignore[attr-defined]
    except OSError:
        return False
    return True
