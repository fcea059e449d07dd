"""Files that are there whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, TypeVar

__all__ = ["remove", "sync_folder", "write_atomically"]

T = TypeVar("T")


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
