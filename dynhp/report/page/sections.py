"""The parts of a page that are text and tables: headline, cost, signal or noise, campaigns."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any, NamedTuple

from dynhp.planning.budget import spent
from dynhp.planning.schedule import schedule_of
from dynhp.records.history import measured_on
from dynhp.records.text import label, values_text
from dynhp.records.units import one_of
from dynhp.report.page.reported import ReportedCampaign, ReportedRun
from dynhp.report.signal import Signal
from dynhp.report.student import t_quantile
from dynhp.report.text import cost_parts, nothing_chosen, summary

if TYPE_CHECKING:
    from dynhp.campaign.results import Finished

__all__ = ["best_of", "campaign_section", "compare_section", "cost_section", "head_section"]
__all__ += ["settings_section", "signal_section", "status_of", "under_way"]

VERDICTS = {
    "effect": "signal",
    "luck": "noise",
    "unknown": "cannot tell",
    "misled": "misleading",
}
"""What the answers of the luck report are called on a page."""
_MOST_UNDER_WAY = 12  # tries of a round that has not ended
_LONGEST = 200_000  # characters of a schedule that is written into the page
_MOST_ROWS = 400  # of the table of a campaign


def status_of(run: ReportedRun) -> str:
    """How far a run is, in words.

    >>> status_of(ReportedRun(name="first", history=(), epochs=10))
    'epoch 0 of 10: going on, or broken off'
    """
    if run.epochs is None:
        return f"{run.done} {run.unit}; how many were planned is not known"
    if run.is_over:
        return f"finished, {run.done} {run.unit}"
    return f"{one_of(run.unit)} {run.done} of {run.epochs}: going on, or broken off"


def best_of(run: ReportedRun) -> tuple[str, float, int] | None:
    """The best measurement of what the run was judged by: the metric, its value, the epoch."""
    match = re.fullmatch(
        r"(?:smoothed\()?(lowest|highest)\((?:'([^']*)'|\"([^\"]*)\")\)(?:, [^()]*\))?",
        run.settings.get("criterion", ""),
    )
    if match is None:
        return None
    name = match[2] or match[3]
    known = [(m[name], number + 1) for number, m in measured_on(run.history) if name in m]
    known = [(value, epoch) for value, epoch in known if math.isfinite(value)]
    if not known:
        return None
    sign = 1 if match[1] == "highest" else -1
    value, epoch = max(known, key=lambda each: sign * each[0])
    return name, value, epoch


def head_section(title: str, runs: Sequence[ReportedRun], signals: Sequence[Signal]) -> str:
    """Title, the one sentence, and the four figures of a single run."""
    several = f"{len(runs)} runs side by side."
    headline = several if len(runs) > 1 else signals[0].headline if signals else ""
    status = status_of(runs[0]) if len(runs) == 1 else ""
    head = (
        f'<header><p class="over">dynhp{" · " + escape(status) if status else ""}</p>'
        f"<h1>{escape(title)}</h1>"
        + (f'<p class="headline">{escape(headline)}</p>' if headline else "")
        + "".join(f'<p class="hint">{escape(hint)}</p>' for run in runs for hint in run.hints)
        + "</header>"
    )
    return head + (_tiles(runs[0], signals[0]) + _table(runs[0].facts) if len(runs) == 1 else "")


def _tiles(run: ReportedRun, signal: Signal) -> str:
    cost, best = spent(run.history), best_of(run)
    tried = sum(bool(round_.tries) for round_ in run.history)
    tiles = [
        ("cost", cost.in_runs(run.epochs), f"{cost.total} {cost.unit} in all"),
        ("rounds", str(tried), f"the value changed in {signal.luck.changes}"),
        ("the tries say", VERDICTS[signal.verdict], _chance(signal)),
    ]
    if nothing_chosen(run.history):
        tiles[-1] = ("the tries say", "nothing", "each round had one value")
    if best is not None:
        tiles.insert(0, (f"best {best[0]}", f"{best[1]:.5g}", f"at {one_of(run.unit)} {best[2]}"))
    cells = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(value)}<small>{escape(more)}</small></dd></div>"
        for name, value, more in tiles
    )
    return f'<dl class="tiles">{cells}</dl>'


def _chance(signal: Signal) -> str:
    """How likely luck alone is, in words; a number of draws cannot show a chance of nothing."""
    chance = signal.luck.chance
    if chance is None:
        return ""
    return f"p {'< 0.001' if chance < 0.001 else f'= {chance:.2g}'} if all values were equal"


def compare_section(runs: Sequence[ReportedRun], signals: Sequence[Signal]) -> str:
    """Several runs in a table: how far, what they came to, what they cost."""
    if len(runs) < 2:
        return ""
    rows = []
    for place, (run, signal) in enumerate(zip(runs, signals, strict=True)):
        best, cost = best_of(run), spent(run.history)
        last = values_text(run.history[-1].candidate) if run.history else ""
        cells = (
            status_of(run),
            "" if best is None else f"{best[0]} {best[1]:.5g} at {one_of(run.unit)} {best[2]}",
            last,
            f"{cost.in_runs(run.epochs)}, {cost.total} {cost.unit}",
            f"{signal.luck.changes} of {signal.luck.rounds}",
            "nothing was chosen" if nothing_chosen(run.history) else VERDICTS[signal.verdict],
        )
        first = f'<td><i class="dot" data-run="{place}"></i>{escape(run.name)}</td>'
        rows.append(f"<tr>{first}{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>")
    names = ("run", "how far", "best", "value at the end", "cost", "changes", "tries say")
    return f'<section id="compare">{_columns(names, rows)}</section>'


def _columns(names: Iterable[str], rows: Iterable[str]) -> str:
    """A table with a line of names above its rows."""
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    return (
        f'<div class="wide"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def under_way(runs: Sequence[ReportedRun]) -> str:
    """The tries so far of rounds that have not ended, a line for each run that has some."""
    lines = []
    for run in runs:
        tries = [
            f"{values_text(each.candidate)} "
            + (f"{each.score:.4g}" if each.error is None else "failed")
            for each in run.unfinished[:_MOST_UNDER_WAY]
        ]
        if len(run.unfinished) > len(tries):
            tries.append(f"and {len(run.unfinished) - len(tries)} more")
        name = f"{run.name}: round" if len(runs) > 1 else "Round"
        text = f"{name} {len(run.history)} is under way: {', '.join(tries)}."
        lines += [f'<p class="note">{escape(text)}</p>'] if tries else []
    return "".join(lines)


def cost_section(runs: Sequence[ReportedRun]) -> str:
    """What was trained: main line, tries, self-check, abandoned; and against the plan."""
    planned = [run.plan.most.total for run in runs if run.plan is not None]
    most = max(1, *(spent(run.history).total for run in runs), *planned)
    bars = "".join(_bar(run, most, named=len(runs) > 1) for run in runs)
    return f'<section id="cost"><h2>Cost</h2>{bars}</section>'


def _bar(run: ReportedRun, most: int, *, named: bool) -> str:
    cost = spent(run.history)
    begun = sum(each.epochs for each in run.unfinished)
    more = f" The round under way has {begun} {run.unit} of tries besides." if begun else ""
    shown = {name: epochs for name, epochs in cost_parts(run.history).items() if epochs}
    drawn = "".join(
        f'<i class="{name.replace(" ", "-")}" style="width:{100 * epochs / most:.2f}%"></i>'
        for name, epochs in shown.items()
    )
    legend = "".join(
        f'<li><i class="{name.replace(" ", "-")}"></i>{name} <b>{epochs}</b></li>'
        for name, epochs in shown.items()
    )
    plan, mark = "The plan is not known.", ""
    if run.plan is not None:
        plan = f"Plan: {run.plan}."
        mark = f'<i class="plan" style="left:{100 * run.plan.most.total / most:.2f}%"></i>'
    return (
        (f"<h3>{escape(run.name)}</h3>" if named else "")
        + f'<div class="stack">{drawn}{mark}</div><ul class="legend">{legend}</ul>'
        f'<p class="note">Spent: {cost.text(run.epochs)}.{more} {escape(plan)}</p>'
    )


def signal_section(runs: Sequence[ReportedRun], signals: Sequence[Signal]) -> str:
    """Whether the choices were signal or noise, and the one sentence of advice."""
    parts = []
    for run, signal in zip(runs, signals, strict=True):
        name = f"<h3>{escape(run.name)}</h3>" if len(runs) > 1 else ""
        lines = summary(run.history).splitlines()
        spread = [] if nothing_chosen(run.history) else [_spread(signal)]
        rest = "".join(f"<p>{escape(line)}</p>" for line in (*spread, *lines[1:]))
        parts.append(f'{name}<p class="advice">{escape(signal.advice)}</p>{rest}')
    return f'<section id="signal"><h2>Signal or noise</h2>{"".join(parts)}</section>'


def _spread(signal: Signal) -> str:
    text = f"Scores of a round's candidates spread by {signal.between:.2g}"
    if signal.ratio is None:
        text += "; the noise cannot be estimated from this run."
    else:
        text += (
            f", {signal.ratio:.2g} times as far as the noise alone spreads equal ones "
            f"({signal.equal:.2g}, by how differences jump from round to round)."
        )
    if not signal.luck.changes:
        return text
    back = f"{signal.returns} of {signal.luck.changes} changes went back to a value left before."
    return f"{text} {back}"


def settings_section(runs: Sequence[ReportedRun]) -> str:
    """Settings, versions and the command of each run, and what its file does not hold."""
    parts = "".join(_settings(run, named=len(runs) > 1) for run in runs)
    return f'<section id="settings"><h2>To repeat it</h2>{parts}</section>'


def _settings(run: ReportedRun, *, named: bool) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in run.versions.items())
    facts: dict[str, str] = {**(run.facts if named else {}), **run.settings}
    if versions:
        facts["versions"] = versions
    command = f'<pre class="command">{escape(run.command)}</pre>' if run.command else ""
    absent = f"Not known here: {', '.join(run.missing)}." if run.missing else ""
    if "the versions" in run.missing:  # a checkpoint has none, nor has a history
        absent += " A journal of the run, Journal among its callbacks, holds versions and command."
    note = f'<p class="note">{escape(absent)}</p>' if absent else ""
    body = f"{command}{_table(facts)}{note}"
    if named:
        body = f"<details open><summary>{escape(run.name)}</summary>{body}</details>"
    if not run.history:
        return body
    schedule = schedule_of(run.history).to_json()
    if len(schedule) > _LONGEST:
        long = "The schedule is long: schedule_of(history).to_json() gives it."
        return f'{body}<p class="note">{long}</p>'
    return (
        f"{body}<details><summary>the schedule as JSON</summary><pre>{escape(schedule)}</pre>"
        "</details>"
    )


def _table(facts: Mapping[str, str]) -> str:
    rows = (f"<tr><th>{escape(k)}</th><td>{escape(v)}</td></tr>" for k, v in facts.items())
    return f'<div class="wide"><table class="facts">{"".join(rows)}</table></div>' if facts else ""


class _Mean(NamedTuple):
    """A mean and half of its interval, which is 0 for a single run."""

    mean: float
    half: float
    runs: int

    def __str__(self) -> str:
        return f"{self.mean:.4g}" + (f" ± {self.half:.2g}" if self.runs > 1 else "")

    def picture(self, low: float, high: float) -> str:
        """The interval, drawn on the scale of its column."""
        if not high > low:
            return ""
        left, middle, right = (
            round(3 + 94 * (value - low) / (high - low), 1)
            for value in (self.mean - self.half, self.mean, self.mean + self.half)
        )
        return (
            '<svg class="interval" viewBox="0 0 100 10" aria-hidden="true">'
            f'<line x1="{left}" x2="{right}" y1="5" y2="5"/>'
            f'<circle cx="{middle}" cy="5" r="3"/></svg>'
        )


def campaign_section(campaign: ReportedCampaign) -> str:
    """The HTML of a campaign: a row for all runs that differ in their seed alone.

    >>> "No run has ended" in campaign_section(ReportedCampaign(name="new", runs=()))
    True
    """
    title = f'<section class="campaign"><h2>Campaign {escape(campaign.name)}</h2>'
    if not campaign.runs:
        return f"{title}<p>No run has ended.</p></section>"

    groups: dict[str, list[Finished]] = {}
    for run in campaign.runs:
        groups.setdefault(repr(sorted(_besides_seeds(run).items())), []).append(run)

    settings = list(dict.fromkeys(name for run in campaign.runs for name in _besides_seeds(run)))
    results = list(dict.fromkeys(n for runs in groups.values() for r in runs for n in _numbers(r)))
    means = {key: {name: _mean(runs, name) for name in results} for key, runs in groups.items()}
    scales = {}
    for name in results:
        column = [each for row in means.values() if (each := row[name]) is not None]
        ends = [mean + sign * half for mean, half, _ in column for sign in (-1, 1)]
        scales[name] = min(ends), max(ends)

    rows = []
    for key, runs in groups.items():
        failed = sum(run.error is not None for run in runs)
        known = _besides_seeds(runs[0])
        texts = [escape(label(known[name]) if name in known else "") for name in settings]
        texts.append(f"{len(runs)}" + (f" ({failed} failed)" if failed else ""))
        for name, mean in means[key].items():
            texts.append("" if mean is None else f"{mean}{mean.picture(*scales[name])}")
        rows.append(f"<tr>{''.join(f'<td>{text}</td>' for text in texts)}</tr>")

    failed = sum(run.error is not None for run in campaign.runs)
    note = f"{len(campaign.runs)} runs, {failed} failed. Intervals: 95 %, Student's t over runs."
    if len(rows) > _MOST_ROWS:
        note += f" {len(rows) - _MOST_ROWS} of {len(rows)} rows are left out; results.csv has all."
    errors = dict.fromkeys(str(run.error) for run in campaign.runs if run.error is not None)
    listed = "".join(f"<li>{escape(error[:300])}</li>" for error in list(errors)[:10])
    return (
        f'{title}<p class="note">{note}</p>'
        + _columns((*settings, "runs", *results), rows[:_MOST_ROWS])
        + (f'<p class="note">What failed:</p><ul class="note">{listed}</ul>' if listed else "")
        + "</section>"
    )


def _besides_seeds(run: Finished) -> dict[str, Any]:
    """The settings of a run, without those that only name its random numbers."""
    return {
        name: value
        for name, value in run.settings.items()
        if name != "seed" and not name.endswith("_seed")
    }


def _numbers(run: Finished) -> dict[str, float]:
    """The results of a run that are numbers."""
    return {
        name: float(value)
        for name, value in (run.result or {}).items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }


def _mean(runs: Sequence[Finished], name: str) -> _Mean | None:
    known = [_numbers(run) for run in runs]
    values = [numbers[name] for numbers in known if name in numbers]
    count = len(values)
    if count < 2:
        return _Mean(values[0], 0.0, 1) if values else None
    half = t_quantile(0.025, count - 1) * stdev(values) / math.sqrt(count)
    return _Mean(fmean(values), half, count)
