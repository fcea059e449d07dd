"""Files that are there whole or not at all, and folders that one process has to itself."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, TypeVar

from dynhp.errors import CheckpointError

try:
    import fcntl
except ImportError:  # pragma: no cover - not on Windows, where nothing is locked
    fcntl = None  # type: ignore[assignment]

__all__ = ["locked", "remove", "sync_folder", "write_atomically"]

T = TypeVar("T")

_HELD: set[Path] = set()  # by this process, to which its own locks are no obstacle


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Make the folder and have it for one user alone, for as long as this process lives."""
    folder.mkdir(parents=True, exist_ok=True)
    place = folder.resolve()
    if place in _HELD:
        raise CheckpointError(
            f"another run of this process is using {str(folder)!r}; let it end first, or choose "
            "another folder"
        )
    _HELD.add(place)
    try:
        with open(folder / "lock", "ab") as lock:
            if fcntl is not None:  # pragma: no branch
                try:  # not flock, which a forked worker would hold on to when this process dies
                    fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    raise CheckpointError(
                        f"another process is using {str(folder)!r}; wait until it has ended, "
                        "or choose another folder"
                    ) from None
            yield
    finally:
        _HELD.discard(place)


def write_atomically(path: Path, write: Callable[[BinaryIO], T], *, durable: bool) -> T:
    """Write a file that is there whole or not at all, and, if durable, after a power cut too."""
    part = path.with_name(f"{path.name}.part")
    try:
        with open(part, "wb") as file:
            result = write(file)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        os.replace(part, path)
        if durable:
            sync_folder(path.parent)
    except BaseException:
        remove(part)
        raise
    return result


def sync_folder(folder: Path) -> None:
    """Make sure that the names in a folder survive a power cut."""
    if os.name == "nt":  # pragma: no cover - where a folder cannot be opened
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove(path: Path) -> None:
    """Delete a file, or leave it where that cannot be done."""
    with suppress(OSError):
        path.unlink()
