"""Where a picture is shown: in a terminal, in an output of a notebook, or as lines."""

from __future__ import annotations

import sys
from html import escape
from typing import Any, Protocol, TextIO

from dynhp.report.live.pause import Pause
from dynhp.report.live.picture import UNICODE, Picture, Style
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
    def pause(self) -> Pause | None:
        """Says when the next picture may come; None: it shows lines, one when a round is over."""
        ...

    def show(self, picture: Picture) -> None:
        """Show it in the place of the one before, or as a line of text if there is a new step."""
        ...

    def close(self, picture: Picture) -> None:
        """Show the last one."""
        ...


class LineOutput:
    """A line of text now and then: when another step of the picture is done.

    Args:
        stream: where to write.
    """

    pause = None

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._last = 0

    def show(self, picture: Picture) -> None:
        """Print a line if there is a new step."""
        step = picture.step()
        if step is not None and step > self._last:
            self._last = step
            self.close(picture)

    def close(self, picture: Picture) -> None:
        """Print a last line."""
        print(picture.text(), file=self._stream, flush=True)


class NotebookOutput:
    """One output of a notebook's cell, which is updated in place.

    Args:
        display: ``IPython.display.display``, or what is called as it is.
    """

    def __init__(self, display: Any) -> None:
        self._display = display
        self._handle: Any = None
        self.pause = Pause(least=0.25)

    def show(self, picture: Picture) -> None:
        """Put a picture in the place of the one before."""
        lines = picture.lines(100, 12, UNICODE)
        plain = "\n".join("".join(text for text, _ in line).rstrip() for line in lines)
        styled = "\n".join("".join(_in_html(*piece) for piece in line) for line in lines)
        html = f'<pre style="line-height:1.25;white-space:pre;overflow-x:auto">{styled}</pre>'
        page = {"text/plain": plain, "text/html": html}
        if self._handle is None:
            self._handle = self._display(page, raw=True, display_id=True)
        else:
            self._handle.update(page, raw=True)
        self.pause.begin(0.0)

    def close(self, picture: Picture) -> None:
        """Leave the last picture where it is."""
        self.show(picture)


def _in_html(text: str, style: Style) -> str:
    look = _LOOKS.get(style)
    return f'<span style="{look}">{escape(text)}</span>' if look else escape(text)


def surface_on(stream: TextIO | None = None) -> Surface:
    """What a picture can be shown on: a notebook, a terminal, or lines on standard error.

    Args:
        stream: where to write; standard error by default, or the notebook's cell.

    >>> surface_on(sys.stdout)  # doctest: +ELLIPSIS
    <dynhp.report.live.surfaces.LineOutput object at ...>
    """
    if stream is not None:
        return screen_on(stream) or LineOutput(stream)
    ipython = sys.modules.get("IPython")  # a notebook has imported it
    if ipython is not None and hasattr(ipython.get_ipython(), "kernel"):
        return NotebookOutput(sys.modules["IPython.display"].display)
    return screen_on(sys.stderr) or LineOutput(sys.stderr)
