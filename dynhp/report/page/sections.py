"""The parts of a page that are text and tables: headline, cost, signal or noise, settings."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape

from dynhp.planning.budget import spent
from dynhp.planning.schedule import schedule_of
from dynhp.records.kept import measured_on
from dynhp.records.text import values_text
from dynhp.records.units import one_of
from dynhp.report.page.reported import ReportedRun
from dynhp.report.page.signal import Signal
from dynhp.report.text import nothing_chosen, summary

__all__ = ["best_of", "compare_section", "cost_section", "head_section", "settings_section"]
__all__ += ["signal_section", "status_of", "under_way"]

VERDICTS = {
    "effect": "signal", "luck": "noise", "unknown": "cannot tell", "misled": "misleading"
}  # fmt: skip
"""What the answers of the luck report are called on a page."""
_MOST_UNDER_WAY = 12  # tries of a round that has not ended
_LONGEST = 200_000  # characters of a schedule that is written into the page


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
    match = re.search(
        r"\b(lowest|highest)\((?:'([^']*)'|\"([^\"]*)\")", run.settings.get("criterion", "")
    )
    if match is None:
        return None
    name = match[2] or match[3]
    known = [(m[name], number + 1) for number, m in measured_on(run.history) if name in m]
    known = [(value, epoch) for value, epoch in known if value == value]
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
    head = "".join(f"<th>{name}</th>" for name in names)
    return (
        f'<section id="compare"><div class="wide"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div></section>"
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
    most = max([1, *(max(spent(r.history).total, _planned(r)) for r in runs)])
    bars = "".join(_bar(run, most, named=len(runs) > 1) for run in runs)
    return f'<section id="cost"><h2>Cost</h2>{bars}</section>'


def _planned(run: ReportedRun) -> int:
    return 0 if run.plan is None else run.plan.most.total


def _bar(run: ReportedRun, most: int, *, named: bool) -> str:
    cost = spent(run.history)
    checked = sum(round_.checked for round_ in run.history)
    parts = {
        "main line": cost.main_line,
        "tries": cost.overhead - checked,
        "self-check": checked,
        "abandoned": cost.abandoned,
    }
    begun = sum(each.epochs for each in run.unfinished)
    more = f" The round under way has {begun} {run.unit} of tries besides." if begun else ""
    shown = {name: epochs for name, epochs in parts.items() if epochs}
    drawn = "".join(
        f'<i class="{name.replace(" ", "-")}" style="width:{100 * epochs / most:.2f}%"></i>'
        for name, epochs in shown.items()
    )
    legend = "".join(
        f'<li><i class="{name.replace(" ", "-")}"></i>{name} <b>{epochs}</b></li>'
        for name, epochs in shown.items()
    )
    plan = "The plan is not known." if run.plan is None else f"Plan: {run.plan}."
    mark = (
        f'<i class="plan" style="left:{100 * _planned(run) / most:.2f}%"></i>' if run.plan else ""
    )
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
    facts |= {name: text for name, text in (("versions", versions),) if text}
    command = f'<pre class="command">{escape(run.command)}</pre>' if run.command else ""
    absent = f"Not known here: {', '.join(run.missing)}." if run.missing else ""
    if "the versions" in run.missing:  # a checkpoint has none, nor has a history
        absent += " A journal of the run, Journal among its callbacks, holds versions and command."
    schedule = schedule_of(run.history).to_json() if run.history else ""
    known = (
        f"<details><summary>the schedule as JSON</summary><pre>{escape(schedule)}</pre></details>"
        if 0 < len(schedule) <= _LONGEST
        else '<p class="note">The schedule is long: schedule_of(history).to_json() gives it.</p>'
        if schedule
        else ""
    )
    note = f'<p class="note">{escape(absent)}</p>' if absent else ""
    body = f"{command}{_table(facts)}{note}"
    if not named:
        return body + known
    return f"<details open><summary>{escape(run.name)}</summary>{body}</details>{known}"


def _table(facts: Mapping[str, str]) -> str:
    rows = (f"<tr><th>{escape(k)}</th><td>{escape(v)}</td></tr>" for k, v in facts.items())
    return f'<div class="wide"><table class="facts">{"".join(rows)}</table></div>' if facts else ""
