"""The folder of a saved run: checkpoints, their rounds, and the tries of an open round."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from dynhp._log import logger
from dynhp.errors import CheckpointError, DamagedFile
from dynhp.records import History
from dynhp.records.plain import history_from_plain, round_to_plain
from dynhp.storage.codecs.json_text import json_line, strict_json
from dynhp.storage.codecs.state_file import read_parts, read_state, write_state
from dynhp.storage.files import remove, write_atomically
from dynhp.storage.lines import AppendedFile, LinesAdded, LinesLost

__all__ = ["CheckpointFolder", "SavedHistory", "SavedRun", "TryPlace", "read_saved"]

_TRY = re.compile(r"try-(\d{8})-\d{4}-\d{6}\.zip")
_ROUNDS = re.compile(r"history-(\d{8})\.jsonl")


class TryPlace(NamedTuple):
    """The place of a job in its run; the same job has the same place after a crash."""

    round: int
    stage: int
    position: int

    def __str__(self) -> str:
        return f"try {self.position} in stage {self.stage} of round {self.round}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedRun:
    """A checkpoint that was read.

    Attributes:
        rounds: how many rounds it holds.
        digest: of the checkpoint, which the tries of the round after it refer to.
        content: what was saved, with the rounds as plain data in ``history``.
        rounds_file: the file that its rounds are in.
    """

    rounds: int
    digest: str
    content: dict[str, Any]
    rounds_file: AppendedFile


class CheckpointFolder:
    """A folder with checkpoints by their number of rounds, and tries by their place.

    A round is written once, as a line of JSON in a file that only grows. So the cost of a
    checkpoint does not grow with the run, and each checkpoint that refers to the file, by length
    and digest, stays valid. If the history is another one, or the file is not as it was left, a
    new file is begun.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._rounds_file: AppendedFile | None = None
        self._history = History(())  # its first rounds, as many as the file has lines, are in it
        self._references = 0  # how many checkpoints in a row have referred to this file

    # ---- whether what is saved can be trusted ----
    @property
    def distrust_file(self) -> Path:
        """Is there if an error has cast doubt on all that is saved here."""
        return self.path / "stopped.txt"

    @property
    def distrust(self) -> str | None:
        """That error, None if there was none."""
        try:
            return self.distrust_file.read_text("utf-8").strip()
        except OSError:
            return None

    # ---- checkpoints ----
    def save(self, history: History, content: dict[str, Any]) -> str:
        """Write a checkpoint so that it survives whatever happens next, and give its digest."""
        try:
            file = self._with_all_rounds(history)
        except (LinesLost, LinesAdded):
            self._rounds_file = None
            file = self._with_all_rounds(history)
        whole = {**content, "history": {"file": file.path.name, **file.position()}}
        digest = write_atomically(
            self._checkpoint(len(history)), lambda zip_: write_state(whole, zip_), durable=True
        )
        self._references += 1
        return digest

    def _with_all_rounds(self, history: History) -> AppendedFile:
        """The file of rounds, once those of this history are safe in it."""
        file = self._rounds_file
        if file is not None:
            last = slice(max(0, file.lines - 1), file.lines)
            if history[last] != self._history[last]:
                file = None
        if file is None:
            names = (path.name for path in self.path.iterdir())
            numbers = [int(match[1]) for match in map(_ROUNDS.fullmatch, names) if match]
            file = AppendedFile(self.path / f"history-{max(numbers, default=0) + 1:08}.jsonl")
            self._rounds_file = file
            self._references = 0
        self._history = history
        file.wait_with([json_line(round_to_plain(each)) for each in history[file.lines :]])
        file.write()
        file.sync()
        return file

    def go_on(self, saved: SavedRun, history: History) -> None:
        """Go on saving after a checkpoint, whose rounds are this history."""
        self._rounds_file = saved.rounds_file
        self._history = history

    def newest(self) -> SavedRun | None:
        """The newest checkpoint that is whole."""
        return next(self.whole(), None)

    def whole(self) -> Iterator[SavedRun]:
        """All that are whole, newest first; damaged ones are renamed, with a warning."""
        reasons = []
        any_whole = False
        for rounds in self.numbers():
            path = self._checkpoint(rounds)
            try:
                saved = self.read(rounds)
            except DamagedFile as damage:
                reasons.append(f"{path.name}: {damage}")
                logger.warning(
                    f"{path} is damaged ({damage}); it is renamed and the one before it is used"
                )
                with suppress(OSError):
                    os.replace(path, path.with_suffix(".damaged"))
            else:
                any_whole = True
                yield saved
                del saved  # a state is large: no two are held at once
        if reasons and not any_whole:
            raise CheckpointError(
                f"no checkpoint in {str(self.path)!r} can be used: {'; '.join(reasons)}. "
                "Choose another folder to start a new run"
            )

    def read(self, rounds: int) -> SavedRun:
        """The checkpoint after this many rounds."""
        path = self._checkpoint(rounds)
        try:
            with open(path, "rb") as file:
                content = read_state(file)
                file.seek(-64, os.SEEK_END)
                digest = file.read().decode("ascii")
        except OSError as failure:
            raise CheckpointError(f"{str(path)!r} cannot be read: {failure}") from failure
        match content:
            case {"adapter": dict(), "history": reference, "trainer": _, "outputs": list()}:
                rounds_file, content["history"] = self.read_rounds(reference)
            case _:
                raise DamagedFile("it is a state, but not a checkpoint")
        return SavedRun(rounds=rounds, digest=digest, content=content, rounds_file=rounds_file)

    def read_rounds(self, reference: Any) -> tuple[AppendedFile, list[Any]]:
        """The rounds that a checkpoint refers to, as plain data, and the file that they are in."""
        match reference:
            case {"file": str(name), **position} if _ROUNDS.fullmatch(name):
                file = AppendedFile(self.path / name)
            case _:
                raise DamagedFile(f"it names no file of rounds: {str(reference)[:80]!r}")
        try:
            file.path.stat()
            data = file.take_up(position)
        except OSError as failure:
            raise CheckpointError(
                f"a checkpoint needs its rounds, which cannot be read: {failure}. Put the file "
                "back beside the checkpoint"
            ) from failure
        if data is None:
            raise DamagedFile(f"its rounds, in {name}, are not as they were written")
        return file, [strict_json(line) for line in data.splitlines()]

    def tidy(self, rounds: int, *, keep: int) -> None:
        """Remove what the checkpoint after this many rounds has made superfluous."""
        remove(self.distrust_file)
        numbers = self.numbers()
        later = [number for number in numbers if number > rounds]  # of a future that was given up
        for number in later + numbers[len(later) + keep :]:
            remove(self._checkpoint(number))
        for path in list(self.path.iterdir()):
            done = _TRY.fullmatch(path.name)
            torn = re.fullmatch(r"(checkpoint|try)-[-\d]+\.zip\.part", path.name)
            # Checkpoints that are kept may refer to an older file until there are enough newer.
            unused = (
                _ROUNDS.fullmatch(path.name)
                and self._rounds_file is not None
                and path.name != self._rounds_file.path.name
                and self._references >= keep
            )
            if torn or unused or (done and int(done[1]) < rounds):
                remove(path)

    def numbers(self) -> list[int]:
        """The numbers of rounds after which there are checkpoints, the largest first."""
        names = os.listdir(self.path) if self.path.is_dir() else ()
        matches = (re.fullmatch(r"checkpoint-(\d{8})\.zip", name) for name in names)
        return sorted((int(match[1]) for match in matches if match), reverse=True)

    def _checkpoint(self, rounds: int) -> Path:
        return self.path / f"checkpoint-{rounds:08}.zip"

    # ---- the tries of an open round ----
    def put_try(self, place: TryPlace, content: Any) -> None:
        """Write a try; a power cut may lose it, and then it is trained again."""
        write_atomically(self._try(place), lambda file: write_state(content, file), durable=False)

    def get_try(self, place: TryPlace) -> Any:
        """Read a try, or give None if there is none that can be read whole."""
        try:
            with open(self._try(place), "rb") as file:
                return read_state(file)
        except (OSError, DamagedFile):
            return None

    def remove_tries(self, *, from_round: int) -> None:
        """Remove the tries of this round and of those after it."""
        for path in list(self.path.iterdir()):
            done = _TRY.fullmatch(path.name)
            if done and int(done[1]) >= from_round:
                remove(path)

    def _try(self, place: TryPlace) -> Path:
        return self.path / f"try-{place.round:08}-{place.stage:04}-{place.position:06}.zip"


class SavedHistory(NamedTuple):
    """The rounds of a run that is saved, and ``epochs`` (planned) and ``settings`` of it."""

    history: History
    about: dict[str, Any]


def read_saved(path: Path) -> SavedHistory:
    """Read the rounds of the newest checkpoint that is whole, also of a run that goes on.

    The state of the trainer is not read, and nothing in the folder is locked or changed.
    """
    folder = CheckpointFolder(path)
    reasons = []
    for rounds in folder.numbers():
        try:
            with open(path / f"checkpoint-{rounds:08}.zip", "rb") as file:
                epochs, settings, reference = read_parts(
                    file, ("adapter", "epochs"), ("adapter", "settings"), ("history",)
                )
            _, plain = folder.read_rounds(reference)
            texts = {str(name): str(text) for name, text in dict(settings).items()}
            return SavedHistory(history_from_plain(plain), {"epochs": epochs, "settings": texts})
        except (CheckpointError, OSError, LookupError, TypeError, ValueError) as failure:
            reasons.append(f"{rounds} rounds: {failure}")  # a run that goes on removes old ones
    raise CheckpointError(
        f"no checkpoint in {str(path)!r} can be read{''.join(f'; {each}' for each in reasons)}"
    )
