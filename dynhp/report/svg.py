"""Pictures as SVG text: what charts are drawn with, and a line chart; no plotting package."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import TypeAlias

from dynhp.report.style import PICTURE

__all__ = ["Canvas", "circle", "line_chart", "standalone", "text"]

_Place: TypeAlias = Callable[[float, float], tuple[float, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Canvas:
    """The size of a picture and the margins around what is plotted in it.

    >>> Canvas().across(0.5), Canvas().down(1.0)
    (389.0, 174.0)
    """

    width: int = 720
    height: int = 200
    left: int = 70
    right: int = 12
    top: int = 12
    bottom: int = 26

    def across(self, share: float) -> float:
        """The place of this share of the way from left to right."""
        return round(self.left + share * (self.width - self.left - self.right), 1)

    def down(self, share: float) -> float:
        """The place of this share of the way from top to bottom."""
        return round(self.top + share * (self.height - self.top - self.bottom), 1)

    def grid_line(self, y: float, name: str) -> str:
        """A line from left to right, with its name before it."""
        line = f'<line x1="{self.left}" x2="{self.width - self.right}" y1="{y}" y2="{y}"/>'
        return line + text(self.left - 6, y + 4, name, anchor="end")

    def picture(self, parts: Iterable[str], *, label: str) -> str:
        """All parts as one picture; the label is read aloud to those who cannot see it."""
        start = f'<svg viewBox="0 0 {self.width} {self.height}" role="img" aria-label='
        return "\n".join([f'{start}"{escape(label)}">', *parts, "</svg>"])


def text(x: float, y: float, content: str, *, anchor: str = "") -> str:
    """Text that begins at a place, or ends or has its middle there.

    >>> text(6, 7, "a < b", anchor="end")
    '<text x="6" y="7" text-anchor="end">a &lt; b</text>'
    """
    anchored = f' text-anchor="{anchor}"' if anchor else ""
    return f'<text x="{x}" y="{y}"{anchored}>{escape(content)}</text>'


def circle(x: float, y: float, *, kind: str, radius: int, title: str = "") -> str:
    """A mark, which the style sheet colours by its kind; the title shows when it is pointed at.

    >>> circle(6, 7, kind="try", radius=2)
    '<circle class="try" cx="6" cy="7" r="2"/>'
    """
    mark = f'<circle class="{kind}" cx="{x}" cy="{y}" r="{radius}"'
    return f"{mark}><title>{escape(title)}</title></circle>" if title else f"{mark}/>"


def standalone(svg: str, *, style: str = "") -> str:
    """Make a picture of a page a file of its own, with its colours in it.

    >>> standalone('<svg viewBox="0 0 1 1"></svg>').startswith("<svg xmlns=")
    True
    """
    start, rest = svg.split(">", 1)
    namespace = 'xmlns="http://www.w3.org/2000/svg"'
    return f"<svg {namespace}{start[4:]}>\n<style>\n{PICTURE}{style}</style>{rest}\n"


def line_chart(
    points: Sequence[tuple[float, float]],
    *,
    label: str,
    stairs: bool = False,
    dots: Sequence[tuple[float, float]] = (),
    names: Sequence[str] | None = None,
    axis: Sequence[float] = (),
) -> str:
    """Draw a line through points over epochs, and dots.

    Args:
        points: epochs and values; values that are not finite are left out.
        label: what the picture shows.
        stairs: whether a value holds until the next point.
        dots: more epochs and values, drawn as dots.
        names: the labels of 0, 1, 2, … where the values are positions in a list.
        axis: the values to label, where several pictures must have the same axis.

    >>> line_chart([(0, 1.0), (10, 2.0)], label="loss").startswith("<svg")
    True
    """
    finite = [(x, y) for x, y in [*points, *dots] if math.isfinite(y)]
    if not finite:
        return f"<p>{escape(label)}: nothing to draw.</p>"
    canvas = Canvas()
    x_low, x_high = _range([x for x, _ in finite])
    y_low, y_high = _range(axis or [y for _, y in finite])

    def place(x: float, y: float) -> tuple[float, float]:
        across, down = (x - x_low) / (x_high - x_low), (y_high - y) / (y_high - y_low)
        return canvas.across(across), canvas.down(down)

    ticks = (
        [(float(position), name) for position, name in enumerate(names)]
        if names is not None
        else [(y, f"{y:.4g}") for y in axis or (y_low, (y_low + y_high) / 2, y_high)]
    )
    end = f"{x_high:g} epochs"
    parts = [
        *(canvas.grid_line(place(x_low, y)[1], name) for y, name in ticks if y_low <= y <= y_high),
        text(canvas.left, canvas.height - 6, f"{x_low:g}"),
        text(canvas.width - canvas.right, canvas.height - 6, end, anchor="end"),
        *(circle(*place(x, y), kind="try", radius=2) for x, y in dots if math.isfinite(y)),
        f'<polyline points="{_path(points, place, stairs=stairs)}"/>',
    ]
    return canvas.picture(parts, label=label)


def _range(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _path(points: Sequence[tuple[float, float]], place: _Place, *, stairs: bool) -> str:
    path: list[str] = []
    before: float | None = None
    for x, y in points:
        if math.isfinite(y):
            if stairs and before is not None:
                path.append("{},{}".format(*place(x, before)))
            path.append("{},{}".format(*place(x, y)))
            before = y
    return " ".join(path)
