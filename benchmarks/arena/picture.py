"""The picture of the arena: what methods come to against the rate that they start with."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence

from benchmarks.arena.methods import METHODS, OURS
from benchmarks.arena.plan import STARTS
from benchmarks.arena.tables import ArenaResults
from dynhp.report.svg import Canvas, text
from dynhp_pyg.paper.document import Figure

__all__ = ["start_figures"]

_CANVAS = Canvas(height=300, top=52, bottom=40, right=40)
_INK: Mapping[str, str] = {
    OURS: "stroke: var(--line); stroke-width: 4",
    "leave alone": "stroke: var(--gap)",
    "WSD": "stroke: var(--up)",
    "ReduceLROnPlateau": "stroke: var(--down); stroke-dasharray: 6 3",
    "GreedyLR": "stroke: var(--up); stroke-dasharray: 2 3",
    "AdaGrid's settings": "stroke: var(--dim); stroke-dasharray: 6 3",
    "Optuna: TPE, pruned": "stroke: var(--dim); stroke-dasharray: 2 3",
}
"""Those that are run from all starts, and how their lines are drawn."""

Line = Mapping[str, float]
"""The mean of a method by start."""


def start_figures(results: ArenaResults) -> tuple[Figure, ...]:
    """A picture for each task of which our preset and another method have results."""
    figures = []
    for task in results.tasks:
        lines = {name: _line(results, name, task) for name in _INK}
        there = {name: line for name, line in lines.items() if len(line) == len(STARTS)}
        if OURS in there and len(there) > 1:
            title = f"{task}: the test value against the rate at the start"
            figures.append(
                Figure(
                    name=f"starts_{task}",
                    title=title,
                    svg=_drawn(there, title),
                    note="Means over seeds. What lies far below the others is drawn at the lower "
                    "edge. Costs differ: see there.",
                )
            )
    return tuple(figures)


def _line(results: ArenaResults, name: str, task: str) -> Line:
    means = {}
    for start in STARTS:
        values = [entry.value for entry in results.entries(METHODS[name], task, start).values()]
        if values:
            means[start] = statistics.fmean(values)
    return means


def _drawn(lines: Mapping[str, Line], title: str) -> str:
    values = [value for line in lines.values() for value in line.values()]
    top, bottom = max(values), _lower_end(values)
    far = math.log(max(STARTS.values()))

    def place(start: str, value: float) -> tuple[float, float]:
        across = (math.log(STARTS[start]) / far + 1) / 2
        share = (top - max(bottom, value)) / (top - bottom) if top > bottom else 0.5
        return _CANVAS.across(across), _CANVAS.down(share)

    ticks = dict.fromkeys((top, (top + bottom) / 2, bottom))
    parts = [_CANVAS.grid_line(place("good", value)[1], f"{value:.4g}") for value in ticks]
    parts += [
        text(place(start, top)[0], _CANVAS.height - 22, _short(start), anchor="middle")
        for start in STARTS
    ]
    parts.append(text(_CANVAS.left, _CANVAS.height - 6, "the rate at the start"))
    for number, (name, line) in enumerate(reversed(lines.items())):
        points = [place(start, value) for start, value in line.items()]
        drawn = " ".join(f"{x},{y}" for x, y in points)
        parts.append(f'<polyline style="{_INK[name]}" points="{drawn}"/>')
        if name == OURS:
            dot = '<circle style="fill: var(--line)"'
            parts += [f'{dot} cx="{x}" cy="{y}" r="5"/>' for x, y in points]
        parts += _legend(name, len(lines) - 1 - number)
    return _CANVAS.picture(parts, label=title)


def _legend(name: str, number: int) -> Sequence[str]:
    """Four names in a row above the picture."""
    x, y = 20 + 172 * (number % 4), 16 + 18 * (number // 4)
    line = f'<polyline style="{_INK[name]}" points="{x},{y} {x + 26},{y}"/>'
    return line, text(x + 32, y + 4, name)


def _short(start: str) -> str:
    return start.replace(" times too ", "× ")


def _lower_end(values: Sequence[float]) -> float:
    """Where the axis ends: what diverged would press all others into a line."""
    top = max(values)
    return max(min(values), top - 3 * (top - statistics.median(values)))
