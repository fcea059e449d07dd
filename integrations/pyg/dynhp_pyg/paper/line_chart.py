"""A line over epochs, as SVG text."""

from __future__ import annotations

from collections.abc import Sequence

from dynhp.report.svg import Canvas, text

__all__ = ["line_chart"]


def line_chart(points: Sequence[tuple[float, float]], *, label: str, axis: Sequence[float]) -> str:
    """Draw a line through points over epochs.

    Args:
        points: epochs and values, the first one at the left.
        label: what the picture shows.
        axis: the values to label, the same for pictures that are compared.

    >>> line_chart([(0, 1.0), (10, 2.0)], label="loss", axis=(1.0, 2.0)).startswith("<svg")
    True
    """
    canvas = Canvas()
    first, last = points[0][0], points[-1][0]
    low, high = min(axis), max(axis)

    def down(value: float) -> float:
        return canvas.down((high - value) / (high - low))

    line = " ".join(f"{canvas.across((x - first) / (last - first))},{down(y)}" for x, y in points)
    parts = [
        *(canvas.grid_line(down(value), f"{value:.4g}") for value in axis),
        text(canvas.left, canvas.height - 6, f"{first:g}"),
        text(canvas.width - canvas.right, canvas.height - 6, f"{last:g} epochs", anchor="end"),
        f'<polyline points="{line}"/>',
    ]
    return canvas.picture(parts, label=label)
