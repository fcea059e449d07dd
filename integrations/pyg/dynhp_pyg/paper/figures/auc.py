"""AUC against relative epochs in one column: the published points beside ours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dynhp_pyg.paper.arms import Arm, Column, adagrid, placebo
from dynhp_pyg.paper.chosen import pairs_in
from dynhp_pyg.paper.document import Figure
from dynhp_pyg.paper.figures.scatter import Point, scatter
from dynhp_pyg.paper.protocol import CRITERIA
from dynhp_pyg.paper.published import AUC, EPOCHS, Row, printed
from dynhp_pyg.paper.results import Found

__all__ = ["auc_figures"]

_NOTE = (
    "Bars: 95 % intervals over seeds, cut off where they leave the picture; most of their length "
    "is the luck of the split, which paired differences are mostly free of."
)
_BOTH = " The published AdaGrid is the better of two criteria; ours shows both."


def auc_figures(found: Found, column: Column, *, folded: bool) -> list[Figure]:
    """Draw every method of the paper: in one picture, or ours and theirs by themselves.

    Two where they lie far apart, as on a split that does not leak: one scale would hide both.
    """
    points = list(_points(found, column))
    theirs = [point for point in points if point.kind == "published"]
    ours = [point for point in points if point.kind != "published"]
    if not ours:
        return []
    if not theirs or not _far(ours, theirs):
        return [_figure(column, points, "", folded=folded)]
    return [
        _figure(column, ours, "ours", folded=folded),
        _figure(column, theirs, "published", folded=folded),
    ]


def _far(ours: Sequence[Point], theirs: Sequence[Point]) -> bool:
    low, high = min(point.auc for point in ours), max(point.auc for point in ours)
    return high + 1 < min(point.auc for point in theirs) or low - 1 > max(
        point.auc for point in theirs
    )


def _figure(column: Column, points: Sequence[Point], whose: str, *, folded: bool) -> Figure:
    theirs = whose == "ours" or any(point.kind == "published" for point in points)
    title = f"AUC against relative epochs{whose and f', {whose}'}: {column} negatives"
    name = f"auc_{column.graph}_{column.split.replace('/', '-')}_{column.negatives}"
    return Figure(
        name=f"{name}_{whose}" if whose else name,
        title=title,
        svg=scatter(points, title=title),
        note="" if whose == "published" else _NOTE + (_BOTH if theirs else ""),
        folded=folded,
    )


def _points(found: Found, column: Column) -> Iterator[Point]:
    rows: list[Row] = ["random", *pairs_in(found), "complete"]
    for row in sorted(rows, key=lambda row: EPOCHS[row]):
        label = row.capitalize() if isinstance(row, str) else f"{row[0]}/{row[1]}"
        if printed(found.about) and column in AUC[row]:
            yield Point(label=label, kind="published", relative=EPOCHS[row], auc=AUC[row][column])
        for kind, arm in _arms(row):
            auc = found.mean(column, arm)
            if auc is not None:
                cost = next(iter(found.of(column, arm).values())).relative
                yield Point(
                    label=label,
                    kind=kind,
                    relative=cost,
                    auc=auc.mean,
                    half_width=auc.half_width,
                )


def _arms(row: Row) -> list[tuple[str, Arm]]:
    if isinstance(row, str):
        return [("search", Arm(method=row))]
    return [*((name, adagrid(row, name)) for name in CRITERIA), ("placebo", placebo(row))]
