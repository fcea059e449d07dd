"""One self-contained HTML page per run: schedule, metrics, cost, choices; opens without network."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

from dynhp.planning.budget import Plan
from dynhp.planning.schedule import schedule_of
from dynhp.records import Round, Value
from dynhp.records.kept import kept_epochs, measured_on
from dynhp.records.text import label, round_cells
from dynhp.report.style import PAGE, PICTURE
from dynhp.report.svg import line_chart
from dynhp.report.text import summary, values_seen
from dynhp.storage.files import write_texts

__all__ = ["html_report", "write_html"]

# What the pages of runs add: they are narrow, and their tables hold sentences.
_OF_RUNS = """
body { max-width: 780px } svg circle.try { fill: var(--soft) } table { width: 100% }
td { white-space: normal } pre { overflow: auto } .hint { font-style: italic }
"""
_STYLE = f"\n{PICTURE}\n{PAGE}{_OF_RUNS}"


def html_report(
    history: Sequence[Round],
    *,
    title: str,
    plan: Plan | None = None,
    facts: Mapping[str, str] | None = None,
    hints: Sequence[str] = (),
) -> str:
    """The page as text.

    Args:
        history: the rounds of the run.
        title: the heading of the page.
        plan: what the run was planned to cost, to be shown with what it did cost.
        facts: names and values for a table at the top.
        hints: sentences to show under that table.

    >>> "<h1>Demo</h1>" in html_report([], title="Demo")
    True
    """
    names = list(history[0].candidate) if history else []
    last = history[-1] if history else None
    metrics = _metrics_of(last) if last is not None else []
    body = [
        f"<h1>{escape(title)}</h1>",
        _table(facts or {}),
        *(f'<p class="hint">{escape(hint)}</p>' for hint in hints),
        *(f"<p>{escape(line)}</p>" for line in summary(history, plan=plan).splitlines()),
        *(f"<h2>{escape(name)}</h2>\n{_schedule_chart(history, name)}" for name in names),
        *(f"<h2>{escape(metric)}</h2>\n{_metric_chart(history, metric)}" for metric in metrics),
        "<h2>Rounds</h2>",
        _rounds_table(history),
        "<h2>The schedule as JSON</h2>",
        f"<details><summary>show</summary><pre>{escape(schedule_of(history).to_json())}</pre>"
        "</details>",
    ]
    return (
        '<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style></head>\n<body>\n"
        + "\n".join(body)
        + "\n</body>\n</html>\n"
    )


def write_html(path: str | os.PathLike[str], page: str) -> None:
    """Write the page whole or not at all.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_html(Path(folder, "run.html"), html_report([], title="Demo"))
    ...     [file.name for file in Path(folder).iterdir()]
    ['run.html']
    """
    target = Path(path)
    write_texts(target.parent, {target.name: page})


def _metrics_of(last: Round) -> list[str]:
    """The names of what was measured last."""
    if last.metrics or not last.tries:
        return list(last.metrics)
    return list(last.winner.series[-1])


def _table(facts: Mapping[str, str]) -> str:
    rows = (f"<tr><th>{escape(k)}</th><td>{escape(v)}</td></tr>" for k, v in facts.items())
    return f"<table>{''.join(rows)}</table>" if facts else ""


def _schedule_chart(history: Sequence[Round], name: str) -> str:
    seen = values_seen(history, name)
    numbers = all(isinstance(v, int | float) and not isinstance(v, bool) for v in seen)
    names = None if numbers else sorted(map(str, seen))

    def height(value: Value) -> float:
        return float(value) if names is None else float(names.index(str(value)))  # type: ignore[arg-type]

    kept = [round_ for round_, on in zip(history, kept_epochs(history), strict=True) if on]
    line = [(float(round_.start), height(round_.candidate[name])) for round_ in kept or history]
    line.append((float(history[-1].start + history[-1].epochs), line[-1][1]))
    dots = [
        (float(round_.start), height(try_.candidate[name]))
        for round_ in history
        for try_ in round_.tries
    ]
    return line_chart(line, label=name, stairs=True, dots=dots, names=names)


def _metric_chart(history: Sequence[Round], metric: str) -> str:
    measured = measured_on(history)
    line = [(number + 1.0, metrics[metric]) for number, metrics in measured if metric in metrics]
    return line_chart(line, label=metric)


def _rounds_table(history: Sequence[Round]) -> str:
    rows = (
        f"<tr><td>{round_.index}</td><td>{round_.start}–{round_.start + round_.epochs}</td>"
        f"<td>{escape(', '.join(f'{k}={label(v)}' for k, v in round_.candidate.items()))}</td>"
        f"<td>{len(round_.tries)}</td><td>{escape(round_cells(round_)['reason'])}</td></tr>"
        for round_ in history
    )
    names = "".join(f"<th>{name}</th>" for name in ("round", "epochs", "value", "tries", "why"))
    return (
        "<details open><summary>each round</summary><table>"
        f"<tr>{names}</tr>{''.join(rows)}</table></details>"
    )
