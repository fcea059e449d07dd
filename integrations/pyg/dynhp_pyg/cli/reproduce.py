"""``dynhp linkpred reproduce``: the paper's runs carried out, and compared with its tables."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from dynhp.campaign import CampaignResults, campaign_so_far, run_campaign
from dynhp.campaign.progress import duration
from dynhp.errors import SettingsError, nearest
from dynhp_pyg.checks import whole
from dynhp_pyg.cli.files import check_writable, write_files
from dynhp_pyg.cli.options import add_progress, shows_progress
from dynhp_pyg.runs.published import PROTOCOLS

if TYPE_CHECKING:
    from dynhp_pyg.paper.protocol.parts import Part

__all__ = ["add_reproduction", "reproduce_command"]

_SEEDS: dict[str, int] = {"quick": 1, "tables": 3, "headline": 10, "variants": 10}
_SEEDS |= {"published": 3, "fair": 10}
_MODEL = {"layers": 2, "width": 64, "epochs": 500}
_PARTS = ("tables", "headline", "variants", "fair")
_COME_AND_GO = ("missing.csv", "failed.csv", "auc_*.svg", "ratio_*.svg")


def add_reproduction(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add = parser.add_argument
    add("--quick", action="store_true", help="Cora 80/10/10, one seed, three methods")
    add("--part", default="tables", help="tables (default), headline, variants or fair")
    add(
        "--protocol",
        default="undirected",
        help="undirected (leak-free, default), paper (its split, which leaks, and the rate as it "
        "writes it) or published (its split, and the rate that its code has)",
    )
    add("--seeds", type=int, metavar="N", help="seeds 0 to N-1 (tables 3, the others 10)")
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


def reproduce_command(parsed: argparse.Namespace) -> int:
    """Carry out what is missing, write the report, print what matters; 1 where runs failed."""
    # Not at the top: other commands and --help need nothing of the reproduction.
    from dynhp_pyg.paper.protocol.parts import runs_of
    from dynhp_pyg.paper.protocol.task import TASK_NAME, cost, most_epochs, train_run
    from dynhp_pyg.paper.report import report, summary

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
    if parsed.quick and parsed.part != "tables":
        raise SettingsError(f"--quick is a part of its own, got --part {parsed.part} as well")
    part: Part = "quick" if parsed.quick else parsed.part
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
    usual = {"part": "tables", **_MODEL, "seeds": None}
    words = ["dynhp linkpred reproduce", *(["--quick"] if parsed.quick else [])]
    words += [f"--protocol {parsed.protocol}"]
    words += [
        f"--{name} {getattr(parsed, name)}"
        for name, value in usual.items()
        if getattr(parsed, name) != value
    ]
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
