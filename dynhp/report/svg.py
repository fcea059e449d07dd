"""Small line pictures as SVG text, made by hand so that a report needs nothing from outside."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from html import escape
from typing import TypeAlias

__all__ = ["line_chart"]

_Place: TypeAlias = Callable[[float, float], tuple[float, float]]
_WIDTH, _HEIGHT, _LEFT, _TOP, _BOTTOM = 720, 200, 70, 12, 26


def line_chart(
    points: Sequence[tuple[float, float]],
    *,
    label: str,
    stairs: bool = False,
    dots: Sequence[tuple[float, float]] = (),
    names: Sequence[str] | None = None,
) -> str:
    """Draw a line through points (as stairs where values hold until the next), with dots beside.

    ``names`` are the labels of 0, 1, 2, … where the values are places in a list.

    >>> line_chart([(0, 1.0), (10, 2.0)], label="loss").startswith("<svg")
    True
    """
    finite = [(x, y) for x, y in [*points, *dots] if math.isfinite(y)]
    if not finite:
        return f"<p>{escape(label)}: nothing to draw.</p>"
    x_low, x_high = _range([x for x, _ in finite])
    y_low, y_high = _range([y for _, y in finite])

    def place(x: float, y: float) -> tuple[float, float]:
        across = (x - x_low) / (x_high - x_low) * (_WIDTH - _LEFT - 12)
        down = (y_high - y) / (y_high - y_low) * (_HEIGHT - _TOP - _BOTTOM)
        return round(_LEFT + across, 1), round(_TOP + down, 1)

    parts = [
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(label)}">',
        *_axis(y_low, y_high, place, x_low, names),
        f'<text x="{_LEFT}" y="{_HEIGHT - 6}">{x_low:g}</text>',
        f'<text x="{_WIDTH - 12}" y="{_HEIGHT - 6}" text-anchor="end">{x_high:g} epochs</text>',
        *(
            '<circle class="try" cx="{}" cy="{}" r="2"/>'.format(*place(x, y))
            for x, y in dots
            if math.isfinite(y)
        ),
        f'<polyline points="{_path(points, place, stairs=stairs)}"/>',
        "</svg>",
    ]
    return "\n".join(parts)


def _range(values: list[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _axis(
    y_low: float, y_high: float, place: _Place, x_low: float, names: Sequence[str] | None
) -> list[str]:
    ticks = (
        [(float(i), name) for i, name in enumerate(names)]
        if names is not None
        else [(y, f"{y:.4g}") for y in (y_low, (y_low + y_high) / 2, y_high)]
    )
    lines = []
    for y, name in ticks:
        if y_low <= y <= y_high:
            _, down = place(x_low, y)
            lines.append(
                f'<line x1="{_LEFT}" x2="{_WIDTH - 12}" y1="{down}" y2="{down}"/>'
                f'<text x="{_LEFT - 6}" y="{down + 4}" text-anchor="end">{escape(name)}</text>'
            )
    return lines


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
