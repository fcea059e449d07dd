"""The pictures of a report: AUC against relative epochs, and the ratio during training."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain

from benchmarks.paper.compared import CRITERIA, RATIO, Column, adagrid, placebo
from benchmarks.paper.document import Figure
from benchmarks.paper.published import AUC, EPOCHS, Row
from benchmarks.paper.results import Results
from benchmarks.paper.svg import Canvas, circle, text
from benchmarks.paper.tables.ratios import count_changes
from benchmarks.paper.tables.rows import adagrid_pairs, methods_in_row
from dynhp_pyg.runs.spec import RATIOS

__all__ = ["auc_figures", "line_chart", "ratio_figures"]

_NOTE = (
    "Bars: 95 % intervals over seeds, cut off where they leave the picture; most of their length "
    "is the luck of the split, which paired differences are mostly free of."
)
_BOTH = " The published AdaGrid is the better of two criteria; ours shows both."
_LEGEND = {
    "published": "published",
    "search": "ours",
    "validation": "ours, validation",
    "gap": "ours, gap",
    "placebo": "ours, placebo",
}  # by the kind of a mark, which the style sheet colours

_CANVAS = Canvas(width=870, height=330, left=56, right=8, top=34, bottom=74)
_SLOT, _STEP = 50, 9  # between methods, and between the marks of one
_GRID_STEPS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """One mark: the method it belongs to, its kind, its place, and half of its interval."""

    label: str
    kind: str
    relative: float
    auc: float
    half_width: float | None = None


def auc_figures(results: Results, column: Column, *, folded: bool) -> list[Figure]:
    """Draw every method of the paper: in one picture, or our results and the published apart.

    Two where they lie far apart, as on a split that does not leak: one scale would hide both.
    """
    marks = list(_marks(results, column))
    published = [mark for mark in marks if mark.kind == "published"]
    measured = [mark for mark in marks if mark.kind != "published"]
    if not measured:
        return []
    if not published or not _far_apart(measured, published):
        return [_auc_figure(column, marks, "", folded=folded)]
    return [
        _auc_figure(column, measured, "ours", folded=folded),
        _auc_figure(column, published, "published", folded=folded),
    ]


def ratio_figures(results: Results) -> tuple[Figure, ...]:
    """The ratio during training by each criterion, as in the paper's figure.

    Of Cora 80/10/10 with uniform negatives, adapted every 10 epochs after tries of 1.
    """
    column = Column(graph="cora", split="80/10/10", negatives="uniform")
    drawn = []
    for method in (adagrid((10, 1), criterion) for criterion in CRITERIA):
        for seed, result in list(results.by_seed(column, method).items())[:1]:
            title = f"Edge message ratio during training: {method}; {column} negatives, seed {seed}"
            ends = accumulate(epochs for epochs, _ in result.schedule)
            corners = chain.from_iterable(
                ((end - epochs, values[RATIO]), (end, values[RATIO]))
                for end, (epochs, values) in zip(ends, result.schedule, strict=True)
            )
            changes, rounds = count_changes(result.schedule), len(result.schedule)
            drawn.append(
                Figure(
                    name=f"ratio_{method.criterion}",
                    title=title,
                    svg=line_chart(list(corners), axis=RATIOS, label=title),
                    note=f"The ratio changed {changes} times in {rounds} rounds.",
                )
            )
    return tuple(drawn)


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


def _far_apart(measured: Sequence[Mark], published: Sequence[Mark]) -> bool:
    here, there = ([mark.auc for mark in marks] for marks in (measured, published))
    return max(here) + 1 < min(there) or min(here) - 1 > max(there)


def _auc_figure(column: Column, marks: Sequence[Mark], whose: str, *, folded: bool) -> Figure:
    compared = whose == "ours" or any(mark.kind == "published" for mark in marks)
    title = f"AUC against relative epochs{whose and f', {whose}'}: {column} negatives"
    name = f"auc_{column.graph}_{column.split.replace('/', '-')}_{column.negatives}"
    return Figure(
        name=f"{name}_{whose}" if whose else name,
        title=title,
        svg=_scatter(marks, title=title),
        note="" if whose == "published" else _NOTE + (_BOTH if compared else ""),
        folded=folded,
    )


def _marks(results: Results, column: Column) -> Iterator[Mark]:
    rows: list[Row] = ["random", *adagrid_pairs(results), "complete"]
    for row in sorted(rows, key=lambda row: EPOCHS[row]):
        label = row.capitalize() if isinstance(row, str) else f"{row[0]}/{row[1]}"
        if results.of_published_model and column in AUC[row]:
            yield Mark(label=label, kind="published", relative=EPOCHS[row], auc=AUC[row][column])
        placebos = {} if isinstance(row, str) else {"placebo": placebo(row)}
        for kind, method in {**methods_in_row(row), **placebos}.items():
            auc = results.mean(column, method)
            if auc is not None:
                yield Mark(
                    label=label,
                    kind=kind or "search",
                    relative=next(iter(results.by_seed(column, method).values())).relative,
                    auc=auc.mean,
                    half_width=auc.half_width,
                )


def _scatter(marks: Sequence[Mark], *, title: str) -> str:
    """Draw the AUC of methods from the cheapest to the dearest, about evenly by factors of cost."""
    low, high = _auc_range(marks)
    slots = _slots(marks)
    parts = [*_grid(low, high), *_legend(marks), *_names(slots, marks)]
    for name, middle in slots.items():
        group = [mark for mark in marks if mark.label == name]
        for position, mark in enumerate(group):
            across = round(middle + (position - (len(group) - 1) / 2) * _STEP, 1)
            parts += _mark(mark, across, low, high)
    return _CANVAS.picture(parts, label=title)


def _down(auc: float, low: float, high: float) -> float:
    return _CANVAS.down((high - auc) / (high - low))


def _auc_range(marks: Sequence[Mark]) -> tuple[float, float]:
    """From the lowest to the highest with their bars; a bar longer than that is cut off."""
    values = [mark.auc for mark in marks]
    room = max(0.3, max(values) - min(values))
    bars = [min(mark.half_width or 0.0, room) for mark in marks]
    low = min(value - bar for value, bar in zip(values, bars, strict=True))
    high = max(value + bar for value, bar in zip(values, bars, strict=True))
    return low - 0.05 * room, high + 0.05 * room


def _slots(marks: Sequence[Mark]) -> dict[str, float]:
    """Where each method stands across, moved to the right where another is too near."""
    cost = {mark.label: mark.relative for mark in marks}
    most = max(9.0, *cost.values())
    start = _CANVAS.left + 24
    width = _CANVAS.width - start - 4 * _SLOT  # the last four may cost the same
    slots, last = {}, -math.inf
    for name in sorted(cost, key=lambda name: cost[name]):
        share = math.log(max(1.0, cost[name])) / math.log(most)
        last = max(start + share * width, last + _SLOT)
        slots[name] = round(last, 1)
    return slots


def _grid(low: float, high: float) -> Iterator[str]:
    step = next((step for step in _GRID_STEPS if (high - low) / step <= 8), 50.0)
    for place in range(math.ceil(low / step), math.floor(high / step) + 1):
        yield _CANVAS.grid_line(_down(place * step, low, high), f"{place * step:.1f}")
    yield text(12, _CANVAS.top - 20, "AUC, %")


def _legend(marks: Sequence[Mark]) -> Iterator[str]:
    across = 150
    for kind, name in _LEGEND.items():
        if any(mark.kind == kind for mark in marks):
            yield circle(across, _CANVAS.top - 24, kind=kind, radius=4)
            yield text(across + 9, _CANVAS.top - 20, name)
            across += 40 + 6 * len(name)


def _names(slots: dict[str, float], marks: Sequence[Mark]) -> Iterator[str]:
    """Under each method its name, and its cost where that differs from the cost before it."""
    cost = {mark.label: f"{mark.relative:.2f}" for mark in marks}
    y, before = _CANVAS.height - _CANVAS.bottom + 16, ""
    for name, across in slots.items():
        yield text(across, y, name, anchor="middle")
        if cost[name] != before:
            before = cost[name]
            yield text(across, y + 18, before, anchor="middle")
    yield text(_CANVAS.width / 2, _CANVAS.height - 14, "relative epochs", anchor="middle")


def _mark(mark: Mark, across: float, low: float, high: float) -> Iterator[str]:
    title = f"{mark.label}, {_LEGEND[mark.kind]}: {mark.auc:.2f}"
    if mark.half_width is not None:
        title += f" ± {mark.half_width:.2f}"
        top = max(_CANVAS.down(0.0), _down(mark.auc + mark.half_width, low, high))
        foot = min(_CANVAS.down(1.0), _down(mark.auc - mark.half_width, low, high))
        yield f'<line class="{mark.kind}" x1="{across}" x2="{across}" y1="{top}" y2="{foot}"/>'
    yield circle(across, _down(mark.auc, low, high), kind=mark.kind, radius=4, title=title)
