"""``dynhp linkpred train``: every seed trained, its results printed and written."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from dynhp.records.provenance import versions_here
from dynhp.report import LiveDisplay, html_report, luck_of, schedule_picture
from dynhp_pyg.cli.files import check_writable, write_files
from dynhp_pyg.cli.options import command_of, graph_of, settings_of, shows_progress
from dynhp_pyg.graphs.graph import Graph
from dynhp_pyg.runs.results import csv_text, json_text, means, planned, seconds_text, table
from dynhp_pyg.runs.spec import LinkRun

if TYPE_CHECKING:
    from dynhp_pyg.runs.run import LinkResult

__all__ = ["train_command"]


def train_command(parsed: argparse.Namespace) -> int:
    """Train every seed, then print the table, the cost and the schedule; write them if asked."""
    runs = settings_of(parsed, graph="")
    if parsed.out is not None:
        check_writable(parsed.out)
    graph = graph_of(parsed)
    watched = shows_progress(parsed)
    results = [_trained(each, graph, quiet=parsed.quiet, watched=watched) for each in runs]
    print(table(results))
    if not parsed.quiet:
        print(_more(results))
    if parsed.out is not None:
        files = _files(results, command_of(parsed))
        write_files(parsed.out, files, replaces=("report-*.html", "schedule-*.json"))
        if not parsed.quiet:
            print(_written(Path(parsed.out), results))
    return 0


def _trained(settings: LinkRun, graph: Graph, *, quiet: bool, watched: bool) -> LinkResult:
    from dynhp_pyg.runs.run import prepare, train  # torch is slow to import: not for --help

    job = prepare(settings, graph=graph)
    if settings.seed == 0 and not quiet:
        for line in graph.notices:  # the hints have come by themselves, as warnings
            print(f"note: {line}", file=sys.stderr)
        print(f"plan for each seed: {job.plan}", file=sys.stderr, flush=True)
    return train(job, progress=watched and LiveDisplay(f"seed {settings.seed}"))


def _more(results: list[LinkResult]) -> str:
    """The lines under the table: the cost, the first seed's schedule, what may be luck."""
    first = results[0]
    trained = sum(each.cost.total for each in results)
    seconds = sum(each.seconds for each in results)
    lines = [
        f"cost: {first.cost.runs:.2f} runs for seed 0 ({first.cost.total} epochs, planned "
        f"{planned(first)}); all seeds: {trained} epochs in {seconds:.1f} s, "
        f"{1000 * seconds / trained:.1f} ms each",
        "schedule of seed 0:",
    ]
    lines += [schedule_picture(first.history, name) for name in first.settings.space]
    if first.settings.chooses:
        lines.append(f"seed 0: {luck_of(first.history)}")
    return "\n".join(lines)


def _written(folder: Path, results: list[LinkResult]) -> str:
    """Where the files are, and what the first report shows."""
    settings = results[0].settings
    shows = "the run and what it cost"
    if settings.chooses:
        shows = "which values were tried and chosen when, what it cost, and whether it was luck"
    report = folder / f"report-{settings.seed}.html"
    return (
        f"written to {folder}: results.json, results.csv, seconds.json and, for each seed, a "
        f"report and a schedule\nopen {report} in a browser: it shows {shows}"
    )


def _files(results: list[LinkResult], command: str) -> dict[str, str]:
    files = {
        "results.json": json_text(results),
        "results.csv": csv_text(results),
        "seconds.json": seconds_text(results),
    }
    for each in results:
        files[f"schedule-{each.settings.seed}.json"] = each.schedule.to_json() + "\n"
        files[f"report-{each.settings.seed}.html"] = _page(each, results, command)
    return files


def _page(result: LinkResult, results: list[LinkResult], command: str) -> str:
    of_run = {name: str(value) for name, value in result.settings.to_plain().items()}
    facts = {
        "settings": str(result.settings),
        "test AUC of the best-validation checkpoint": f"{100 * result.test_auc:.2f}",
        "test average precision": f"{100 * result.test_ap:.2f}",
        "its validation AUC, and epoch": f"{100 * result.val_auc:.2f}, {result.epoch}",
        "leaks in the split": str(result.audit.leaks),
        f"mean over {len(results)} seeds": ", ".join(
            f"{name} {100 * mean.mean:.2f}"
            + ("" if mean.half_width is None else f" ±{100 * mean.half_width:.2f}")
            for name, mean in means(results).items()
        ),
    }
    return html_report(
        result.history,
        title=f"{result.graph}, seed {result.settings.seed}",
        plan=result.plan,
        facts=facts,
        hints=[*result.hints, *([result.warning] if result.warning else [])],
        settings={**of_run, **result.described},  # the adapter's own texts, which can be read back
        versions=versions_here(),
        command=command,
    )
