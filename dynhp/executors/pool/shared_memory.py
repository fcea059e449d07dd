"""Shared memory between the main process and its workers, and the states that lie in it.

Only the main process makes segments and removes them, so a worker that dies leaves none behind. If
a main process is killed together with everything that could clean up for it, its segments are
removed when the next pool starts: the maker of a segment holds a lock on it, which ends with the
maker. Process ids would not do, because they are used again and differ between containers.
"""

from __future__ import annotations

import itertools
import os
import pickle
import secrets
import stat
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from multiprocessing import resource_tracker
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path
from typing import Any, NamedTuple, Protocol, cast

import numpy as np

from dynhp._log import logger
from dynhp.executors.pool.packing import SMALL, pieces_of
from dynhp.trainer import State

with suppress(ImportError):  # not on Windows: memory goes with the last process that has it open
    from fcntl import LOCK_EX, LOCK_NB, LOCK_SH, flock

FOLDER = Path("/dev/shm")
"""Where Linux shows shared memory as files; other systems have no such folder, and no list."""

PREFIX = "dynhp-"
SUFFIX = "-locked"
"""The ends of the names of segments whose maker holds a lock; other names are left alone."""

SPARE = 2
"""How many segments are kept for the next states, in the main process and in each worker."""


class SegmentSource(Protocol):
    """Shared memory as one side uses it, to put states there and to read them."""

    def make(self, sizes: Sequence[int]) -> str | None:
        """The name of a segment for pieces of these sizes; None if there is no room for one."""
        ...

    def buffer(self, name: str) -> memoryview:
        """The memory of a segment."""
        ...


class Segments:
    """The shared memory that the main process has made.

    It takes longer to get fresh memory than to fill it, so released segments are used again.
    """

    def __init__(self) -> None:
        self._used: dict[str, SharedMemory] = {}
        self._spare: list[SharedMemory] = []

    def make(self, sizes: Sequence[int]) -> str | None:
        """A segment for pieces of these sizes; None if there is no room for one."""
        size = sum(sizes)
        shared = next((each for each in self._spare if size <= each.size <= 2 * size), None)
        if shared is not None:
            self._spare.remove(shared)
        else:
            shared = _new_segment(size)
        if shared is None:
            return None
        self._used[shared.name] = shared
        return shared.name

    def buffer(self, name: str) -> memoryview:
        """The memory of a segment in use."""
        return cast(memoryview, self._used[name].buf)

    def release(self, name: str | None) -> None:
        """Let a segment be used again; names that are not in use are ignored."""
        if name in self._used:
            self._spare.insert(0, self._used.pop(name))
            while len(self._spare) > SPARE:
                _remove(self._spare.pop())

    def release_all(self) -> None:
        """Let all segments be used again."""
        for name in list(self._used):
            self.release(name)

    def clear(self) -> None:
        """Remove all segments."""
        self.release_all()
        while self._spare:
            _remove(self._spare.pop())


class WorkerSegments:
    """Segments of the main process, as a worker opens them: the last few stay open.

    ``ask`` asks the main process for a segment.
    """

    def __init__(self, ask: Callable[[Sequence[int]], str | None]) -> None:
        self._ask = ask
        self._open: dict[str, SharedMemory] = {}

    def make(self, sizes: Sequence[int]) -> str | None:
        """Have the main process make a segment."""
        return self._ask(sizes)

    def buffer(self, name: str) -> memoryview:
        """The memory of a segment."""
        shared = self._open.pop(name, None) or SharedMemory(name)
        self._open[name] = shared  # the last used comes last
        self._close_all_but(SPARE)
        return cast(memoryview, shared.buf)

    def close(self) -> None:
        """Close them all."""
        self._close_all_but(0)

    def _close_all_but(self, count: int) -> None:
        while len(self._open) > count:
            oldest = self._open.pop(next(iter(self._open)))
            with suppress(BufferError):  # arrays still lie in it: it goes with the last of them
                oldest.close()


def _new_segment(size: int) -> SharedMemory | None:
    """A segment that is locked by this process and has all its memory."""
    # The name is used once and says which process made it; macOS allows no longer ones.
    suffix = SUFFIX if FOLDER.is_dir() else ""
    name = f"{PREFIX}{os.getpid()}-{secrets.token_hex(6)}{suffix}"
    try:
        shared = SharedMemory(name, create=True, size=size)
    except OSError:
        return None
    file: int = shared._fd  # type: ignore[attr-defined]  # there is no public way to it
    if _try_lock(file) and _reserve(file, shared.size):
        return shared
    _remove(shared)
    return None


def _try_lock(file: int) -> bool:
    """Lock a segment, to say that its maker is alive; False if another process was faster."""
    if not FOLDER.is_dir():
        return True
    try:
        flock(file, LOCK_SH | LOCK_NB)
    except BlockingIOError:  # another process takes it for left behind
        return False
    except OSError:  # this system has no locks, so no process can take it
        return True
    return os.fstat(file).st_nlink > 0


def _reserve(file: int, size: int) -> bool:
    """Take the memory now: if there is too little, writing would end the process (a bus error)."""
    reserve = getattr(os, "posix_fallocate", None)  # Linux, where /dev/shm may be small
    try:
        if reserve is not None:
            reserve(file, 0, size)
    except OSError:
        return False
    return True


def _remove(shared: SharedMemory) -> None:
    try:
        shared.unlink()  # first: its lock ends when it is closed
    except FileNotFoundError:  # another process has cleaned up
        resource_tracker.unregister(shared._name, "shared_memory")  # type: ignore[attr-defined]
    shared.close()


def remove_leftovers() -> None:
    """Remove the segments of this user whose makers are dead."""
    removed = sum(map(_remove_if_left, FOLDER.glob(f"{PREFIX}*{SUFFIX}")))
    if removed:
        logger.info("removed %d segments of shared memory that killed programs have left", removed)


def _remove_if_left(path: Path) -> bool:
    """Remove a segment if no process holds its lock, and it belongs to this user."""
    try:
        # Links that others have put there must not lead elsewhere, nor pipes hold this up.
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:  # it is gone already, or belongs to another user
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


class PackedState(NamedTuple):
    """A state on its way: its pieces are in the segment of that name, or right here."""

    sizes: tuple[int, ...]
    segment: str | None
    here: tuple[bytes, ...] = ()


def pack(state: State, segments: SegmentSource) -> PackedState:
    """Take a state apart and put it into a new segment, or into the result if it is small.

    >>> packed = pack({"weights": [1.0, 2.0]}, Segments())
    >>> packed.segment, load(packed, Segments())
    (None, {'weights': [1.0, 2.0]})
    """
    pieces = pieces_of(state)
    sizes = tuple(piece.nbytes for piece in pieces)
    # A small state travels in the message itself: a segment would cost more than it saves.
    is_small = len(pieces) == 1 and sizes[0] <= SMALL
    segment = None if is_small else segments.make(sizes)
    if segment is None:
        return PackedState(sizes, None, tuple(map(bytes, pieces)))
    space = segments.buffer(segment)
    for piece, (begin, end) in zip(pieces, _bounds(sizes), strict=True):
        space[begin:end] = piece
    return PackedState(sizes, segment)


def load(packed: PackedState, segments: SegmentSource) -> State:
    """Put the state together from copies: it belongs to the receiver, who may write to it."""
    if packed.segment is None:
        pieces = [memoryview(piece) for piece in packed.here]
    else:
        space = segments.buffer(packed.segment)
        pieces = [space[begin:end] for begin, end in _bounds(packed.sizes)]
    copies: list[Any] = [np.empty(piece.nbytes, np.uint8) for piece in pieces]
    for copy, piece in zip(copies, pieces, strict=True):
        copy.data[:] = piece
    return pickle.loads(copies[0], buffers=copies[1:])


def lend(packed: PackedState, segments: SegmentSource, use: Callable[[State], object]) -> bool:
    """Let a state be used right where it lies; whether nothing refers to its memory afterwards.

    >>> segments, weights = Segments(), []
    >>> packed = pack(np.ones(10_000), segments)
    >>> lend(packed, segments, lambda state: weights.append(state.sum()))
    True
    >>> lend(packed, segments, weights.append)
    False
    >>> weights.clear(); segments.clear()
    """
    if packed.segment is None:
        use(load(packed, segments))
        return True
    space = segments.buffer(packed.segment)
    bounds = _bounds(packed.sizes)
    lent: Any = [np.frombuffer(space[begin:end], np.uint8) for begin, end in bounds]
    alive = list(map(weakref.ref, lent))  # whatever lies in one of these refers to it
    use(pickle.loads(lent[0], buffers=lent[1:]))
    del lent
    return all(piece() is None for piece in alive)


def _bounds(sizes: Sequence[int]) -> Iterator[tuple[int, int]]:
    return itertools.pairwise(itertools.accumulate(sizes, initial=0))
