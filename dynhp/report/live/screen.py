"""A picture that stands in a terminal, under what the program writes there."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, TextIO

from dynhp.report.live.marks import Line, Picture, Style, marks_of
from dynhp.report.live.pause import Pause
from dynhp.report.live.streams import CaughtStream

__all__ = ["Screen", "screen_on"]

_LOOKS: dict[Style, str] = {"title": "bold", "dim": "dim", "good": "green", "bad": "red"}
SILENT = 5.0  # seconds at most from picture to picture: one that does not move looks broken
_missing = ["progress comes as lines; a picture needs rich: pip install 'dynhp[rich]'"]
_one_at_a_time = threading.Lock()  # held by the screen that has the terminal


class Screen:
    """The last lines of a terminal, where a picture stands until it is closed.

    The cursor is never hidden and stays below the picture: whatever ends the program, the terminal
    is as it should be.

    Args:
        stream: the terminal.
        console: the rich console that knows its colours and its size.
        cells: how many columns a text takes.
        cut: cuts a text to so many columns.
    """

    def __init__(
        self,
        stream: TextIO,
        console: Any,
        *,
        cells: Callable[[str], int],
        cut: Callable[[str, int], str],
    ) -> None:
        self._console, self._cells, self._cut = console, cells, cut
        self._marks = marks_of(getattr(stream, "encoding", None))
        self._codes = {style: self._code(look) for style, look in _LOOKS.items()}
        self._lock = threading.RLock()
        self._shown: list[str] = []  # the lines that stand in the terminal
        self._picture: list[str] = []
        self._width = console.size.width - 1
        self._rest = ""  # a line of the program that has not ended
        self._pause, self._process = Pause(least=0.2, most=SILENT), os.getpid()
        self._stream = stream
        streams = dict.fromkeys(
            each for each in (stream, sys.stdout, sys.stderr) if _is_terminal(each)
        )
        self._caught = [CaughtStream(each, self._take) for each in streams]
        self._write = self._caught[0].direct

    @property
    def quiet_until(self) -> float:
        """When the next picture may come."""
        return self._pause.until

    def is_due(self, *, beat: bool, eager: bool = False) -> bool:
        """Whether it is time for another picture."""
        return self._pause.is_over(eager=eager)

    def show(self, picture: Picture) -> None:
        """Put a picture in the place of the one before."""
        began = time.thread_time()
        size = self._console.size
        lines = picture.lines(size.width - 1, max(1, size.height - 2), self._marks)
        with self._lock:
            self._width = size.width - 1
            self._picture = [self._drawn(line) for line in lines]
            self._draw([])
        self._pause.begin(time.thread_time() - began)

    def close(self, picture: Picture) -> None:
        """Leave the last picture where it is, and give the terminal back."""
        if os.getpid() == self._process:
            self.show(picture)
            with self._lock:
                self._draw([self._rest] if self._rest else [], rest="")
        for caught in self._caught:
            caught.release()
        _one_at_a_time.release()

    def _take(self, lines: list[str], rest: str) -> None:
        with self._lock:
            self._draw(lines, rest=rest)

    def _draw(self, above: list[str], *, rest: str | None = None) -> None:
        """Write lines above, then the picture over itself: in one piece, so nothing flickers."""
        self._rest = self._rest if rest is None else rest
        now = [*([self._cut_plain(self._rest)] if self._rest else []), *self._picture]
        if not above and now == self._shown:
            return
        up = f"\x1b[{len(self._shown)}A" if self._shown else ""
        text = "".join(f"{line}\x1b[K\n" for line in (*above, *now))
        self._write(f"\r{up}{text}\x1b[J")
        self._stream.flush()
        self._shown = now

    def _cut_plain(self, text: str) -> str:
        plain = "".join(each for each in text if each.isprintable() or each == "\t").expandtabs()
        return plain if self._cells(plain) <= self._width else self._cut(plain, self._width)

    def _drawn(self, line: Line) -> str:
        pieces, left = [], self._width
        for text, style in line:
            columns = self._cells(text)
            if columns > left:
                text, columns = (self._cut(text, left - 1) + self._marks.more if left else ""), left
            begin, end = self._codes.get(style, ("", ""))
            pieces.append(f"{begin}{text}{end}" if text else "")
            left -= columns
        return "".join(pieces)

    def _code(self, look: str) -> tuple[str, str]:
        """What a terminal is told before and after a text that looks so."""
        with self._console.capture() as capture:
            self._console.print("x", style=look, end="", markup=False, highlight=False)
        before, _, after = capture.get().partition("x")
        return before, after


def screen_on(stream: TextIO) -> Screen | None:
    """A screen, or None: without a terminal, without rich, or where another screen has it."""
    if not _is_terminal(stream) or os.environ.get("TERM") == "dumb":
        return None
    try:
        from rich.cells import cell_len, set_cell_size
        from rich.console import Console
    except ImportError:
        _say_what_is_missing(stream)
        return None
    console = Console(file=stream)
    if console.legacy_windows or not _one_at_a_time.acquire(blocking=False):
        return None
    try:
        return Screen(stream, console, cells=cell_len, cut=set_cell_size)
    except BaseException:
        _one_at_a_time.release()
        raise


def _say_what_is_missing(stream: TextIO) -> None:
    """Say once what a terminal needs to show more than lines."""
    if _missing:
        print(_missing.pop(), file=stream, flush=True)


def _is_terminal(stream: Any) -> bool:
    try:
        return bool(stream.isatty())
    except (AttributeError, ValueError):  # None, as without a console, or closed
        return False
