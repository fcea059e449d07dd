"""The rounds of a run as checkpoints hold them: the last ones inside, the many before in a file."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from dynhp.errors import CheckpointError, DamagedFile
from dynhp.records import History, Round
from dynhp.rounds.plain import history_from_plain, round_to_plain
from dynhp.storage.appended import AppendedFile, LinesAdded, LinesLost
from dynhp.storage.codecs.json_text import strict_json
from dynhp.storage.files import remove
from dynhp.storage.folder import CheckpointFolder

__all__ = ["HistoryFile", "SavedHistory", "read_saved"]

MOST_INSIDE = 32 << 10
"""The most bytes of rounds that every checkpoint holds itself; with more, they go into the file."""


class _EncodedHistory(NamedTuple):
    """A history, and the lines of its last rounds, which are not in the file."""

    history: History
    lines: Sequence[bytes]


class HistoryFile:
    """Saves the rounds of a run beside its checkpoints: each goes into the file once.

    The file has a line of JSON per round and only grows, so that every checkpoint that refers to
    it, by length and digest, stays whole. Where it cannot grow (the history is another one, or the
    file is not as it was left), a new one is begun.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file: AppendedFile | None = None
        self._encoded = _EncodedHistory(History(()), ())
        self._references = 0  # how many checkpoints in a row have referred to this file

    def save(self, history: History) -> Any:
        """What a checkpoint holds of this history, once all the rest is safe in the file."""
        if not self._goes_on(history):
            self._file, self._encoded = None, _EncodedHistory(History(()), ())
        first = 0 if self._file is None else self._file.lines
        self._encoded = _EncodedHistory(history, self._lines(history, first))
        many = sum(map(len, self._encoded.lines)) > MOST_INSIDE
        if many and self._file is None:
            self._begin()
        if self._file is not None:
            try:
                self._append(self._file, history if many else None)
            except (LinesLost, LinesAdded):
                self._append(self._begin(), history)
        inside = b"\n".join(self._encoded.lines)
        if self._file is None:
            return inside
        self._references += 1
        return {"file": self._file.path.name, **self._file.position(), "then": inside}

    def _goes_on(self, history: History) -> bool:
        """Whether the rounds that were encoded are the first of this history."""
        known = self._encoded.history
        return bool(history[len(known) - 1 : len(known)] == known[-1:])

    def _lines(self, history: History, first: int) -> tuple[bytes, ...]:
        """The lines of the rounds from the first on; those that were encoded are not again."""
        known, lines = self._encoded
        if len(known) - len(lines) != first:  # not so where Ctrl-C came just after a write
            lines = ()
        return (*lines, *map(_line, history[first + len(lines) :]))

    def _append(self, file: AppendedFile, history: History | None) -> None:
        """Append the rounds of this history that are not in the file; without one, look only."""
        lines = () if history is None else self._lines(history, file.lines)
        file.wait_with([line + b"\n" for line in lines])
        file.write()
        if history is not None:
            file.sync()
            self._encoded = _EncodedHistory(history, ())

    def _begin(self) -> AppendedFile:
        names = (path.name for path in self._folder.iterdir())
        numbers = [int(match[1]) for match in map(_NAME.fullmatch, names) if match]
        name = f"history-{max(numbers, default=0) + 1:08}.jsonl"
        self._file, self._references = AppendedFile(self._folder / name), 0
        return self._file

    def read(self, saved: Any) -> list[bytes]:
        """The lines of all rounds that a checkpoint stands for, or an error if they are damaged."""
        if isinstance(saved, bytes):
            return saved.splitlines()
        _, before, inside = self._opened(saved)
        return [*before.splitlines(), *inside.splitlines()]

    def go_on(self, saved: Any, history: History) -> None:
        """Save on from a checkpoint, which was read as this history."""
        inside = saved
        if not isinstance(saved, bytes):
            self._file, _, inside = self._opened(saved)
        self._encoded = _EncodedHistory(history, inside.splitlines())

    def _opened(self, saved: Any) -> tuple[AppendedFile, bytes, bytes]:
        match saved:
            case {"file": str(name), "bytes": int(), "sha256": str(), "then": bytes(inside)}:
                position = {"bytes": saved["bytes"], "sha256": saved["sha256"]}
            case _:
                raise DamagedFile("it says nothing of its rounds")
        if not _NAME.fullmatch(name):
            raise DamagedFile(f"{name[:80]!r} is no file of rounds")
        file = AppendedFile(self._folder / name)
        try:
            file.path.stat()
            before = file.take_up(position)
        except OSError as failure:
            raise CheckpointError(
                f"a checkpoint needs its first rounds, which cannot be read: {failure}. Put the "
                "file back beside the checkpoint"
            ) from failure
        if before is None:
            raise DamagedFile(f"its first rounds, in {name}, are not as they were written")
        return file, before, inside

    def tidy(self, *, keep: int) -> None:
        """Remove other files, once the checkpoints that are kept all refer to this one."""
        if self._file is not None and self._references >= keep:
            for path in list(self._folder.iterdir()):
                if _NAME.fullmatch(path.name) and path.name != self._file.path.name:
                    remove(path)


_NAME = re.compile(r"history-(\d{8})\.jsonl")


def _line(round_: Round) -> bytes:
    return json.dumps(round_to_plain(round_), allow_nan=False).encode("ascii")


class SavedHistory(NamedTuple):
    """The rounds of a run that is saved, and ``epochs`` (planned) and ``settings`` of it."""

    history: History
    about: dict[str, Any]


def read_saved(path: Path) -> SavedHistory:
    """Read the rounds of the newest checkpoint that is whole, also of a run that goes on.

    The state of the trainer is not read, and nothing in the folder is changed.
    """
    folder, reasons = CheckpointFolder(path), []
    for rounds in folder.numbers():
        try:
            saved = folder.read_first(rounds, ("adapter", "history"))
            lines = HistoryFile(path).read(saved["history"])
            history = history_from_plain([strict_json(line) for line in lines])
            adapter = saved["adapter"]
            settings = {str(name): str(text) for name, text in adapter["settings"].items()}
            return SavedHistory(history, {"epochs": adapter["epochs"], "settings": settings})
        except (CheckpointError, OSError, LookupError, TypeError, ValueError) as failure:
            reasons.append(f"{rounds} rounds: {failure}")  # a run that goes on removes old ones
    raise CheckpointError(
        f"no checkpoint in {str(path)!r} can be read{''.join(f'; {each}' for each in reasons)}"
    )
