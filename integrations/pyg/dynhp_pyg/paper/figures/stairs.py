"""A ratio during training drawn as stairs, all pictures over the same axis of ratios."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

__all__ = ["stairs"]

_WIDTH, _HEIGHT, _LEFT, _TOP, _BOTTOM = 720, 200, 70, 12, 26


def stairs(steps: Sequence[tuple[int, float]], *, axis: Sequence[float], title: str) -> str:
    """Draw a value that holds for a number of epochs, then the next; ``axis`` has all values.

    >>> drawn = stairs([(10, 0.5), (10, 0.2)], axis=(0.1, 0.2, 0.5, 0.9), title="demo")
    >>> drawn.startswith("<svg"), drawn.count("<line")
    (True, 4)
    """
    epochs = sum(length for length, _ in steps)
    return "\n".join(
        [
            f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(title)}">',
            *(_rung(value, axis) for value in axis),
            f'<text x="{_LEFT}" y="{_HEIGHT - 6}">0</text>',
            f'<text x="{_WIDTH - 12}" y="{_HEIGHT - 6}" text-anchor="end">{epochs} epochs</text>',
            f'<polyline points="{" ".join(_path(steps, axis, epochs))}"/>',
            "</svg>",
        ]
    )


def _rung(value: float, axis: Sequence[float]) -> str:
    y = _down(value, axis)
    return (
        f'<line x1="{_LEFT}" x2="{_WIDTH - 12}" y1="{y}" y2="{y}"/>'
        f'<text x="{_LEFT - 6}" y="{y + 4}" text-anchor="end">{value:g}</text>'
    )


def _path(steps: Sequence[tuple[int, float]], axis: Sequence[float], epochs: int) -> Iterator[str]:
    start = 0
    for length, value in steps:
        for epoch in (start, start + length):
            across = _LEFT + epoch / epochs * (_WIDTH - _LEFT - 12)
            yield f"{across:.1f},{_down(value, axis)}"
        start += length


def _down(value: float, axis: Sequence[float]) -> float:
    share = (max(axis) - value) / (max(axis) - min(axis))
    return round(_TOP + share * (_HEIGHT - _TOP - _BOTTOM), 1)
