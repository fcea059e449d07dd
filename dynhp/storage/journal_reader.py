"""A journal read back as a history, with every line checked."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from dynhp.errors import CheckpointError, DamagedFile
from dynhp.records import History, Round, Try
from dynhp.records.units import EPOCHS, read_unit
from dynhp.rounds.plain import round_from_plain, try_from_plain
from dynhp.storage.codecs.json_text import json_line, strict_json
from dynhp.storage.files import require_path

__all__ = ["HEADER", "JournalContent", "history_from_journal", "read_journal"]

HEADER: Mapping[str, Any] = {"event": "journal", "version": 1}


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalContent:
    """What a journal holds: the rounds, and the tries of one that is not finished.

    Attributes:
        history: the rounds.
        unfinished: the tries of a round that has not ended.
        torn: whether the last line is incomplete, and is left out.
        about: ``epochs`` (planned), ``settings``, ``versions``, ``command`` and ``unit`` of the
            run, as far as the journal has them; those of earlier versions of dynhp have none.
    """

    history: History
    unfinished: tuple[Try, ...]
    torn: bool
    about: Mapping[str, Any] = field(default_factory=dict)


def history_from_journal(path: str | os.PathLike[str]) -> History:
    """Give back the history that a journal holds, exactly.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     _ = file.write(b'{"event":"journal","version":1}\\n{"event":"rou'); file.flush()
    ...     history_from_journal(file.name)
    History(rounds=())
    """
    return read_journal(path).history


def read_journal(path: str | os.PathLike[str]) -> JournalContent:
    """Read a journal, also of a run that goes on or was killed; a torn last line is left out.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     read_journal(file.name).torn
    False
    """
    try:
        *lines, rest = require_path("the journal", path).read_bytes().split(b"\n")
    except OSError as failure:
        raise CheckpointError(f"the journal cannot be read: {failure}") from failure
    if not lines and not json_line(HEADER).startswith(rest):  # more than a kill can leave
        lines = [rest]
    reader = _JournalParser()
    for number, line in enumerate(lines, start=1):
        try:
            reader.take(strict_json(line), first=number == 1)
        except (DamagedFile, LookupError, TypeError, ValueError, AttributeError) as damage:
            raise DamagedFile(
                f"line {number} of {os.fspath(path)!r} is not a line of a journal ({damage}): "
                f"{line[:80].decode('ascii', 'replace')!r}"
            ) from None
    return JournalContent(
        history=History(tuple(reader.rounds)),
        unfinished=tuple(reader.tries),
        torn=bool(rest),
        about=reader.about,
    )


class _JournalParser:
    """Takes one line after the other."""

    def __init__(self) -> None:
        self.rounds: list[Round] = []
        self.tries: list[Try] = []
        self.about: dict[str, Any] = {}
        self._handlers: Mapping[str, Callable[[Mapping[str, Any]], None]] = {
            "run": self._run,
            "round_started": self._round_started,
            "try": self._try,
            "round": self._round,
        }

    def take(self, line: Any, *, first: bool) -> None:
        """Take the next line."""
        if not isinstance(line, dict) or (first and line != HEADER):
            raise ValueError(f"{dict(HEADER)} must come first")
        if not first:
            self._handlers[line["event"]](line)

    def _run(self, line: Mapping[str, Any]) -> None:
        about = {name: line[name] for name in ("epochs", "settings", "versions", "command")}
        about["unit"] = read_unit(line.get("unit", EPOCHS))
        texts = (about["settings"], about["versions"])
        if not all(type(each) is dict and set(map(type, each.values())) <= {str} for each in texts):
            raise ValueError("settings and versions are texts by name")
        if about["epochs"] is not None and type(about["epochs"]) is not int:
            raise ValueError("epochs is a whole number or null")
        if type(about["command"]) not in (str, type(None)):
            raise ValueError("command is a text or null")
        self.about = about

    def _round_started(self, line: Mapping[str, Any]) -> None:
        self._follows(line)
        self.tries = []  # those of a round that was interrupted

    def _try(self, line: Mapping[str, Any]) -> None:
        self.tries.append(try_from_plain(line))

    def _round(self, line: Mapping[str, Any]) -> None:
        self._follows(line)
        if sorted(line["tries"]) != list(range(len(self.tries))):
            raise ValueError(f"{len(self.tries)} tries were written, the round has {line['tries']}")
        tries = [self.tries[place] for place in line["tries"]]
        plain = {**line, "index": line["round"], "tries": ()}
        self.rounds.append(replace(round_from_plain(plain), tries=tuple(tries)))
        none = not tries and line["chosen"] == -1
        if not (none or 0 <= line["chosen"] < len(tries)) or line["epochs"] < 0:
            raise ValueError("no such try, or epochs that go back")
        self.tries = []

    def _follows(self, line: Mapping[str, Any]) -> None:
        """Refuse rounds that do not follow one on the other: main-line epochs only increase."""
        if self.rounds:
            if (line["round"], line["start"]) == (self.rounds[-1].index, self.rounds[-1].start):
                # It ended here, but Ctrl-C or another callback undid it before it was recorded.
                self.rounds.pop()
                return
            last = self.rounds[-1]
            expected = (last.index + 1, last.start + last.epochs)
            back = line.get("abandoned", 0)
            if (line["round"], line["start"] + back) != expected or back < 0:
                raise ValueError(f"round and start should be {expected}")
