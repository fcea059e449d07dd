"""A picture that stands in a terminal, drawn by rich, under what the program writes there."""

from __future__ import annotations

import errno
import os
import re
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, TextIO

from dynhp.report.live.pause import Pause
from dynhp.report.live.picture import Line, Picture, Style, marks_of

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions
    from rich.segment import Segment

__all__ = ["CaughtStream", "Screen", "screen_on"]

_LOOKS: dict[Style, str] = {
    "": "none",
    "title": "bold",
    "dim": "dim",
    "good": "green",
    "bad": "red",
}
SILENT = 5.0  # seconds at most from picture to picture: one that does not move looks broken
UNENDED = 0.1  # seconds at least between two looks at a line that has not ended, such as a bar
_MOVES = re.compile(r"\x1b\[[0-9;?]*[A-Za-ln-z]")  # what moves the cursor; colours may stay
_missing = ["progress comes as lines; a picture needs rich: pip install 'dynhp[rich]'"]
_one_at_a_time = threading.Lock()  # held by the screen that has the terminal


def screen_on(stream: TextIO) -> Screen | None:
    """A screen, or None: without a terminal, without rich, or if another screen has it."""
    if not _is_terminal(stream) or os.environ.get("TERM") == "dumb":
        return None
    try:
        from rich.console import Console
    except ImportError:
        if _missing:  # said once
            print(_missing.pop(), file=stream, flush=True)
        return None
    if Console(file=stream).legacy_windows or not _one_at_a_time.acquire(blocking=False):
        return None
    try:
        return Screen(stream)
    except BaseException:
        _one_at_a_time.release()
        raise


def _is_terminal(stream: Any) -> bool:
    try:
        return bool(stream.isatty())
    except (AttributeError, ValueError):  # None, as without a console, or closed
        return False


class Screen:
    """The last lines of a terminal, where a picture stands until it is closed.

    ``rich.live`` draws it. What the program writes is caught from its streams themselves: rich
    replaces ``sys.stdout`` alone, and handlers of logging and progress bars hold the stream.

    Args:
        stream: the terminal.
    """

    def __init__(self, stream: TextIO) -> None:
        from rich.console import Console
        from rich.live import Live

        self._marks = marks_of(getattr(stream, "encoding", None))
        self._lock = threading.RLock()
        self._lines: list[Line] = []
        self._rest = ""  # a line of the program that has not ended
        self._rest_until = 0.0
        self._stale = False  # whether it has changed and was not drawn
        self.pause = Pause(least=0.2, most=SILENT)
        self._process = os.getpid()
        # Rich writes past what catches the program's own lines.
        direct: Any = SimpleNamespace(
            write=stream.write,
            flush=stream.flush,
            isatty=lambda: True,
            encoding=getattr(stream, "encoding", None) or "ascii",
        )
        self._console = Console(file=direct)
        self._console.on_broken_pipe = _say_gone  # type: ignore[method-assign]
        self._styles = {style: self._console.get_style(look) for style, look in _LOOKS.items()}
        self._width = self._console.size.width - 1
        streams = dict.fromkeys(
            each for each in (stream, sys.stdout, sys.stderr) if _is_terminal(each)
        )
        self._live = Live(
            self,
            console=self._console,
            auto_refresh=False,  # which would be a thread
            redirect_stdout=False,
            redirect_stderr=False,
            vertical_overflow="crop",
        )
        self._live.start()
        self._console.show_cursor()  # whatever ends the program, the terminal is as it should be
        self._caught = [CaughtStream(each, self._take) for each in streams]

    def show(self, picture: Picture) -> None:
        """Put a picture in the place of the one before."""
        began = time.thread_time()
        size = self._console.size
        lines = picture.lines(size.width - 1, max(1, size.height - 2), self._marks)
        with self._lock:
            if self._stale or lines != self._lines:
                self._lines = lines
                self._width = size.width - 1
                self._refresh()
        self.pause.begin(time.thread_time() - began)

    def close(self, picture: Picture) -> None:
        """Leave the last picture where it is, and give the terminal back."""
        try:
            if os.getpid() == self._process:
                self.show(picture)
                with self._lock:
                    rest, self._rest = self._rest, ""
                    self._print([rest] if rest else [])
                    self._live.stop()
        finally:
            for caught in self._caught:
                caught.release()
            _one_at_a_time.release()

    def _take(self, lines: list[str], rest: str) -> None:
        """Show what the program wrote: lines that have ended, and the one that has not."""
        with self._lock:
            self._stale |= rest != self._rest
            self._rest = rest
            if lines:
                self._print(lines)
            elif self._stale and time.monotonic() >= self._rest_until:
                self._refresh()
                self._rest_until = time.monotonic() + UNENDED

    def _refresh(self) -> None:
        self._live.refresh()
        self._stale = False

    def _print(self, lines: list[str]) -> None:
        """Print lines above the picture, whatever they hold."""
        from rich.text import Text

        if lines:
            text = Text.from_ansi("\n".join(lines))
            self._console.print(text, soft_wrap=True, markup=False, highlight=False)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        """What stands in the terminal now, each line cut to its width."""
        from rich.segment import Segment

        rest = "".join(each for each in self._rest if each.isprintable() or each == "\t")
        rows: list[Line] = [[(rest.expandtabs(), "")]] if rest else []
        for number, row in enumerate((*rows, *self._lines)):
            if number:
                yield Segment.line()
            pieces = [Segment(text, self._styles[style]) for text, style in row]
            yield from Segment.adjust_line_length(pieces, self._width, pad=False)


def _say_gone() -> None:
    """Make a broken pipe an error like any other, because rich would end the program."""
    raise OSError(errno.EIO, "the terminal is gone")


class CaughtStream:
    """Catches what is written to a text stream, in whole lines; the last one may be unfinished.

    The ``write`` of the stream itself is replaced, because handlers of logging and progress bars
    already hold the stream. ``\\r`` begins the line anew, as in a terminal.

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
        self._direct: Callable[[str], int] = stream.write
        self._take = take
        self._rest = ""
        stream.write = self._write
        _all_caught.add(self)

    def release(self) -> None:
        """Let the stream write by itself again."""
        _all_caught.discard(self)
        if vars(self._stream).get("write") == self._write:
            del self._stream.write

    def _write(self, text: str) -> int:
        if not isinstance(text, str):
            return self._direct(text)  # which says what is wrong with it
        *lines, rest = _MOVES.sub("", self._rest + text).split("\n")
        seen = _after_return(rest)
        self._rest = f"{seen}\r" if rest.endswith("\r") else seen  # where the next one begins
        self._take([_after_return(line) for line in lines], seen if seen.strip() else "")
        return len(text)


def _after_return(line: str) -> str:
    """What is seen of a line with returns: what was written last over it."""
    return next((part for part in reversed(line.split("\r")) if part), "")


_all_caught: weakref.WeakSet[CaughtStream] = weakref.WeakSet()


def _release_all() -> None:
    """Catch nothing in a fork of this process, where nothing is shown."""
    for caught in list(_all_caught):
        caught.release()


if hasattr(os, "register_at_fork"):  # pragma: no branch - not on Windows
    os.register_at_fork(after_in_child=_release_all)
