"""Marks over their cost, drawn as SVG by hand so that a report needs nothing from outside."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import TypeAlias

__all__ = ["KINDS", "Point", "scatter"]

KINDS = {
    "published": "published",
    "search": "ours",
    "validation": "ours, validation",
    "gap": "ours, gap",
    "placebo": "ours, placebo",
}
"""The kinds of marks, which a style sheet colours, and what the legend calls them."""

_Down: TypeAlias = Callable[[float], float]
_WIDTH, _HEIGHT, _LEFT, _TOP, _BOTTOM = 870, 330, 56, 34, 74
_SLOT, _STEP = 50, 9  # between methods, and between the marks of one
_STEPS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One mark: the method it belongs to, its kind, its place, and half of its interval."""

    label: str
    kind: str
    relative: float
    auc: float
    half_width: float | None = None


def scatter(points: Sequence[Point], *, title: str) -> str:
    """Draw the AUC of methods from the cheapest to the dearest, about evenly by factors of cost.

    >>> scatter([Point(label="Random", kind="search", relative=1.0, auc=97.0)], title="demo")[:4]
    '<svg'
    """
    low, high = _range(points)

    def down(auc: float) -> float:
        return round(_TOP + (high - auc) / (high - low) * (_HEIGHT - _TOP - _BOTTOM), 1)

    slots = _slots(points)
    lines = [
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(title)}">',
        *_grid(low, high, down),
        *_legend(points),
        *_names(slots, points),
    ]
    for name, middle in slots.items():
        marks = [point for point in points if point.label == name]
        for place, point in enumerate(marks):
            across = round(middle + (place - (len(marks) - 1) / 2) * _STEP, 1)
            lines += _mark(point, across, down)
    return "\n".join([*lines, "</svg>"])


def _range(points: Sequence[Point]) -> tuple[float, float]:
    """From the lowest to the highest with their bars; a bar longer than that is cut off."""
    values = [point.auc for point in points]
    room = max(0.3, max(values) - min(values))
    bars = [min(point.half_width or 0.0, room) for point in points]
    low = min(value - bar for value, bar in zip(values, bars, strict=True))
    high = max(value + bar for value, bar in zip(values, bars, strict=True))
    return low - 0.05 * room, high + 0.05 * room


def _slots(points: Sequence[Point]) -> dict[str, float]:
    """Where each method stands across, moved to the right where another is too near."""
    cost = {point.label: point.relative for point in points}
    most = max(9.0, *cost.values())
    width = _WIDTH - _LEFT - 24 - 4 * _SLOT  # the last four may cost the same
    slots, last = {}, -math.inf
    for name in sorted(cost, key=lambda name: cost[name]):
        share = math.log(max(1.0, cost[name])) / math.log(most)
        last = max(_LEFT + 24 + share * width, last + _SLOT)
        slots[name] = round(last, 1)
    return slots


def _grid(low: float, high: float, down: _Down) -> Iterator[str]:
    step = next((step for step in _STEPS if (high - low) / step <= 8), 50.0)
    for place in range(math.ceil(low / step), math.floor(high / step) + 1):
        y = down(place * step)
        yield (
            f'<line x1="{_LEFT}" x2="{_WIDTH - 8}" y1="{y}" y2="{y}"/>'
            f'<text x="{_LEFT - 6}" y="{y + 4}" text-anchor="end">{place * step:.1f}</text>'
        )
    yield f'<text x="12" y="{_TOP - 20}">AUC, %</text>'


def _legend(points: Sequence[Point]) -> Iterator[str]:
    across = 150
    for kind, name in KINDS.items():
        if any(point.kind == kind for point in points):
            yield f'<circle class="{kind}" cx="{across}" cy="{_TOP - 24}" r="4"/>'
            yield f'<text x="{across + 9}" y="{_TOP - 20}">{name}</text>'
            across += 40 + 6 * len(name)


def _names(slots: dict[str, float], points: Sequence[Point]) -> Iterator[str]:
    """Under each method its name, and its cost where that is not the one before."""
    cost = {point.label: f"{point.relative:.2f}" for point in points}
    y, before = _HEIGHT - _BOTTOM + 16, ""
    for name, across in slots.items():
        yield f'<text x="{across}" y="{y}" text-anchor="middle">{escape(name)}</text>'
        if cost[name] != before:
            before = cost[name]
            yield f'<text x="{across}" y="{y + 18}" text-anchor="middle">{before}</text>'
    middle = _WIDTH / 2
    yield f'<text x="{middle}" y="{_HEIGHT - 14}" text-anchor="middle">relative epochs</text>'


def _mark(point: Point, across: float, down: _Down) -> Iterator[str]:
    told = f"{point.label}, {KINDS[point.kind]}: {point.auc:.2f}"
    if point.half_width is not None:
        told += f" ± {point.half_width:.2f}"
        top = max(float(_TOP), down(point.auc + point.half_width))
        foot = min(float(_HEIGHT - _BOTTOM), down(point.auc - point.half_width))
        yield f'<line class="{point.kind}" x1="{across}" x2="{across}" y1="{top}" y2="{foot}"/>'
    yield (
        f'<circle class="{point.kind}" cx="{across}" cy="{down(point.auc)}" r="4">'
        f"<title>{escape(told)}</title></circle>"
    )
