"""``dynhp journal``: shows a journal as a table, also of a run that goes on or was killed."""

from __future__ import annotations

import argparse
import json
from typing import Any

from dynhp.records import Candidate, Round
from dynhp.report.table import text_table
from dynhp.rounds.plain import history_to_plain
from dynhp.storage.journal import JournalContent, read_journal

HEADINGS = ("round", "epochs", "values", "score", "gain", "tries", "spent", "seconds", "reason")


def register(subparsers: Any) -> None:
    """Add the command to the others."""
    parser = subparsers.add_parser(
        "journal",
        help="show a journal as a table",
        description="Show what a journal holds, one line per round: its main-line epochs, the "
        "values chosen, their score and its gain over the value in force before, the tries and "
        "how many failed, the epochs trained in all, the time, and why.",
    )
    parser.add_argument("file", help="the journal")
    parser.add_argument("--json", action="store_true", help="print the history as JSON instead")
    parser.set_defaults(func=run)


def run(parsed: argparse.Namespace) -> int:
    """Print the table."""
    content = read_journal(parsed.file)
    if parsed.json:
        print(json.dumps(history_to_plain(content.history), allow_nan=False))
    else:
        print(table(content))
    return 0


def table(content: JournalContent) -> str:
    """The rounds in a table, and what there is of one that is not finished.

    >>> from dynhp.records import History
    >>> print(table(JournalContent(history=History(()), unfinished=(), torn=True)))
    round  epochs  values  score  gain  tries  spent  seconds  reason
    The last line is torn.
    """
    lines = [text_table([HEADINGS, *map(_row, content.history)])]
    if content.unfinished:
        tried = ", ".join(_values(try_.candidate) for try_ in content.unfinished)
        lines.append(f"A round is not finished; tried so far: {tried}.")
    if content.torn:
        lines.append("The last line is torn.")
    return "\n".join(lines)


def _row(round_: Round) -> tuple[str, ...]:
    failed = sum(try_.error is not None for try_ in round_.tries)
    held = [try_ for try_ in round_.tries if try_.candidate == round_.previous]
    sound = held and held[0].error is None and held[0].epochs == round_.winner.epochs
    gain = round_.winner.score - held[0].score if sound else None
    return (
        str(round_.index),
        f"{round_.start}-{round_.start + round_.epochs}",
        _values(round_.candidate),
        f"{round_.winner.score:.5g}",
        "-" if gain is None else f"{gain:.3g}",
        f"{len(round_.tries)}" + (f" ({failed} failed)" if failed else ""),
        str(round_.epochs + round_.overhead),
        f"{round_.seconds:.1f}",
        round_.reason,
    )


def _values(candidate: Candidate) -> str:
    return " ".join(f"{name}={value}" for name, value in candidate.items())
