"""The main process's ends of the pipes to its workers: read and written in parts, never waited for.

A worker may stop in the middle of a message, or before it has read one that is larger than a pipe
holds. Reading or writing the rest would then take for ever, whatever limits of time there are.
"""

from __future__ import annotations

import os
import pickle
import selectors
import struct
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from selectors import EVENT_READ, EVENT_WRITE, DefaultSelector
from typing import Any, TypeAlias

SIZE = struct.Struct("!i")
LARGE = struct.Struct("!Q")
HUGE = 1 << 31
"""A Connection writes the size of a message as SIZE; from HUGE bytes on, -1 as SIZE and then the
size as LARGE."""

Selector: type[selectors.BaseSelector] = getattr(selectors, "PollSelector", DefaultSelector)
"""One that is made quickly, because each is used once; not on Windows."""


class NearEnd:
    """An end of a pipe that takes what there is, and gives what there is room for."""

    def __init__(self, connection: Connection[Any, Any]) -> None:
        self._connection = connection
        self._unsent: deque[memoryview] = deque()
        self._expect_size(SIZE)
        os.set_blocking(self.fileno(), False)

    def _expect_size(self, size: struct.Struct) -> None:
        """What comes next is the size of a message, in this format."""
        self._size: struct.Struct | None = size
        self._begin_part(size.size)

    def _expect_message(self, length: int) -> None:
        """What comes next is a message of this many bytes."""
        self._size = None
        self._begin_part(length)

    def _begin_part(self, length: int) -> None:
        self._part = memoryview(bytearray(length))
        self._got = 0

    def fileno(self) -> int:
        """The file descriptor."""
        return self._connection.fileno()

    def is_sending(self) -> bool:
        """Whether a part of a message has not been sent yet."""
        return bool(self._unsent)

    def send(self, message: Any) -> None:
        """Send a message, or the part for which there is room; ``flush`` sends the rest."""
        body = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
        huge = len(body) >= HUGE
        size = SIZE.pack(-1) + LARGE.pack(len(body)) if huge else SIZE.pack(len(body))
        self._unsent += [memoryview(size), memoryview(body)]
        self.flush()

    def flush(self) -> None:
        """Send more of what could not be sent before."""
        try:
            while self._unsent:
                sent = os.write(self.fileno(), self._unsent[0])
                self._unsent[0] = self._unsent[0][sent:]
                if not self._unsent[0]:
                    self._unsent.popleft()
        except BlockingIOError:
            pass
        except OSError:  # the other end is gone
            self._unsent.clear()
            raise

    def recv(self) -> Any | None:
        """The next message, or None if its end has not come yet."""
        while True:
            try:
                got = os.readv(self.fileno(), [self._part[self._got :]])
            except BlockingIOError:
                return None
            if got == 0:
                raise EOFError
            self._got += got
            if self._got < len(self._part):
                continue
            part, size = self._part, self._size
            if size is None:
                self._expect_size(SIZE)
                return pickle.loads(part)
            (length,) = size.unpack(part)
            if length < 0:
                self._expect_size(LARGE)
            else:
                self._expect_message(length)

    def close(self) -> None:
        """Close the pipe."""
        self._connection.close()


PipeEnd: TypeAlias = "NearEnd | Connection[Any, Any]"
"""What the main process has of a pipe to a worker."""


def near_end(connection: Connection[Any, Any]) -> PipeEnd:
    """The main process's end of a pipe."""
    if os.name == "nt":  # pragma: no cover - where a pipe cannot be read in parts
        return connection
    return NearEnd(connection)


def wait_for(ends: Sequence[Any], seconds: float) -> list[Any]:
    """Wait up to ``seconds``; the ends with something to receive. Sends what there is room for.

    >>> from multiprocessing import Pipe
    >>> near, far = Pipe()
    >>> end = near_end(near)
    >>> far.send("an answer")
    >>> wait_for([end], 60.0) == [end], end.recv()
    (True, 'an answer')
    """
    if os.name == "nt":  # pragma: no cover
        return wait(ends, seconds)
    with Selector() as selector:
        for end in ends:
            selector.register(end, EVENT_READ | (EVENT_WRITE if end.is_sending() else 0), end)
        ready = selector.select(seconds)
    for key, events in ready:
        if events & EVENT_WRITE:
            with suppress(OSError):  # that it is gone shows when its answer is received
                key.data.flush()
    return [key.data for key, events in ready if events & EVENT_READ]
