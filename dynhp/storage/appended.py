"""Files that only grow: what is in one is known by its length and digest, and mended if torn."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

from dynhp.errors import CheckpointError
from dynhp.storage.files import sync_folder

__all__ = ["AppendedFile", "LinesAdded", "LinesLost", "Rewinds"]


class LinesLost(OSError):
    """What was written is no longer there."""


class LinesAdded(CheckpointError):
    """Something else has written into the file."""


@runtime_checkable
class Rewinds(Protocol):
    """Optional: a callback with an output of its own that can be cut back, like ``Journal``."""

    def position(self) -> Any:
        """Where the output stands, as plain data, once all of it is safe on disk; None if lost."""
        ...

    def rewind(self, position: Any) -> None:
        """Cut the output back to that position."""
        ...


class _Content(NamedTuple):
    """What is in the file, and what is to be; replaced as a whole, so Ctrl-C never halves it."""

    size: int
    digest: Any
    lines: int
    waiting: Sequence[bytes]  # lines that are not in the file yet
    torn: bool  # whether what follows in the file was written before a kill, and is to be cut


class AppendedFile:
    """A file of lines that this object alone writes.

    A write that was interrupted, half done or not, is done again by the next one.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = AppendedFile(Path(folder, "lines"))
    ...     file.wait_with([b"first\\n", b"second\\n"])
    ...     file.write()
    ...     file.lines, file.path.read_bytes()
    (2, b'first\\nsecond\\n')
    """

    def __init__(self, path: Path, *, what: str = "file") -> None:
        self.path = path
        self._what = what
        self._content = _Content(0, hashlib.sha256(), 0, [], False)

    @property
    def lines(self) -> int:
        """How many lines this object knows to be in the file."""
        return self._content.lines

    @property
    def waiting(self) -> Sequence[bytes]:
        """The lines that are not in the file yet."""
        return self._content.waiting

    def wait_with(self, lines: Sequence[bytes]) -> None:
        """Let these lines, and no others, wait for the next write."""
        self._content = self._content._replace(waiting=lines)

    def position(self) -> dict[str, Any]:
        """What is in the file, as plain data."""
        return {"bytes": self._content.size, "sha256": self._content.digest.hexdigest()}

    def take_up(self, position: Any) -> bytes | None:
        """Go on from a position; gives what is before it, or None where that is not in the file.

        The file is cut with the next write, or by ``cut``.
        """
        data = self.path.read_bytes() if self.path.exists() else b""
        if not isinstance(position, Mapping) or type(position.get("bytes")) is not int:
            return None
        torn, data = len(data) > position["bytes"], data[: max(0, position["bytes"])]
        digest = hashlib.sha256(data)
        if {"bytes": len(data), "sha256": digest.hexdigest()} != dict(position):
            return None
        self._content = _Content(len(data), digest, data.count(b"\n"), [], torn)
        return data

    def cut(self) -> None:
        """Cut off what lies behind the position that was taken up."""
        if self._content.torn:
            os.truncate(self.path, self._content.size)
            self._content = self._content._replace(torn=False)

    def write(self) -> None:
        """Append the lines that wait, all of them or none."""
        self.cut()
        size, digest, lines, waiting, _ = self._content
        self._require_whole()
        try:
            with open(self.path, "ab") as file:
                data = b"".join(waiting)
                file.write(data)
        except OSError:
            with suppress(OSError):
                os.truncate(self.path, size)
            raise
        digest = digest.copy()
        digest.update(data)
        self._content = _Content(size + len(data), digest, lines + len(waiting), [], False)

    def sync(self) -> None:
        """Make sure that the file survives a power cut."""
        with open(self.path, "r+b") as file:
            os.fsync(file.fileno())
        sync_folder(self.path.parent)

    def _require_whole(self) -> None:
        """Refuse to write on where something was added, or where what was written is gone."""
        content = self._content
        size = self.path.stat().st_size if self.path.exists() else 0
        if size < content.size:
            raise LinesLost(
                f"of the {self._what} {str(self.path)!r} only {size} of {content.size} bytes are "
                "left: it was removed or cut"
            )
        if size == content.size:
            return
        waiting = b"".join(content.waiting)
        with open(self.path, "rb") as file:
            file.seek(content.size)
            if not waiting.startswith(file.read(len(waiting) + 1)):
                raise LinesAdded(
                    f"something else has written into {str(self.path)!r}: it has {size} bytes "
                    f"where {content.size} were written; give every run its own {self._what}"
                )
        os.truncate(self.path, content.size)  # a write that was interrupted: it is done again
