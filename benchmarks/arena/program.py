"""The command: which part of the arena to run, where its results are kept, and its report."""

from __future__ import annotations

import argparse
import os
import shlex
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.arena.again import carried_out_again, spread_out
from benchmarks.arena.estimate import clocked_seconds, estimated, plain_seconds
from benchmarks.arena.ledger import NAME, in_folder, kept_runs, save_runs, take_over
from benchmarks.arena.margins import margins_of, write_margins
from benchmarks.arena.methods import gather
from benchmarks.arena.plan import (
    FAR,
    PILOTS,
    STARTS,
    Arena,
    Good,
    good_rates,
    pilot_runs,
    read_arena,
    runs_of,
)
from benchmarks.arena.report import arena_files, write_report
from benchmarks.arena.runs.arms import ARMS, arena_run, cost
from benchmarks.arena.tables import ArenaResults
from benchmarks.arena.tasks.contract import DATA
from dynhp.campaign import run_campaign
from dynhp.campaign.data import canonical
from dynhp.campaign.results import CampaignResults, Finished

__all__ = ["main"]

HERE = Path(__file__).parent


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what is missing, and write the report."""
    given = list(arguments) if arguments is not None else None
    options = _parser().parse_args(given)
    if options.data is not None:
        os.environ[DATA] = str(options.data)
    arena = read_arena(options.file).only(
        half=options.half, tasks=options.tasks, seeds=options.seeds
    )
    pilots = pilot_runs(arena)
    carries_out = not (options.plan or options.report_only or options.again or options.margins)
    kept = kept_runs(options.ledger)
    if carries_out:
        if taken := take_over(kept, options.folder):
            print(f"{taken} runs of {options.ledger} are not carried out again", flush=True)
        _campaign(pilots, options)
    piloted = _ended(pilots, options, kept)
    good = _good(arena, piloted)
    later = _unpiloted(arena, good)
    if later:
        missing = len(pilots) - len(piloted) + len(piloted.failed)
        print(f"{missing} of {len(pilots)} runs of the pilot are missing. Then come about:")
    guessed = {
        (task.name, arm): sum(task.pilot) // 2 for task in arena.tasks for arm in PILOTS
    } | dict(good)
    wanted = runs_of(arena, guessed, options.arms, options.starts)
    ended = _ended(wanted, options, kept)
    seconds = clocked_seconds(arena.tasks) if options.clock else plain_seconds(piloted)
    print(estimated(wanted, ended, seconds, every_arm=options.plan), flush=True)
    if options.plan:
        return
    if options.again:
        _again(ended, options.again)
        return
    if options.margins:
        write_margins(margins_of(arena, good, gather(ended)))
        return
    if carries_out and not later:
        _campaign(wanted, options)
        ended = _ended(wanted, options, kept)
    _report(arena, good, ended, wanted, options)
    if options.ledger is not None:
        print(f"{save_runs(options.folder, options.ledger)} runs are in {options.ledger}")


def _report(
    arena: Arena,
    good: Good,
    ended: CampaignResults,
    wanted: Sequence[Mapping[str, Any]],
    options: argparse.Namespace,
) -> None:
    """Write the report of the tasks whose good rate is known."""
    for run in ended.failed:
        print(f"failed: {dict(run.settings)}: {run.error}")
    later = _unpiloted(arena, good)
    shown = replace(arena, tasks=tuple(task for task in arena.tasks if task.name not in later))
    if not good:
        return
    missing = len(wanted) - sum(run.error is None for run in ended)
    results = ArenaResults(arena=shown, good=good, runs=gather(ended))
    files = arena_files(results, missing=missing, later=later, command=_command(options))
    write_report(options.report or options.folder / "report", files)
    print(f"report: {options.report or options.folder / 'report'}")


def _again(ended: CampaignResults, count: int) -> None:
    """Carry out so many runs once more, and end with an error where one came to something else."""
    runs = spread_out(ended, count)
    differences = carried_out_again(runs)
    print(*differences, sep="\n", end="\n" if differences else "")
    print(f"{len(runs) - len(differences)} of {len(runs)} runs came to the same again")
    if differences:
        raise SystemExit(1)


def _unpiloted(arena: Arena, good: Good) -> list[str]:
    """The tasks whose good rate is not known yet."""
    return [task.name for task in arena.tasks if (task.name, PILOTS[0]) not in good]


def _good(arena: Arena, piloted: CampaignResults) -> Good:
    """The good rates of each task whose pilot is whole."""
    values: dict[tuple[str, str, float], list[float]] = defaultdict(list)
    names = ("task", "arm", "rate")
    for run in piloted:
        if run.result is not None:
            task, arm, rate = (run.settings[name] for name in names)
            values[task, arm, rate].append(run.result["val"])
    wanted = Counter(tuple(run[name] for name in names) for run in pilot_runs(arena))
    missing = {key[0] for key, count in wanted.items() if len(values[key]) < count}
    whole = tuple(task for task in arena.tasks if task.name not in missing)
    return good_rates(replace(arena, tasks=whole), values)


def _campaign(runs: Sequence[dict[str, Any]], options: argparse.Namespace) -> None:
    run_campaign(
        arena_run, runs, folder=options.folder, name=NAME, workers=options.workers, cost=cost,
        progress=True,
    )  # fmt: skip


def _ended(
    runs: Sequence[dict[str, Any]], options: argparse.Namespace, kept: Mapping[str, Finished]
) -> CampaignResults:
    """What is there of these runs, in the folder or in the committed file."""
    there = {**kept, **in_folder(options.folder)}
    keys = map(canonical, runs)
    return CampaignResults(tuple(there[key] for key in keys if key in there))


def _command(options: argparse.Namespace) -> str:
    """The command without its paths: where files are must not change a report."""
    parts = ["python", "-m", "benchmarks.arena"]
    if options.half is not None:
        parts += ["--half", options.half]
    for name in ("tasks", "arms", "starts"):
        if getattr(options, name):
            parts += [f"--{name}", *getattr(options, name)]
    if options.seeds is not None:
        parts += ["--seeds", str(options.seeds)]
    return shlex.join(parts)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.arena", description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path("out/arena"), help="of the results")
    parser.add_argument("--report", type=Path, help="where the report goes")
    parser.add_argument(
        "--ledger", type=Path, help="a file of runs to go on from, brought up to date at the end"
    )
    parser.add_argument("--file", type=Path, default=HERE / "tasks.toml", help="of the tasks")
    parser.add_argument("--data", type=Path, help=f"images/, text/ and graphs/; or set {DATA}")
    parser.add_argument("--half", choices=["development", "confirmation"])
    parser.add_argument("--tasks", nargs="+", metavar="NAME")
    parser.add_argument("--arms", nargs="+", choices=list(ARMS), metavar="ARM")
    parser.add_argument("--starts", nargs="+", choices=[*STARTS, *FAR], metavar="START")
    parser.add_argument("--seeds", type=int)
    parser.add_argument(
        "--margins", action="store_true", help="keep the margins of tasks whose sweep has ended"
    )
    parser.add_argument("--workers", type=int)
    parser.add_argument("--plan", action="store_true", help="print the cost only")
    parser.add_argument(
        "--clock", action="store_true", help="with --plan: by timing a few epochs of each task now"
    )
    parser.add_argument(
        "--again", type=int, metavar="N", help="carry out N of the runs again, and compare"
    )
    parser.add_argument(
        "--report-only", action="store_true", help="write the report of what is there"
    )
    return parser
