"""Where a picture is shown: in a terminal, in an output of a notebook, or as lines."""

from __future__ import annotations

import math
import sys
from html import escape
from typing import Any, Protocol, TextIO

from dynhp.report.live.marks import UNICODE, Line, Picture, Style
from dynhp.report.live.pause import Pause
from dynhp.report.live.screen import screen_on

__all__ = ["LineOutput", "NotebookOutput", "Surface", "surface_on"]

_LOOKS: dict[Style, str] = {
    "title": "font-weight:bold",
    "dim": "opacity:0.65",
    "good": "color:#2a8a3e",
    "bad": "color:#c0392b",
}


class Surface(Protocol):
    """What shows pictures."""

    @property
    def quiet_until(self) -> float:
        """Before this time nothing but the end of a round will be shown."""
        ...

    def is_due(self, *, beat: bool, eager: bool = False) -> bool:
        """Whether it is time for another picture.

        ``beat``: nothing happened that is worth a line. ``eager``: none can follow for long.
        """
        ...

    def show(self, picture: Picture) -> None:
        """Show it in the place of the one before, or a line of text."""
        ...

    def close(self, picture: Picture) -> None:
        """Show the last one."""
        ...


class LineOutput:
    """A line of text now and then: when another step of the picture is done.

    Args:
        stream: where to write.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream, self._last = stream, 0
        self.quiet_until = math.inf  # a line is of a round that is over

    def is_due(self, *, beat: bool, eager: bool = False) -> bool:
        """Where something happened that is worth a line."""
        return not beat

    def show(self, picture: Picture) -> None:
        """Print a line, where there is a new step."""
        step = picture.step()
        if step is not None and step > self._last:
            self._last = step
            print(picture.text(), file=self._stream, flush=True)

    def close(self, picture: Picture) -> None:
        """Print a last line."""
        print(picture.text(), file=self._stream, flush=True)


class NotebookOutput:
    """One output of a notebook's cell, which is updated in place.

    Args:
        display: ``IPython.display.display``, or what is called as it is.
    """

    def __init__(self, display: Any) -> None:
        self._display, self._handle = display, None
        self._pause = Pause(least=0.25)

    @property
    def quiet_until(self) -> float:
        """When the next picture may come."""
        return self._pause.until

    def is_due(self, *, beat: bool, eager: bool = False) -> bool:
        """Whether it is time for another picture."""
        return self._pause.is_over(eager=eager)

    def show(self, picture: Picture) -> None:
        """Put a picture in the place of the one before."""
        lines = picture.lines(100, 12, UNICODE)
        plain = "\n".join("".join(text for text, _ in line).rstrip() for line in lines)
        page = {"text/plain": plain, "text/html": _page(lines)}
        if self._handle is None:
            self._handle = self._display(page, raw=True, display_id=True)
        else:
            self._handle.update(page, raw=True)
        self._pause.begin(0.0)

    def close(self, picture: Picture) -> None:
        """Leave the last picture where it is."""
        self.show(picture)


def surface_on(stream: TextIO | None = None) -> Surface:
    """What a picture can be shown on: a notebook, a terminal, or lines on standard error.

    Args:
        stream: where to write; standard error by default, or the notebook's cell.

    >>> surface_on(sys.stdout)  # doctest: +ELLIPSIS
    <dynhp.report.live.surfaces.LineOutput object at ...>
    """
    display = _notebook() if stream is None else None
    if display is not None:
        return NotebookOutput(display)
    out = sys.stderr if stream is None else stream
    return screen_on(out) or LineOutput(out)


def _notebook() -> Any:
    """The function that shows things in a notebook; None where this is none."""
    ipython = sys.modules.get("IPython")  # who is in a notebook has imported it
    shell = None if ipython is None else ipython.get_ipython()
    if shell is None or not hasattr(shell, "kernel"):
        return None
    return sys.modules["IPython.display"].display


def _page(lines: list[Line]) -> str:
    rows = ("".join(_piece(text, style) for text, style in line) for line in lines)
    body = "\n".join(rows)
    return f'<pre style="line-height:1.25;white-space:pre;overflow-x:auto">{body}</pre>'


def _piece(text: str, style: Style) -> str:
    look = _LOOKS.get(style)
    return f'<span style="{look}">{escape(text)}</span>' if look else escape(text)
