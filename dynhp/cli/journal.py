"""``dynhp journal``: shows a journal as a table, also if the run goes on or was killed."""

from __future__ import annotations

import argparse
import json
from typing import Any

from dynhp.records.plain import history_to_plain
from dynhp.records.text import headings_of, round_cells, text_table, values_text
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
    titles = headings_of(HEADINGS, content.history.unit)
    rows = map(round_cells, content.history)
    lines = [text_table([titles, *([row[heading] for heading in HEADINGS] for row in rows)])]
    if content.unfinished:
        tried = ", ".join(values_text(try_.candidate) for try_ in content.unfinished)
        lines.append(f"A round is not finished; tried so far: {tried}.")
    if content.torn:
        lines.append("The last line is torn.")
    return "\n".join(lines)
