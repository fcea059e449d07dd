"""What stands at the top of a report: what was run, what is missing, what leaks, what it cost."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from statistics import fmean
from typing import Any

from benchmarks.paper.compared import COMPLETE, Column, ComparedMethod
from benchmarks.paper.document import Section, Table, grouped, paragraphs
from benchmarks.paper.published import MODEL
from benchmarks.paper.results import Results
from benchmarks.paper.tables.cells import row_of
from dynhp import __version__
from dynhp.records.text import duration
from dynhp_pyg.splits.split import LEAK_WARNING

__all__ = ["caveats", "preface"]

_PAPER = (
    "Tim Poštuvan, Jiaxuan You, Mohammadreza Banaei, Rémi Lebret, Jure Leskovec: AdaGrid: Adaptive "
    "Grid Search for Link Prediction Training Objective, 2022, arXiv:2203.16162"
)


def preface(results: Results, *, part: str, command: str | None) -> Section:
    """Say what was run and how far the results can be trusted."""
    facts = {"paper": _PAPER, "part": part, **_facts(results)}
    if command is not None:
        facts["command"] = command
    rows = tuple(row_of(name, value) for name, value in facts.items())
    table = Table(name="", title="What was run", headings=("", ""), rows=rows)
    return Section(
        title="This report",
        warnings=_filled("warnings.txt.j2", results),
        text=_filled("reading.txt.j2", results),
        points=paragraphs("glossary.txt"),
        parts=(table, *_absent(results)),
    )


def caveats(results: Results) -> tuple[str, ...]:
    """What must be known before a number is read: what is missing, what leaks, what ± is."""
    return (*_filled("warnings.txt.j2", results), *_filled("reading.txt.j2", results))


def _filled(template: str, results: Results) -> tuple[str, ...]:
    return paragraphs(
        template,
        results=results,
        seeds=_seeds(results),
        done=results.wanted - len(results.missing) - len(results.failed),
        has_searches=COMPLETE in results.methods,
        leaky=results.shared.get("protocol") == "paper",
        restarted=any(method.rate_restarts for method in results.methods),
        leak_warning=LEAK_WARNING,
        shares=_leaking_shares(results),
        model=_shared(results),
        published=MODEL,
    )


def _seeds(results: Results) -> str:
    """How many seeds there are, which may differ from column to column."""
    return " to ".join(dict.fromkeys(map(str, sorted(results.seeds_in.values()))))


def _leaking_shares(results: Results) -> list[str]:
    shares: dict[str, list[float]] = {}
    for (column, _), by_seed in results.runs.items():
        shares.setdefault(column.split, []).extend(each.reverse_share for each in by_seed.values())
    return [f"{fmean(each):.1%} ({split})" for split, each in sorted(shares.items()) if each]


def _shared(results: Results) -> dict[str, str]:
    names = ("protocol", "layers", "width", "epochs")
    return {name: str(results.shared.get(name, "?")) for name in names}


def _facts(results: Results) -> dict[str, str]:
    shared, runs = _shared(results), list(results.trained_runs())
    seconds = sum(run.seconds for run in runs) + sum(run.seconds for run in results.failed)
    return {
        "protocol": shared["protocol"],
        "seeds": _seeds(results),
        "model": "K={layers} GCN layers, o={width} wide, {epochs} epochs".format(**shared),
        "epochs trained": grouped(sum(run.trained for run in runs)),
        "computing": f"{duration(seconds)} ({seconds:.0f} s over all workers)",
        "dynhp": f"{__version__}, which wrote this report",
    }


def _absent(results: Results) -> Iterable[Table]:
    """What is missing, counted by column and method; and every run that failed, with its error."""
    if results.missing:
        counted = Counter(
            (str(Column.of(run)), _method_name(results, run)) for run in results.missing
        )
        yield Table(
            name="missing",
            title="Missing runs",
            headings=("column", "method", "runs"),
            rows=tuple(row_of(*names, runs) for names, runs in counted.items()),
            folded=True,
        )
    if results.failed:
        yield Table(
            name="failed",
            title="Failed runs",
            headings=("run", "error"),
            rows=tuple(
                row_of(json.dumps(dict(run.settings)), run.error or "") for run in results.failed
            ),
            note="Start the campaign again to try them once more.",
        )


def _method_name(results: Results, run: Mapping[str, Any]) -> str:
    method = ComparedMethod.of(run)
    of_search = method.name == "fixed" and COMPLETE in results.methods
    return str(COMPLETE if of_search else method)
