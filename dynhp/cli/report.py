"""``dynhp report``: one page of runs and campaigns, also while they go on."""

from __future__ import annotations

import argparse
import os
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dynhp.campaign.ledger import is_tabulated, ledger_in
from dynhp.errors import CheckpointError, SettingsError, advise
from dynhp.report.page import ReportedCampaign, ReportedRun, report_page, run_of, write_html
from dynhp.storage.folder import CheckpointFolder, read_saved
from dynhp.storage.journal import read_journal

_GIVE = "give a journal, a folder of checkpoints, a campaign, or a folder in which some are"


def register(subparsers: Any) -> None:
    """Add the command to the others."""
    parser = subparsers.add_parser(
        "report",
        help="write a page of runs and campaigns",
        description="Write one HTML page, which needs no network: the schedule, every try's score, "
        "the metrics, the cost, and whether the choices were signal or noise.",
    )
    parser.add_argument(
        "runs",
        nargs="+",
        metavar="RUN",
        help="a journal, a folder of checkpoints, a campaign, or a folder in which some are",
    )
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="the page")
    parser.add_argument("--title", help="its heading (default: the name of the run)")
    parser.add_argument(
        "--watch",
        action="store_true",
        help="write it again whenever something is new, until all runs are over or Ctrl-C; a "
        "campaign is over once results.csv, its table, is newer than its last run",
    )
    parser.add_argument(
        "--every", type=float, default=5.0, help="how many seconds lie between looks (default 5)"
    )
    parser.set_defaults(func=run)


def run(parsed: argparse.Namespace) -> int:
    """Write the page, once or again and again."""
    paths = [Path(each) for each in parsed.runs]
    target = Path(parsed.output)
    if not 0 < parsed.every < float("inf"):
        raise SettingsError(f"--every must be a number of seconds above 0, got {parsed.every!r}")
    _require_page(target, paths)
    if not parsed.watch:
        _write(paths, target, parsed.title, reload=None)
        print(f"written: {target}")
        return 0
    seen = _stamps(paths)
    goes_on = _write(paths, target, parsed.title, reload=parsed.every)
    try:
        print(f"written: {target}; Ctrl-C ends", flush=True)
        while goes_on:
            now = _stamps(paths)
            if now != seen:
                seen = now
                goes_on = _write(paths, target, parsed.title, reload=parsed.every)
            if goes_on:
                time.sleep(parsed.every)
    finally:  # the last page does not load itself again
        _write(paths, target, parsed.title, reload=None)
    print("all runs are over")
    return 0


def _write(paths: Sequence[Path], target: Path, title: str | None, *, reload: float | None) -> bool:
    """Write the page, and say whether one of the runs is not known to be over."""
    sources = [source for path in paths for source in sources_in(path)]
    runs: list[ReportedRun] = []
    counts: Counter[str] = Counter()
    for each in sources:
        if isinstance(each, ReportedRun):
            counts[each.name] += 1
            again = counts[each.name]
            runs.append(each if again == 1 else replace(each, name=f"{each.name} ({again})"))
    campaigns = [each for each in sources if isinstance(each, ReportedCampaign)]
    heading = title or (sources[0].name if len(sources) == 1 else f"{len(sources)} runs")
    page = report_page(runs, title=heading, campaigns=campaigns, reload=reload)
    try:
        write_html(target, page)
    except OSError as failure:
        raise CheckpointError(f"the page cannot be written: {failure}") from failure
    unknown = any(run.epochs is None for run in runs)
    return unknown or not all(each.is_over for each in sources)


def _require_page(target: Path, paths: Sequence[Path]) -> None:
    """Refuse to make folders, or to overwrite what is not a page: a slip would cost a run."""
    if not target.parent.is_dir():
        raise SettingsError(
            f"-o must be in a folder that is there, got {target}; make {target.parent} first"
        )
    if not target.exists():
        return
    if target.is_dir() or any(path.exists() and path.samefile(target) for path in paths):
        raise SettingsError(f"-o must be a file for the page, such as report.html, got {target}")
    with open(target, "rb") as file:
        begin = file.read(15).lower()
    if begin and begin != b"<!doctype html>":
        raise SettingsError(f"{str(target)!r} is there and is no page; choose another name for -o")


def _stamps(paths: Sequence[Path]) -> list[tuple[str, int, int]]:
    """What tells whether something is new: names, sizes and times of all files."""
    stamps = []
    for path in paths:
        table = path.with_name("results.csv")  # in a campaign it says that all runs are over
        for each in [path, table] if path.is_file() else sorted(path.rglob("*")):
            try:
                status = os.stat(each)
            except OSError:
                continue  # a run that goes on removes old checkpoints
            stamps.append((str(each), status.st_size, status.st_mtime_ns))
    return stamps


def sources_in(path: Path) -> list[ReportedRun | ReportedCampaign]:
    """All runs and campaigns at a path: a file is one, a folder is one or holds some.

    >>> sources_in(Path("nowhere"))
    Traceback (most recent call last):
    ...
    dynhp.errors.SettingsError: there is nothing at 'nowhere'; give a journal, a folder of \
checkpoints, a campaign, or a folder in which some are
    """
    if path.is_file():
        return [_in_file(path)]
    if not path.is_dir():
        raise SettingsError(f"there is nothing at {str(path)!r}; {_GIVE}")
    whole = _in_folder(path)
    if whole is not None:
        return [whole]
    sources: list[ReportedRun | ReportedCampaign] = []
    damage: list[CheckpointError] = []
    for each in sorted(path.iterdir()):
        try:
            if each.is_dir():
                source = _in_folder(each)
                sources += [] if source is None else [source]
            elif each.is_file() and _begins(each, b'{"event":"journal"'):
                sources.append(_in_file(each))
        except CheckpointError as error:
            damage.append(error)
    if damage and not sources:
        raise damage[0]
    for each_damage in damage:
        advise(f"left out of the report: {each_damage}", about=str(each_damage))
    if not sources:
        raise SettingsError(f"there is no run to report in {str(path)!r}; {_GIVE}")
    return sources


def _in_folder(path: Path) -> ReportedRun | ReportedCampaign | None:
    """The campaign or the run with checkpoints that a folder is; None if it is neither."""
    if (path / "results.jsonl").is_file():
        return _in_file(path / "results.jsonl")
    if not CheckpointFolder(path).numbers():
        return None
    saved = read_saved(path)
    return run_of(path.name, saved.history, about=saved.about)


def _in_file(path: Path) -> ReportedRun | ReportedCampaign:
    if path.name == "results.jsonl" or _begins(path, b'{"event":"campaign"'):
        over = is_tabulated(path)  # asked first: a run that ends meanwhile is not missed
        name = path.parent.name or path.name
        return ReportedCampaign(name=name, runs=ledger_in(path), is_over=over)
    content = read_journal(path)
    return run_of(path.stem, content.history, about=content.about, unfinished=content.unfinished)


def _begins(path: Path, words: bytes) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(len(words)) == words
    except OSError as failure:
        raise CheckpointError(f"{str(path)!r} cannot be read: {failure}") from failure
