"""What a program writes to its terminal, caught while a picture stands there."""

from __future__ import annotations

import os
import re
import weakref
from collections.abc import Callable
from typing import Any

__all__ = ["CaughtStream"]

_MOVES = re.compile(r"\x1b\[[0-9;?]*[A-Za-ln-z]")  # what moves the cursor; colours may stay
_caught: weakref.WeakSet[CaughtStream] = weakref.WeakSet()


class CaughtStream:
    """Catches what is written to a text stream, in whole lines; the last one may be unfinished.

    The ``write`` of the stream itself is replaced, because handlers of logging and progress bars
    hold the stream since before. ``\\r`` begins the line anew, as in a terminal.

    Args:
        stream: the stream.
        take: called with the lines that were ended, and with the one that was not.

    >>> import io
    >>> stream, seen = io.TextIOWrapper(io.BytesIO()), []
    >>> caught = CaughtStream(stream, lambda lines, rest: seen.append((lines, rest)))
    >>> print("a line", file=stream); _ = stream.write("10 %\\r20 %")
    >>> seen
    [([], 'a line'), (['a line'], ''), ([], '20 %')]
    >>> caught.release(); _ = stream.write("as ever")
    >>> stream.flush(); stream.buffer.getvalue()
    b'as ever'
    """

    def __init__(self, stream: Any, take: Callable[[list[str], str], None]) -> None:
        self._stream = stream
        self.direct: Callable[[str], int] = stream.write  # to the terminal itself
        self._take, self._rest = take, ""
        self._stream.write = self._write
        _caught.add(self)

    def release(self) -> None:
        """Let the stream write by itself again."""
        _caught.discard(self)
        if vars(self._stream).get("write") == self._write:
            del self._stream.write

    def _write(self, text: str) -> int:
        if not isinstance(text, str):
            return self.direct(text)  # which says what is wrong with it
        *lines, rest = _MOVES.sub("", self._rest + text).split("\n")
        seen = _after_return(rest)
        self._rest = f"{seen}\r" if rest.endswith("\r") else seen  # where the next one begins
        self._take([_after_return(line) for line in lines], seen if seen.strip() else "")
        return len(text)


def _after_return(line: str) -> str:
    """What is seen of a line with returns: what was written last over it."""
    return next((part for part in reversed(line.split("\r")) if part), "")


def _release_all() -> None:
    """In a fork of this process nothing is shown, and what it writes goes where it ever went."""
    for caught in list(_caught):
        caught.release()


if hasattr(os, "register_at_fork"):  # pragma: no branch - elsewhere than on Windows
    os.register_at_fork(after_in_child=_release_all)
