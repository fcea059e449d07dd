"""``dynhp linkpred``: train with adaptation, audit a split, or reproduce the paper."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

from dynhp.errors import SettingsError
from dynhp.report import html_report, luck_of, schedule_picture
from dynhp_pyg.cli.files import check_writable, write_files
from dynhp_pyg.cli.live import live
from dynhp_pyg.cli.options import (
    OneLineParser,
    add_data,
    add_training,
    graph_of,
    one_line,
    settings_of,
)
from dynhp_pyg.cli.reproduce import add_reproduction, reproduce_command
from dynhp_pyg.graphs.graph import Graph
from dynhp_pyg.runs.results import csv_text, json_text, means, planned, seconds_text, table
from dynhp_pyg.runs.spec import LinkRun
from dynhp_pyg.splits.audit import audit
from dynhp_pyg.splits.make import make_split
from dynhp_pyg.splits.ratios import parse_ratios

if TYPE_CHECKING:
    from dynhp_pyg.runs.run import LinkResult

__all__ = ["audit_command", "register", "train_command"]


def register(subparsers: Any) -> None:
    """Add ``linkpred`` to the commands of dynhp."""
    parser = subparsers.add_parser(
        "linkpred",
        help="link prediction on graphs",
        description="Train GCN link prediction with adaptation, look for leaks in a split, or "
        "reproduce the AdaGrid paper.",
    )
    parser.error = one_line
    actions = parser.add_subparsers(
        dest="action", required=True, metavar="train|audit|reproduce", parser_class=OneLineParser
    )
    training = actions.add_parser("train", help="train, adapt, report", allow_abbrev=False)
    add_data(training)
    add_training(training)
    training.set_defaults(func=train_command)
    auditing = actions.add_parser("audit", help="count the leaks of a split", allow_abbrev=False)
    add_data(auditing)
    auditing.add_argument("--seed", type=int, default=0, metavar="N", help="of the split (0)")
    auditing.set_defaults(func=audit_command)
    reproducing = actions.add_parser(
        "reproduce", help="all tables of the AdaGrid paper beside ours", allow_abbrev=False
    )
    add_reproduction(reproducing)
    reproducing.set_defaults(func=_in_one_line(reproduce_command))


def _in_one_line(
    command: Callable[[argparse.Namespace], int],
) -> Callable[[argparse.Namespace], int]:
    """Turn what a user can cause into errors that the command line shows in one line."""

    @wraps(command)
    def wrapped(parsed: argparse.Namespace) -> int:
        try:
            return command(parsed)
        except MemoryError as error:
            raise SettingsError(
                "there is not enough memory for a model of this size; take a smaller --width"
            ) from error
        except RuntimeError as error:
            if "memory" not in str(error):  # torch has no exception of its own for it
                raise
            raise SettingsError(
                "there is not enough memory for a model of this size; take a smaller --width"
            ) from error
        except ImportError as error:
            raise SettingsError(
                f"dynhp linkpred needs a package that is missing: {error}; "
                "run `pip install 'dynhp[pyg]'`"
            ) from error

    return wrapped


@_in_one_line
def train_command(parsed: argparse.Namespace) -> int:
    """Train every seed, then print the table, the cost and the schedule; write them if asked."""
    runs = settings_of(parsed, graph="")
    if parsed.out is not None:
        check_writable(parsed.out)
    graph = graph_of(parsed)
    results = [_trained(settings, graph, quiet=parsed.quiet) for settings in runs]
    print(table(results))
    if not parsed.quiet:
        print(_more(results))
    if parsed.out is not None:
        ours = ("report-*.html", "schedule-*.json")
        write_files(parsed.out, _files(results), replaces=ours)
        if not parsed.quiet:
            print(
                f"written to {parsed.out}: results.json, results.csv, seconds.json and, for "
                "each seed, a report and a schedule"
            )
    return 0


@_in_one_line
def audit_command(parsed: argparse.Namespace) -> int:
    """Print every kind of leak of a split."""
    split = make_split(
        graph_of(parsed),
        parse_ratios(parsed.split),
        protocol=parsed.protocol,
        negatives=parsed.negatives,
        communities=parsed.communities,
        seed=parsed.seed,
    )
    print(audit(split))
    if split.warning:
        print(split.warning)
    return 0


def _trained(settings: LinkRun, graph: Graph, *, quiet: bool) -> LinkResult:
    from dynhp_pyg.runs.run import prepare, train  # torch is slow to import: not for --help

    job = prepare(settings, graph=graph)
    if settings.seed == 0 and not quiet:
        for line in (*graph.notices, *job.hints):
            print(f"note: {line}", file=sys.stderr)
        print(f"plan for each seed: {job.plan}", file=sys.stderr, flush=True)
    with live(job.plan.most.total, title=f"seed {settings.seed}", quiet=quiet) as show:
        return train(job, callbacks=[show])


def _more(results: list[LinkResult]) -> str:
    """What stands under the table: the cost, the first seed's schedule, what luck may have done."""
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


def _files(results: list[LinkResult]) -> dict[str, str]:
    files = {
        "results.json": json_text(results),
        "results.csv": csv_text(results),
        "seconds.json": seconds_text(results),
    }
    for each in results:
        files[f"schedule-{each.settings.seed}.json"] = each.schedule.to_json() + "\n"
        files[f"report-{each.settings.seed}.html"] = _page(each, results)
    return files


def _page(result: LinkResult, results: list[LinkResult]) -> str:
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
    )
