"""One self-contained HTML page of runs and campaigns, which opens without network."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path

from dynhp.adapter import DynamicGridAdapter
from dynhp.engine import first_memory
from dynhp.planning.budget import Plan, plan_from
from dynhp.records import Round
from dynhp.records.provenance import command_here, versions_here
from dynhp.report.page import sections
from dynhp.report.page.data import run_data
from dynhp.report.page.reported import ReportedCampaign, ReportedRun
from dynhp.report.signal import signal_of
from dynhp.saved import policy_text
from dynhp.storage.files import write_texts
from dynhp.trainer import trained_unit

__all__ = ["html_report", "report_page", "report_run", "write_html"]

_CHARTS = """
<div id="bar"></div>
<section id="schedule"><h2>Schedule</h2><div class="charts"></div></section>
<section id="tries"><h2>Tries</h2><div class="charts"></div>
<div id="round" aria-live="polite"></div>{under_way}</section>
<section id="metrics"><h2>Main line</h2><div class="charts"></div></section>
"""
_ROUNDS = '<section id="rounds"><h2>Rounds</h2><div class="wide"></div></section>'
_NOSCRIPT = (
    "<noscript><p>The pictures of this page are drawn by its own script, which is "
    "switched off.</p></noscript>"
)


def html_report(
    history: Sequence[Round],
    *,
    title: str,
    plan: Plan | None = None,
    facts: Mapping[str, str] | None = None,
    hints: Sequence[str] = (),
    settings: Mapping[str, str] | None = None,
    versions: Mapping[str, str] | None = None,
    command: str | None = None,
) -> str:
    """The page of one run as text.

    Args:
        history: the rounds of the run.
        title: the heading of the page.
        plan: what the run was planned to cost, to be shown with what it did cost.
        facts: names and values for the table at the end.
        hints: sentences to show under the title.
        settings: those of the adapter, as ``adapter.described`` has them.
        versions: of Python and packages, by name: ``dynhp.records.provenance.versions_here()`` has
            those of this process. They are never guessed: a history may be of another one.
        command: how the run can be repeated.

    >>> "<h1>Demo</h1>" in html_report([], title="Demo")
    True
    """
    run = ReportedRun(
        name=title,
        history=history,
        plan=plan,
        epochs=None if plan is None else plan.most.main_line,
        facts=facts or {},
        hints=hints,
        settings=settings or {},
        versions=versions or {},
        command=command,
    )
    return report_page([run], title=title)


def report_run(
    path: str | os.PathLike[str], adapter: DynamicGridAdapter, *, title: str | None = None
) -> None:
    """Write the page of a run that this process has trained, with all that it knows of it.

    >>> import tempfile
    >>> from dynhp.testing import Quadratic
    >>> adapter = DynamicGridAdapter(Quadratic(), {"lr": [0.1, 0.5]}, minimize="loss",
    ...                              adapt_every=5, try_for=1)
    >>> _ = adapter.run(20)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     report_run(f"{folder}/run.html", adapter)
    ...     "<h1>run</h1>" in Path(folder, "run.html").read_text()
    True
    """
    policy, unit = adapter.policy, trained_unit(adapter.trainer)
    start = first_memory(policy.space.candidate(policy.initial or {}), seed=policy.seed)
    planned = adapter.epochs
    run = ReportedRun(
        name=Path(path).stem if title is None else title,
        history=adapter.history,
        plan=None if planned is None else plan_from(policy, start, planned, unit=unit),
        epochs=planned,
        settings=adapter.described or policy_text(policy),
        versions=versions_here(),
        command=command_here(),
        unit=unit,
    )
    write_html(path, report_page([run], title=run.name))


def report_page(
    runs: Sequence[ReportedRun],
    *,
    title: str,
    campaigns: Sequence[ReportedCampaign] = (),
    reload: float | None = None,
) -> str:
    """The page of runs and campaigns as text.

    Args:
        runs: several are shown side by side.
        title: the heading of the page.
        campaigns: each is a table.
        reload: the seconds after which the page loads itself again, if runs go on.

    >>> "2 runs side by side" in report_page([ReportedRun(name=n, history=()) for n in "ab"],
    ...                                      title="Two")
    True
    """
    signals = [signal_of(run.history) for run in runs]
    data = {"reload": reload, "runs": [run_data(run, share=len(runs)) for run in runs]}
    body = [sections.head_section(title, runs, signals), *map(sections.campaign_section, campaigns)]
    if runs:
        body += [
            sections.compare_section(runs, signals),
            _NOSCRIPT + _CHARTS.format(under_way=sections.under_way(runs)),
            sections.signal_section(runs, signals),
            sections.cost_section(runs),
            _ROUNDS,
            sections.settings_section(runs),
        ]
    # Nothing in the data can end the element that it stands in, or begin another.
    inert = json.dumps(data, allow_nan=False)
    for mark in "&<>":
        inert = inert.replace(mark, f"\\u{ord(mark):04x}")
    return _document(title, "\n".join(body), inert)


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


def _document(title: str, body: str, data: str) -> str:
    here = files("dynhp.report.page")
    style = (here / "report.css").read_text(encoding="utf-8")
    script = (here / "report.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    # The page loads nothing from elsewhere, and runs no script but its own.
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    return (
        '<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>\n{style}</style></head>\n<body>\n<main>\n{body}"
        f'\n</main>\n<script type="application/json" id="data">{data}</script>\n'
        f"<script>{script}</script>\n</body>\n</html>\n"
    )
