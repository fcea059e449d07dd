"""The command: the paper's runs carried out, and compared with its tables."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.paper.protocol.parts import Part, runs_of
from benchmarks.paper.protocol.task import TASK_NAME, cost, most_epochs, train_run
from benchmarks.paper.report import report, summary
from dynhp.campaign import campaign_so_far, run_campaign
from dynhp.campaign.results import CampaignResults
from dynhp.errors import DynhpError, SettingsError, nearest
from dynhp.records.text import duration
from dynhp_pyg.checks import whole
from dynhp_pyg.cli.files import check_writable, write_files
from dynhp_pyg.cli.options import OneLineParser, add_progress, shows_progress
from dynhp_pyg.runs.published import PROTOCOLS

__all__ = ["main"]

_SEEDS: dict[str, int] = {"quick": 1, "tables": 3, "headline": 10, "variants": 10}
_SEEDS |= {"published": 3, "fair": 10}
_MODEL = {"layers": 2, "width": 64, "epochs": 500}
_PARTS = ("quick", "tables", "headline", "variants", "fair")
_COME_AND_GO = ("missing.csv", "failed.csv", "auc_*.svg", "ratio_*.svg")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the exit code is 0 (success), 1 (runs failed), 2 (misuse)."""
    try:
        return _reproduce(_parser().parse_args(arguments))
    except DynhpError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = OneLineParser(
        prog="python -m benchmarks.paper",
        description="All tables of the AdaGrid paper, published and reproduced.",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add(
        "--part",
        default="tables",
        help="tables (default), headline, variants, fair, or quick: Cora 80/10/10, one seed, "
        "three methods",
    )
    add(
        "--protocol",
        default="undirected",
        help="undirected (leak-free, default), paper (its split, which leaks, and the rate as it "
        "writes it) or published (its split, and the rate that its code has)",
    )
    add("--seeds", type=int, metavar="N", help="seeds 0 to N-1 (quick 1, tables 3, others 10)")
    add("--layers", type=int, default=2, metavar="K", help="GCN layers (2; the paper also has 3)")
    add("--width", type=int, default=64, metavar="N", help="of a layer (64; the paper also 128)")
    add("--epochs", type=int, default=500, metavar="N", help="epochs of the final model (500)")
    add("--workers", type=int, metavar="N", help="processes (default: one per core)")
    add(
        "--out",
        metavar="DIR",
        help="results and report (out/reproduce); a second call goes on with what is missing there",
    )
    add("--report", action="store_true", help="train nothing: report what there is so far")
    add("--quiet", action="store_true", help="show no progress")
    add_progress(parser)
    return parser


def _reproduce(parsed: argparse.Namespace) -> int:
    """Carry out what is missing, write the report, print what matters; 1 where runs failed."""
    part = _part(parsed)
    seeds = _SEEDS[part] if parsed.seeds is None else whole("--seeds", parsed.seeds, least=1)
    model = {name: whole(f"--{name}", getattr(parsed, name), least=1) for name in _MODEL}
    folder = parsed.out or "out/reproduce"
    check_writable(folder)
    split = "undirected" if parsed.protocol == "undirected" else "paper"
    runs = runs_of(part, protocol=split, seeds=seeds, **model)
    if not parsed.quiet:
        epochs = sum(map(most_epochs, runs))
        print(f"{part}: {len(runs)} runs, {epochs:,} epochs at most; in {folder}", file=sys.stderr)
    _lean_workers()
    try:
        results = (
            campaign_so_far(train_run, runs, folder=folder, name=TASK_NAME)
            if parsed.report
            else run_campaign(
                train_run,
                runs,
                folder=folder,
                name=TASK_NAME,
                workers=parsed.workers,
                cost=cost,
                progress=shows_progress(parsed),
            )
        )
    except KeyboardInterrupt:
        print(f"\nstopped; the same command goes on with what is in {folder}", file=sys.stderr)
        raise
    files = report(results, part=part, runs=runs, command=_command(parsed))
    files["runs.csv"] = results.csv()  # of this part only, even where some are missing
    where = Path(folder) / _report_folder(parsed, part)
    write_files(where, files, replaces=_COME_AND_GO)
    print(summary(results, part=part, runs=runs))
    print(_ending(results, where))
    return 1 if results.failed else 0


def _part(parsed: argparse.Namespace) -> Part:
    for name, value, known in (
        ("--part", parsed.part, _PARTS),
        ("--protocol", parsed.protocol, PROTOCOLS),
    ):
        if value not in known:
            raise SettingsError(f"{name} must be a known one, got {value!r}{nearest(value, known)}")
    part: Part = parsed.part
    if parsed.protocol != "published" or part == "fair":  # which compares both rates anyway
        return part
    if part != "tables":
        raise SettingsError(
            f"--protocol published has the parts tables and fair, got {part}; --protocol paper has "
            "the others, with the rate as the paper writes it"
        )
    return "published"


def _report_folder(parsed: argparse.Namespace, part: Part) -> str:
    """A folder for each part, protocol and model, so that no report replaces another."""
    model = {name: getattr(parsed, name) for name in _MODEL}
    unusual = "" if model == _MODEL else "-K{layers}-o{width}-{epochs}-epochs".format(**model)
    if part == "published":  # the protocol and the part have one name
        return f"{part}{unusual}"
    protocol = "paper" if parsed.protocol == "published" else parsed.protocol
    return f"{protocol}-{part}{unusual}"


def _command(parsed: argparse.Namespace) -> str:
    """The command that makes the same report again, wherever it is written to."""
    usual = {**_MODEL, "seeds": None}
    options = [
        f"--{name} {getattr(parsed, name)}"
        for name, value in usual.items()
        if getattr(parsed, name) != value
    ]
    words = ["make reproduce", f"PART={parsed.part}", f"PROTOCOL={parsed.protocol}"]
    if options:
        words.append(f"OPTIONS={shlex.quote(' '.join(options))}")
    return " ".join(words)


def _lean_workers() -> None:
    """Let workers keep the memory of large blocks (a tenth of the time) and use one thread each."""
    for name in ("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_"):
        os.environ.setdefault(name, str(1 << 30))  # of glibc; elsewhere without effect
    os.environ.setdefault("OMP_NUM_THREADS", "1")


def _ending(results: CampaignResults, folder: Path) -> str:
    lines = [
        f"{len(results)} runs, {duration(sum(run.seconds for run in results))} of computing; "
        f"report: {folder / 'report.html'}"
    ]
    if results.failed:
        lines.append(
            f"{len(results.failed)} runs failed, the first with {results.failed[0].error}; the "
            "same command tries them again"
        )
    return "\n".join(lines)
