"""Files of lines that only grow: appended durably, mended after a kill, read back strictly."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from dynhp.errors import CheckpointError, DamagedFile
from dynhp.storage.codecs.json_text import strict_json
from dynhp.storage.files import sync_folder

__all__ = ["AppendedFile", "Lines", "LinesAdded", "LinesLost", "parsed", "split_lines"]


class LinesLost(OSError):
    """What was written is no longer there."""


class LinesAdded(CheckpointError):
    """Something else has written into the file."""


class _Content(NamedTuple):
    """What is in the file, and what is to be; replaced as a whole, so Ctrl-C never halves it."""

    size: int
    digest: Any
    lines: int
    waiting: Sequence[bytes]  # lines that are not in the file yet
    torn: bool  # whether the file goes on with what an earlier process wrote, which is to be cut


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
        self._content = _Content(0, hashlib.sha256(), 0, [], torn=False)
        self._named = False  # whether the file's name is known to survive a power cut

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
        """Go on from a position; gives what is before it, or None if that is not in the file.

        What follows in the file is cut off by the next write, or by ``cut``.
        """
        data = self._read()
        if not isinstance(position, Mapping) or type(position.get("bytes")) is not int:
            return None
        before = data[: max(0, position["bytes"])]
        if {"bytes": len(before), "sha256": hashlib.sha256(before).hexdigest()} != dict(position):
            return None
        self._go_on_after(before, torn=len(data) > len(before))
        return before

    def take_up_whole_lines(self) -> Lines:
        """Go on after the last whole line; gives all lines, like ``split_lines``."""
        data = self._read()
        lines = split_lines(data)
        self._go_on_after(data.removesuffix(lines.torn), torn=bool(lines.torn))
        return lines

    def _read(self) -> bytes:
        return self.path.read_bytes() if self.path.exists() else b""

    def _go_on_after(self, before: bytes, *, torn: bool) -> None:
        digest = hashlib.sha256(before)
        self._content = _Content(len(before), digest, before.count(b"\n"), [], torn)

    def cut(self) -> None:
        """Cut off what lies behind the place that was taken up."""
        if self._content.torn:
            os.truncate(self.path, self._content.size)
            self._content = self._content._replace(torn=False)

    def write(self) -> None:
        """Append the lines that wait, all of them or none."""
        self.cut()
        self._require_whole()
        size, digest, lines, waiting, _ = self._content
        data = b"".join(waiting)
        try:
            with open(self.path, "ab") as file:
                file.write(data)
        except OSError:
            with suppress(OSError):
                os.truncate(self.path, size)
            raise
        digest = digest.copy()
        digest.update(data)
        self._content = _Content(size + len(data), digest, lines + len(waiting), [], torn=False)

    def sync(self) -> None:
        """Make sure that the file survives a power cut."""
        with open(self.path, "r+b") as file:
            os.fsync(file.fileno())
        if not self._named:
            sync_folder(self.path.parent)
            self._named = True

    def _require_whole(self) -> None:
        """Refuse to write on if something was added, or if what was written is gone."""
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
                if not content.size:
                    raise LinesAdded(
                        f"{str(self.path)!r} holds something already; give every run its own "
                        f"{self._what}, or go on with its run from a checkpoint"
                    )
                raise LinesAdded(
                    f"something else has written into {str(self.path)!r}: it has {size} bytes "
                    f"where {content.size} were written; give every run its own {self._what}"
                )
        os.truncate(self.path, content.size)  # a write that was interrupted: it is done again


class Lines(NamedTuple):
    """The whole lines of a file, and what follows the last of them."""

    whole: Sequence[bytes]
    torn: bytes


def split_lines(data: bytes) -> Lines:
    """Separate whole lines from what a kill has torn.

    >>> split_lines(b'{"event":"run"}\\n{"ev')
    Lines(whole=[b'{"event":"run"}'], torn=b'{"ev')
    """
    *whole, torn = data.split(b"\n")
    return Lines(whole, torn)


def parsed(
    lines: Sequence[bytes],
    take: Callable[[Any], Any],
    *,
    path: str | Path,
    what: str,
    first: int = 1,
    way_out: str = "",
) -> Iterator[Any]:
    """What ``take`` returns for each line; a line that it refuses is named by its number.

    >>> list(parsed([b'{"n":3}', b'{"n":4}'], lambda line: line["n"], path="x", what="a sum"))
    [3, 4]
    >>> list(parsed([b'{"m":3}'], lambda line: line["n"], path="x", what="a sum", first=7))
    Traceback (most recent call last):
    ...
    dynhp.errors.DamagedFile: line 7 of 'x' is not a line of a sum ('n'): '{"m":3}'
    """
    for number, line in enumerate(lines, start=first):
        try:
            made = take(strict_json(line))
        except (DamagedFile, LookupError, TypeError, ValueError, AttributeError) as damage:
            raise DamagedFile(
                f"line {number} of {str(path)!r} is not a line of {what} ({damage}): "
                f"{line[:80].decode('ascii', 'replace')!r}{way_out}"
            ) from None
        yield made
