"""Campaigns as tables of a page: means over seeds, each with its interval, drawn and in numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any, NamedTuple

from dynhp.records.text import label
from dynhp.report.student import t_quantile

if TYPE_CHECKING:
    from dynhp.campaign.results import Finished

__all__ = ["ReportedCampaign", "campaign_section"]

_MOST_ROWS = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedCampaign:
    """A campaign of a report: its name, the runs that ended, and whether all have.

    >>> ReportedCampaign(name="seeds", runs=()).name
    'seeds'
    """

    name: str
    runs: Sequence[Finished]
    is_over: bool = False


class _Mean(NamedTuple):
    """A mean with its interval; without one where there is a single run."""

    mean: float
    half: float | None

    def __str__(self) -> str:
        return f"{self.mean:.4g}" + ("" if self.half is None else f" ± {self.half:.2g}")


def campaign_section(campaign: ReportedCampaign) -> str:
    """The HTML of a campaign: a row for all runs that differ in their seed alone.

    >>> "No run has ended" in campaign_section(ReportedCampaign(name="new", runs=()))
    True
    """
    title = f'<section class="campaign"><h2>Campaign {escape(campaign.name)}</h2>'
    if not campaign.runs:
        return f"{title}<p>No run has ended.</p></section>"
    groups = _groups(campaign.runs)
    settings = list(dict.fromkeys(name for key in groups for name, _ in key))
    results = list(dict.fromkeys(n for runs in groups.values() for r in runs for n in _numbers(r)))
    means = [{name: _mean(runs, name) for name in results} for runs in groups.values()]
    failed = sum(run.error is not None for run in campaign.runs)
    head = "".join(f"<th>{escape(name)}</th>" for name in (*settings, "runs", *results))
    rows = [
        _row(dict(key), settings, runs, cells, means)
        for (key, runs), cells in zip(groups.items(), means, strict=True)
    ]
    note = f"{len(campaign.runs)} runs, {failed} failed. Intervals: 95 %, Student's t over runs."
    if len(rows) > _MOST_ROWS:
        note += f" {len(rows) - _MOST_ROWS} of {len(rows)} rows are left out; results.csv has all."
    errors = dict.fromkeys(str(run.error) for run in campaign.runs if run.error is not None)
    listed = "".join(f"<li>{escape(error[:300])}</li>" for error in list(errors)[:10])
    return (
        f'{title}<p class="note">{note}</p><div class="wide"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(rows[:_MOST_ROWS])}</tbody></table></div>"
        + (f'<p class="note">What failed:</p><ul class="note">{listed}</ul>' if listed else "")
        + "</section>"
    )


def _groups(runs: Sequence[Finished]) -> dict[tuple[tuple[str, str], ...], list[Finished]]:
    """The runs by their settings, seeds left out."""
    groups: dict[tuple[tuple[str, str], ...], list[Finished]] = {}
    for run in runs:
        key = tuple((n, _text(v)) for n, v in run.settings.items() if not n.endswith("seed"))
        groups.setdefault(key, []).append(run)
    return groups


def _text(value: Any) -> str:
    return label(value) if isinstance(value, bool | int | float | str | None) else str(value)


def _numbers(run: Finished) -> list[str]:
    result: Mapping[str, Any] = run.result or {}
    return [n for n, v in result.items() if isinstance(v, int | float) and not isinstance(v, bool)]


def _mean(runs: Sequence[Finished], name: str) -> _Mean | None:
    values = [float(run.result[name]) for run in runs if run.result and name in _numbers(run)]
    if not values:
        return None
    count = len(values)
    if count == 1:
        return _Mean(values[0], None)
    half = t_quantile(0.025, count - 1) * stdev(values) / math.sqrt(count)
    return _Mean(fmean(values), half)


def _row(
    key: Mapping[str, str],
    settings: Sequence[str],
    runs: Sequence[Finished],
    cells: Mapping[str, _Mean | None],
    means: Sequence[Mapping[str, _Mean | None]],
) -> str:
    known = "".join(f"<td>{escape(key.get(name, ''))}</td>" for name in settings)
    failed = sum(run.error is not None for run in runs)
    count = f"{len(runs)}" + (f" ({failed} failed)" if failed else "")
    drawn = "".join(
        "<td></td>"
        if mean is None
        else f"<td>{mean}{_interval(mean, [m[name] for m in means])}</td>"
        for name, mean in cells.items()
    )
    return f"<tr>{known}<td>{count}</td>{drawn}</tr>"


def _interval(mean: _Mean, column: Sequence[_Mean | None]) -> str:
    """The interval as a small picture, on the scale of its column."""
    ends = [each.mean + sign * (each.half or 0.0) for each in column if each for sign in (-1, 1)]
    low, high = min(ends), max(ends)
    if not high > low:
        return ""

    def x(value: float) -> float:
        return round(3 + 94 * (value - low) / (high - low), 1)

    half = mean.half or 0.0
    return (
        '<svg class="interval" viewBox="0 0 100 10" aria-hidden="true">'
        f'<line x1="{x(mean.mean - half)}" x2="{x(mean.mean + half)}" y1="5" y2="5"/>'
        f'<circle cx="{x(mean.mean)}" cy="5" r="3"/></svg>'
    )
