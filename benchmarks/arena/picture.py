"""Pictures of the arena: what methods come to against the rate that they start with."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from benchmarks.arena.methods import METHODS, OURS
from benchmarks.arena.plan import STARTS
from benchmarks.arena.tables import ArenaResults
from benchmarks.paper.document import Figure
from benchmarks.paper.svg import Canvas, text

__all__ = ["NAMES", "all_tasks_figure", "start_figures"]

_CANVAS = Canvas(height=300, top=52, bottom=40, right=40)
_INK: Mapping[str, str] = {
    OURS: "stroke: var(--line); stroke-width: 4",
    "leave alone": "stroke: var(--gap)",
    "WSD alone": "stroke: var(--up)",
    "ReduceLROnPlateau": "stroke: var(--down); stroke-dasharray: 6 3",
    "GreedyLR": "stroke: var(--up); stroke-dasharray: 2 3",
    "AdaGrid's settings": "stroke: var(--dim); stroke-dasharray: 6 3",
    "Optuna, then WSD": "stroke: var(--dim); stroke-dasharray: 2 3",
}
"""Those that are drawn, and how: each at the starts from which it is run."""

_WELL_KNOWN = (OURS, "leave alone", "WSD alone", "ReduceLROnPlateau", "Optuna, then WSD")
_WIDE = Canvas(width=860, left=50, right=0, top=52, bottom=24)
_IN_A_ROW, _ROW, _GAP = 4, 200, 22
"""Panels side by side, and how high each is with the gap below it."""

NAMES: Mapping[str, str] = {
    "clouds-pointnet": "point clouds, PointNet",
    "masks-unet": "masks, U-Net",
    "spirals-flow": "spirals, flow",
    "weather-tcn": "weather, TCN",
    "visits-factors": "visits, factors",
    "products-sage": "products, GraphSAGE",
    "photograph-siren": "photograph, sines",
}
"""The tasks for confirmation as people call them."""

Line = Mapping[str, float]
"""The mean of a method by start."""


def start_figures(results: ArenaResults) -> tuple[Figure, ...]:
    """A picture for each task of which our preset and another method have results."""
    figures = []
    for task in results.tasks:
        there = _there(results, task, _INK)
        if len(there) > 1:
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


def _there(results: ArenaResults, task: str, names: Iterable[str]) -> dict[str, Line]:
    """The methods that have results from all of their starts; none where ours has not."""
    lines = {name: _line(results, name, task) for name in names}
    there = {name: line for name, line in lines.items() if len(line) == len(METHODS[name].starts)}
    return there if OURS in there else {}


def _line(results: ArenaResults, name: str, task: str) -> Line:
    means = {}
    for start in METHODS[name].starts:
        values = [entry.value for entry in results.entries(METHODS[name], task, start).values()]
        if values:
            means[start] = statistics.fmean(values)
    return means


def all_tasks_figure(results: ArenaResults) -> tuple[Figure, ...]:
    """One picture of all tasks side by side, of the methods that people know; none for one task."""
    panels = {task: _there(results, task, _WELL_KNOWN) for task in results.tasks}
    whole = {task: lines for task, lines in panels.items() if len(lines) > 1}
    if len(whole) < 2:
        return ()
    names = [name for name in _WELL_KNOWN if any(name in lines for lines in whole.values())]
    title = "The test value against the rate at the start, by task"
    parts = [part for number, name in enumerate(names) for part in _legend(name, number, 5)]
    rows = math.ceil(len(whole) / _IN_A_ROW)
    picture = replace(_WIDE, height=_WIDE.top + rows * _ROW)
    step = (_WIDE.width - _WIDE.left) / min(len(whole), _IN_A_ROW)
    for number, (task, lines) in enumerate(whole.items()):
        row, column = divmod(number, _IN_A_ROW)
        begin = _WIDE.left + column * step
        end = begin + step - _WIDE.left - 6
        panel = replace(
            _WIDE,
            left=round(begin),
            right=round(_WIDE.width - end),
            top=_WIDE.top + row * _ROW,
            height=_WIDE.top + (row + 1) * _ROW - _GAP,
        )
        parts.append(
            text(panel.across(0.5), panel.top - 14, NAMES.get(task, task), anchor="middle")
        )
        parts += _panel(panel, lines, ticks=2)
        shown = {"30 times too low": "÷30", "good": "good", "30 times too high": "×30"}
        for start, name in shown.items():
            x = _across(panel, start)
            parts.append(text(x, panel.height - panel.bottom + 16, name, anchor="middle"))
    note = "Means over seeds. What lies far below the others is drawn at the lower edge."
    svg = picture.picture(parts, label=title)
    return (Figure(name="starts", title=title, svg=svg, note=note),)


def _drawn(lines: Mapping[str, Line], title: str) -> str:
    parts = [
        text(_across(_CANVAS, start), _CANVAS.height - 22, _short(start), anchor="middle")
        for start in STARTS
    ]
    parts.append(text(_CANVAS.left, _CANVAS.height - 6, "the rate at the start"))
    parts += [part for number, name in enumerate(lines) for part in _legend(name, number)]
    return _CANVAS.picture([*_panel(_CANVAS, lines, ticks=3), *parts], label=title)


def _panel(canvas: Canvas, lines: Mapping[str, Line], *, ticks: int) -> list[str]:
    """The lines, ours above the others, and so many lines across with their values."""
    values = [value for line in lines.values() for value in line.values()]
    top, bottom = max(values), _lower_end(values)

    def down(value: float) -> float:
        share = (top - max(bottom, value)) / (top - bottom) if top > bottom else 0.5
        return canvas.down(share)

    marked = dict.fromkeys(top - (top - bottom) * n / (ticks - 1) for n in range(ticks))
    parts = [canvas.grid_line(down(value), f"{value:.4g}") for value in marked]
    for name, line in reversed(lines.items()):
        points = [(_across(canvas, start), down(value)) for start, value in line.items()]
        drawn = " ".join(f"{x},{y}" for x, y in points)
        parts.append(f'<polyline style="{_INK[name]}" points="{drawn}"/>')
        if name == OURS:
            dot = '<circle style="fill: var(--line)"'
            parts += [f'{dot} cx="{x}" cy="{y}" r="4"/>' for x, y in points]
    return parts


def _across(canvas: Canvas, start: str) -> float:
    far = math.log(max(STARTS.values()))
    return canvas.across((math.log(STARTS[start]) / far + 1) / 2)


def _legend(name: str, number: int, in_a_row: int = 4) -> Sequence[str]:
    """The names above the picture."""
    x, y = 20 + 172 * (number % in_a_row), 16 + 18 * (number // in_a_row)
    line = f'<polyline style="{_INK[name]}" points="{x},{y} {x + 26},{y}"/>'
    return line, text(x + 32, y + 4, name)


def _short(start: str) -> str:
    return start.replace(" times too ", "× ")


def _lower_end(values: Sequence[float]) -> float:
    """Where the axis ends: what diverged would press all others into a line."""
    top = max(values)
    return max(min(values), top - 3 * (top - statistics.median(values)))
