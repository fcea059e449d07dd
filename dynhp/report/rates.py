"""The picture of a search for a rate: the rates that were tried, their scores, the one to take."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from dynhp.planning.budget import HasHistory
from dynhp.planning.rates import RateSearch, rate_search
from dynhp.records import Round
from dynhp.report.svg import Canvas, circle, standalone, text

__all__ = ["rate_chart"]

_STYLE = """circle.try { fill: var(--dim) } circle.kept { fill: var(--line) }
line.taken { stroke: var(--gap); stroke-width: 2 }
"""


def rate_chart(search: RateSearch | Sequence[Round] | HasHistory) -> str:
    """Draw rates against scores as a file in SVG, the best tried and the one to take marked.

    It takes what ``find_rate`` gives, or the loop or history of a run that began with a search.

    Scores far below the others are drawn at the lower edge, tries that failed too.

    >>> search = RateSearch(name="lr", rates=(0.1, 1.0), scores=(-0.5, math.nan), start=0.1,
    ...                     best=0.1, rate=0.0316, epochs=6)
    >>> rate_chart(search).startswith("<svg xmlns=")
    True
    """
    if not isinstance(search, RateSearch):
        search = rate_search(search)
    canvas = Canvas(height=260)
    ends = [math.log(rate) for rate in (*search.rates, search.rate)]
    left, right = min(ends), max(ends)
    finite = [score for score in search.scores if math.isfinite(score)] or [0.0]
    top, bottom = max(finite), _lower_end(finite)

    def across(rate: float) -> float:
        return canvas.across((math.log(rate) - left) / (right - left) if right > left else 0.5)

    def down(score: float) -> float:
        shown = max(bottom, score) if math.isfinite(score) else bottom
        return canvas.down((top - shown) / (top - bottom) if top > bottom else 0.5)

    points = " ".join(
        f"{across(rate)},{down(score)}"
        for rate, score in zip(search.rates, search.scores, strict=True)
    )
    taken = across(search.rate)
    parts = [
        *(canvas.grid_line(down(score), f"{score:.4g}") for score in dict.fromkeys((top, bottom))),
        f'<polyline points="{points}"/>',
        f'<line class="taken" x1="{taken}" x2="{taken}" y1="{canvas.top}" '
        f'y2="{canvas.down(1.0)}"/>',
        text(taken, canvas.height - 6, f"{search.name} = {search.rate:g}", anchor="middle"),
        *(
            circle(
                across(rate),
                down(score),
                kind="kept" if rate == search.best else "try",
                radius=5 if rate == search.best else 3,
                title=f"{search.name} = {rate:g}: {score:.5g}",
            )
            for rate, score in zip(search.rates, search.scores, strict=True)
        ),
    ]
    label = f"scores of {len(search.rates)} values of {search.name}; {search.rate:g} is taken"
    return standalone(canvas.picture(parts, label=label), style=_STYLE)


def _lower_end(scores: list[float]) -> float:
    """Where the axis ends: what diverged would press all others into a line."""
    top = max(scores)
    return max(min(scores), top - 3 * (top - statistics.median(scores)))
