"""The folder of a run's checkpoints: written atomically, checked when read, kept small."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dynhp.errors import CheckpointError, DamagedFile
from dynhp.storage.codecs import read_state, write_state
from dynhp.storage.codecs.first_part import read_first
from dynhp.storage.files import locked, remove, write_atomically
from dynhp.storage.recording import TryPlace

__all__ = ["CheckpointFolder", "SavedRun"]


@dataclass(frozen=True, slots=True)
class SavedRun:
    """A checkpoint that was read: how many rounds it holds, its digest and its content."""

    rounds: int
    digest: str
    content: Any


@dataclass(frozen=True, slots=True)
class CheckpointFolder:
    """A folder with checkpoints by their number of rounds, and tries by their place."""

    path: Path

    def locked(self) -> AbstractContextManager[None]:
        """Make the folder and lock it, at most for as long as this process lives."""
        return locked(self.path)

    def save(self, rounds: int, content: Any) -> str:
        """Write a checkpoint so that it survives whatever happens next, and give its digest."""
        path = self._checkpoint(rounds)
        return write_atomically(path, lambda file: write_state(content, file), durable=True)

    def newest(self, check: Callable[[Any], None]) -> SavedRun | None:
        """The newest checkpoint that is whole: ``check`` raises ``DamagedFile`` at none of it."""
        return next(self.whole(check), None)

    def whole(self, check: Callable[[Any], None]) -> Iterator[SavedRun]:
        """All that are whole, newest first; damaged ones are renamed, with a warning."""
        reasons, any_whole = [], False
        for rounds in self.numbers():
            path = self._checkpoint(rounds)
            try:
                saved = self.read(rounds, check)
            except DamagedFile as damage:
                reasons.append(f"{path.name}: {damage}")
                logging.getLogger("dynhp").warning(
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

    def read(self, rounds: int, check: Callable[[Any], None]) -> SavedRun:
        """The checkpoint of so many rounds."""
        return SavedRun(rounds, *_read(self._checkpoint(rounds), check))

    def read_first(self, rounds: int, names: Sequence[str]) -> dict[str, Any]:
        """The first entries of the checkpoint of so many rounds; nothing is locked or renamed."""
        with open(self._checkpoint(rounds), "rb") as file:
            return read_first(file, names)

    def tidy(self, rounds: int, *, keep: int) -> None:
        """Remove what the checkpoint of this many rounds has made superfluous."""
        numbers = self.numbers()
        later = [number for number in numbers if number > rounds]  # of a future that was given up
        for number in later + numbers[len(later) + keep :]:
            remove(self._checkpoint(number))
        for path in list(self.path.iterdir()):
            done = re.fullmatch(r"try-(\d{8})-\d{4}-\d{6}\.zip", path.name)
            torn = re.fullmatch(r"(checkpoint|try)-[-\d]+\.zip\.part", path.name)
            if torn or (done and int(done[1]) < rounds):
                remove(path)

    def put_try(self, place: TryPlace, content: Any) -> None:
        """Write a try; a power cut may lose it, and then it is trained again."""
        path = self._try(place)
        write_atomically(path, lambda file: write_state(content, file), durable=False)

    def get_try(self, place: TryPlace) -> Any:
        """Read a try, or give None where there is none that can be read whole."""
        try:
            with open(self._try(place), "rb") as file:
                return read_state(file)
        except (OSError, DamagedFile):
            return None

    def numbers(self) -> list[int]:
        """Of how many rounds there are checkpoints, the most first."""
        names = os.listdir(self.path) if self.path.is_dir() else ()
        matches = (re.fullmatch(r"checkpoint-(\d{8})\.zip", name) for name in names)
        return sorted((int(match[1]) for match in matches if match), reverse=True)

    def _checkpoint(self, rounds: int) -> Path:
        return self.path / f"checkpoint-{rounds:08}.zip"

    def _try(self, place: TryPlace) -> Path:
        return self.path / f"try-{place.round:08}-{place.stage:04}-{place.position:06}.zip"


def _read(path: Path, check: Callable[[Any], None]) -> tuple[str, Any]:
    try:
        with open(path, "rb") as file:
            content = read_state(file)
            file.seek(-64, os.SEEK_END)
            digest = file.read().decode("ascii")
    except OSError as failure:
        raise CheckpointError(f"{str(path)!r} cannot be read: {failure}") from failure
    check(content)
    return digest, content
