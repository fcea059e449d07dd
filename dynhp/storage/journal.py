"""The journal: a run as a line of JSON per event, appended as it happens and read back."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from dynhp._checks import require_word
from dynhp.errors import CheckpointError, warn_caller
from dynhp.records import Event, History, Round, RoundStarted, Try
from dynhp.records.plain import round_from_plain, round_to_plain, try_from_plain, try_to_plain
from dynhp.records.provenance import command_here, versions_here
from dynhp.records.units import EPOCHS, read_unit
from dynhp.storage.codecs.json_text import json_line, strict_json
from dynhp.storage.files import require_path
from dynhp.storage.lines import AppendedFile, LinesLost, parsed, split_lines

__all__ = ["Journal", "JournalContent", "comparison", "history_from_journal", "read_journal"]

_HEADER: Mapping[str, Any] = {"event": "journal", "version": 1}
_RUN = b'{"event":"run",'


class Journal:
    """A callback that writes a run into a file, one line of JSON per event.

    ``docs/resuming.md`` describes every line.

    Args:
        path: the file, which must not hold another run.
        seconds: whether times and the command are written; without them equal runs give equal
            bytes.
        on_error: ``"stop"`` if lines cannot be written, or ``"warn"`` and write them later.

    >>> import tempfile
    >>> from dynhp import DynamicGridAdapter, lowest
    >>> from dynhp.testing import Quadratic
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = f"{folder.name}/run.jsonl"
    >>> adapter = DynamicGridAdapter(Quadratic(), {"lr": [0.1, 0.5]}, criterion=lowest("loss"),
    ...                              adapt_every=5, try_for=1, callbacks=[Journal(path)])
    >>> adapter.run(10) == history_from_journal(path)
    True
    >>> folder.cleanup()
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        seconds: bool = True,
        on_error: Literal["stop", "warn"] = "stop",
    ) -> None:
        require_word("on_error", on_error, ("stop", "warn"))
        # Absolute, as training code may change the working directory.
        self.path = require_path("Journal: the path", path).absolute()
        self._seconds = seconds
        self._on_error = on_error
        self._file = AppendedFile(self.path, what="journal")
        self._file.wait_with([json_line(_HEADER)])
        self._about: dict[str, Any] = {}  # what the last line on the run says of it
        self._round = 0
        self._tries: list[Try] = []

    def __call__(self, event: Event) -> None:
        """Write what the event says."""
        if isinstance(event, RoundStarted):
            self._round, self._tries = event.index, []
            self._add_run(event)
            fields = {"round": event.index, "start": event.start, "epochs": event.epochs}
            if event.abandoned:
                fields["abandoned"] = event.abandoned
            self._add("round_started", fields)
        elif isinstance(event, Try):
            self._add_try(event)
        else:
            self._add_round(event)
        try:
            self._file.write()
        except OSError as failure:
            message = self._message(failure)
            if self._on_error == "stop":
                raise CheckpointError(
                    f"{message}; make room, put the file back or choose another one"
                ) from failure
            self._warn(message)

    def position(self) -> dict[str, Any] | None:
        """The end of the journal, once it is safe on disk; raises OSError if that fails.

        With ``on_error="warn"`` the lines that cannot be written are part of the position, and it
        is None if the file was lost.
        """
        try:
            self._file.write()
            self._file.sync()
        except OSError as failure:
            if self._on_error == "stop":
                raise
            if isinstance(failure, LinesLost):
                return None
            self._warn(self._message(failure))
        waiting = b"".join(self._file.waiting)
        return {**self._file.position(), **({"waiting": waiting} if waiting else {})}

    def rewind(self, position: Any) -> None:
        """Cut the journal back to a position it was in; what follows it is lost, torn or not."""
        waiting: bytes | None = None
        match position:
            case {"waiting": bytes(waiting), **place} if waiting:
                position = place
        before = b""
        if waiting is None or position.get("bytes") != 0:
            before = self._take_up(position)
        if waiting is not None:
            self._file.wait_with(waiting.splitlines(keepends=True))
        lines = (before + (waiting or b"")).splitlines()
        known = [line for line in lines if line.startswith(_RUN)]
        self._about = strict_json(known[-1]) if known else {}

    def _take_up(self, position: Any) -> bytes:
        try:
            before = self._file.take_up(position)
        except OSError as failure:
            raise CheckpointError(f"the journal cannot be read: {failure}") from failure
        if not before:
            raise CheckpointError(
                f"{str(self.path)!r} is not the journal of this run: its beginning is another. "
                "Put the right file there, or go on without a journal"
            )
        try:
            self._file.cut()
        except OSError as failure:
            if self._on_error == "stop":
                raise CheckpointError(f"{self._message(failure)}; make it writable") from failure
            self._warn(self._message(failure))
        return before

    def _message(self, failure: OSError) -> str:
        if isinstance(failure, LinesLost):
            return str(failure)
        return f"the journal {str(self.path)!r} cannot be written: {failure}"

    def _warn(self, message: str) -> None:
        warn_caller(f"{message}; its lines are kept for later", RuntimeWarning)

    def _add(self, event: str, fields: dict[str, Any]) -> None:
        if not self._seconds:
            fields.pop("seconds", None)
        self._file.wait_with([*self._file.waiting, json_line({"event": event, **fields})])

    def _add_run(self, event: RoundStarted) -> None:
        """Describe the run, unless the journal has done so; after a resume, only what is new."""
        about: dict[str, Any] = {"epochs": event.planned, "settings": dict(event.settings)}
        if event.unit != EPOCHS:
            about["unit"] = event.unit
        if not event.settings:  # of a driver that knows no settings
            return
        if all(name in self._about and self._about[name] == about[name] for name in about):
            return
        command = command_here() if self._seconds else None
        self._about = {**about, "versions": versions_here(), "command": command}
        self._add("run", dict(self._about))

    def _add_try(self, try_: Try) -> None:
        self._tries.append(try_)
        self._add("try", {"round": self._round, **try_to_plain(try_)})

    def _add_round(self, round_: Round) -> None:
        self._round = round_.index
        for try_ in round_.tries:
            if not any(try_ is written for written in self._tries):
                self._add_try(try_)  # of a driver that reports rounds only
        places = {id(try_): place for place, try_ in enumerate(self._tries)}
        plain = round_to_plain(round_)
        fields = {
            "round": plain.pop("index"),
            "end": round_.start + round_.epochs,
            "candidate": dict(round_.candidate),
            **plain,
            "tries": [places[id(try_)] for try_ in round_.tries],
            "overhead": round_.overhead,
            **comparison(round_),
        }
        self._add("round", fields)
        self._tries = []


def comparison(round_: Round) -> dict[str, float | None]:
    """How the scores of the tries that went as far as the winner's compare."""
    if not round_.tries:
        return dict.fromkeys(("spread", "margin", "gain"))
    length = round_.winner.epochs
    rivals = [try_ for try_ in round_.tries if try_.error is None and try_.epochs == length]
    scores = [try_.rank_key for try_ in rivals]
    others = [try_.rank_key for try_ in rivals if try_ is not round_.winner]
    held = [try_.rank_key for try_ in rivals if try_.candidate == round_.previous]
    best = round_.winner.rank_key
    return {
        "spread": _finite(max(scores) - min(scores)) if scores else None,
        "margin": _finite(best - max(others)) if others else None,
        "gain": _finite(best - held[0]) if held else None,
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalContent:
    """What a journal holds: the rounds, and the tries of one that is not finished.

    Attributes:
        history: the rounds.
        unfinished: the tries of a round that has not ended.
        torn: whether the last line is incomplete, and is left out.
        about: ``epochs`` (planned), ``settings``, ``versions``, ``command`` and ``unit`` of the
            run; a journal of a driver that knows no settings has none.
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
    file = require_path("the journal", path)
    try:
        if file.is_fifo() or file.is_char_device() or file.is_socket():  # they may have no end
            raise CheckpointError(
                f"a journal is a file, and {os.fspath(path)!r} is none but a stream; write it to a "
                "file first"
            )
        lines, rest = split_lines(file.read_bytes())
    except OSError as failure:
        raise CheckpointError(f"the journal cannot be read: {failure}") from failure
    if not lines and not json_line(_HEADER).startswith(rest):  # more than a kill can leave
        lines = [rest]
    reader = _JournalParser()
    for _ in parsed(lines, reader.take, path=os.fspath(path), what="a journal"):
        pass
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
        self._first = True

    def take(self, line: Any) -> None:
        """Take the next line."""
        first, self._first = self._first, False
        if not isinstance(line, dict) or (first and line != _HEADER):
            raise ValueError(f"{dict(_HEADER)} must come first")
        event = line["event"]
        if event == "run":
            self._run(line)
        elif event == "round_started":
            self._follows(line)
            self.tries = []  # those of a round that was interrupted
        elif event == "try":
            self.tries.append(try_from_plain(line))
        elif event == "round":
            self._round(line)
        elif not first:
            raise KeyError(event)

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
