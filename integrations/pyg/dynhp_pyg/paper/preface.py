"""What stands at the top of a report: what was run, what is missing, what leaks, what it cost."""

from __future__ import annotations

import json
from collections.abc import Iterable
from statistics import fmean

from dynhp import __version__
from dynhp.campaign.progress import duration
from dynhp_pyg.paper.arms import COMPLETE, Arm, Column
from dynhp_pyg.paper.document import Section, Table
from dynhp_pyg.paper.glossary import DEVIATIONS, GLOSSARY, PAPER
from dynhp_pyg.paper.published import MODEL, printed
from dynhp_pyg.paper.results import Found
from dynhp_pyg.paper.tables.cells import count, spaced, words
from dynhp_pyg.splits.split import LEAK_WARNING

__all__ = ["caveats", "head"]

_ABOUT = ("protocol", "layers", "width", "epochs")
_CLEAN = (
    "Protocol 'undirected' does not leak: both directions of an edge fall on the same side, and "
    "training negatives come from the sampler of the evaluation."
)
_PUBLISHED = (
    " The published values are of split arcs, which leaks, and of uniform training negatives "
    "throughout: a difference from them is one of protocols before it is one of methods."
)


def head(found: Found, *, part: str, command: str | None) -> Section:
    """Say what was run and how far the results can be trusted."""
    facts = {"paper": PAPER, "part": part, **_settings_of(found), **_totals(found)}
    facts["dynhp"] = f"{__version__}, which wrote this report"
    if command is not None:
        facts["command"] = command
    rows = tuple((words(name), words(value)) for name, value in facts.items())
    table = Table(name="", title="What was run", heads=("", ""), rows=rows)
    return Section(
        title="This report",
        warnings=_warnings(found),
        text=_reading(found),
        points=GLOSSARY,
        parts=(table, *_absent(found)),
    )


def caveats(found: Found) -> tuple[str, ...]:
    """What must be known before a number is read: what is missing, what leaks, what ± is."""
    return (*_warnings(found), *_reading(found))


def _warnings(found: Found) -> tuple[str, ...]:
    state = [] if _whole(found) else [_state(found)]
    return (*state, *([_leak(found)] if found.about.get("protocol") == "paper" else []))


def _reading(found: Found) -> tuple[str, ...]:
    state = [_state(found)] if _whole(found) else []
    beside = COMPLETE in found.arms  # whose results the paper has too
    clean = _CLEAN + (_PUBLISHED if beside and printed(found.about) else "")
    protocol = DEVIATIONS if found.about.get("protocol") == "paper" else clean
    other = [_other_model(found)] if beside and not printed(found.about) else []
    return (*state, protocol, *other, _intervals(found))


def _other_model(found: Found) -> str:
    here = "K={layers}, o={width} and {epochs} epochs".format(**_about(found))
    theirs = "K={layers}, o={width} and {epochs}".format(**MODEL)
    return (
        f"The paper prints no table for {here}, only for {theirs}: no published values and no "
        "differences from them are shown."
    )


def _whole(found: Found) -> bool:
    return not found.missing and not found.failed


def _state(found: Found) -> str:
    failed, missing = len(found.failed), len(found.missing)
    done = found.wanted - failed - missing
    if _whole(found):
        return f"All {spaced(done)} runs are done; none failed."
    return (
        f"INCOMPLETE, {spaced(found.wanted)} runs: {spaced(done)} done, {spaced(missing)} missing, "
        f"{spaced(failed)} failed. Tables show what is there, with the number of seeds where some "
        "are missing, and a dash where there is nothing."
        + (
            " A complete search counts once its nine runs are there."
            if COMPLETE in found.arms
            else ""
        )
    )


def _leak(found: Found) -> str:
    shares: dict[str, list[float]] = {}
    for (column, _), series in found.runs.items():
        shares.setdefault(column.split, []).extend(each.reverse_share for each in series.values())
    told = [f"{fmean(each):.1%} ({split})" for split, each in sorted(shares.items()) if each]
    share = f" Test edges whose reverse passes messages: {', '.join(told)}." if told else ""
    return f"LEAK: {LEAK_WARNING}.{share}"


def _intervals(found: Found) -> str:
    if found.seeds == 1:
        seeds = "One seed: there are no intervals, and nothing here tells luck from a gain."
    else:
        fewer = "" if _whole(found) else ", or as many as the brackets tell,"
        seeds = (
            f"Values are means over {found.seeds} seeds{fewer} ± half of Student's 95 % interval."
        )
    return f"AUC is the test AUC of the checkpoint that validates best, in percent. {seeds}"


def _settings_of(found: Found) -> dict[str, str]:
    about = _about(found)
    return {
        "protocol": about["protocol"],
        "seeds": str(found.seeds),
        "model": "K={layers} GCN layers, o={width} wide, {epochs} epochs".format(**about),
    }


def _about(found: Found) -> dict[str, str]:
    return {name: str(found.about.get(name, "?")) for name in _ABOUT}


def _totals(found: Found) -> dict[str, str]:
    runs = list(found.every_run())
    seconds = sum(each.seconds for each in runs) + sum(each.seconds for each in found.failed)
    return {
        "epochs trained": spaced(sum(each.trained for each in runs)),
        "computing": f"{duration(seconds)} ({seconds:.0f} s over all workers)",
    }


def _absent(found: Found) -> Iterable[Table]:
    """What is missing, counted by column and method; and every run that failed, with its error."""
    if found.missing:
        counted: dict[tuple[str, str], int] = {}
        for run in found.missing:
            key = (str(Column.of(run)), _kind(found, Arm.of(run)))
            counted[key] = counted.get(key, 0) + 1
        rows = tuple(
            (words(column), words(method), count(runs))
            for (column, method), runs in counted.items()
        )
        heads = ("column", "method", "runs")
        yield Table(name="missing", title="Missing runs", heads=heads, rows=rows, folded=True)
    if found.failed:
        yield Table(
            name="failed",
            title="Failed runs",
            heads=("run", "error"),
            rows=tuple(
                (words(json.dumps(dict(run.settings))), words(run.error or ""))
                for run in found.failed
            ),
            note="Start the campaign again to try them once more.",
        )


def _kind(found: Found, arm: Arm) -> str:
    return str(COMPLETE) if arm.method == "fixed" and COMPLETE in found.arms else str(arm)
