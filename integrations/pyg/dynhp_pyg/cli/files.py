"""A folder of results: proved writable before anything is trained, each file whole or not there."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from dynhp.errors import SettingsError

__all__ = ["check_writable", "write_files"]


def check_writable(folder: str | os.PathLike[str]) -> None:
    """Refuse a folder that could not be written to, and leave no trace of having looked.

    >>> check_writable(__file__)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    dynhp.errors.SettingsError: results need a folder that can be written to, got ...
    """
    there = Path(folder).absolute()
    while not there.exists() and there != there.parent:
        there = there.parent
    try:
        with tempfile.TemporaryFile(dir=there):
            pass
    except OSError as error:
        raise _refused(folder, error) from None


def write_files(
    folder: str | os.PathLike[str], files: Mapping[str, str], *, replaces: Sequence[str] = ()
) -> None:
    """Write the files, each beside its place first; all are put in place after the last is whole.

    Older files that match a pattern of `replaces` and are not written again are removed.

    >>> with tempfile.TemporaryDirectory() as home:
    ...     write_files(Path(home, "new"), {"a.txt": "one"})
    ...     Path(home, "new", "a.txt").read_text()
    'one'
    """
    target = Path(folder)
    stale = {path.name for pattern in replaces for path in target.glob(pattern)}
    waiting: list[tuple[str, Path]] = []
    try:
        target.mkdir(parents=True, exist_ok=True)
        try:
            for name, text in files.items():
                waiting.append((_beside(target, text), target / name))
            while waiting:
                os.replace(*waiting[0])
                del waiting[0]
            for name in stale:
                if name not in files:  # of an earlier run with more seeds
                    (target / name).unlink(missing_ok=True)
        finally:
            for temporary, _ in waiting:
                os.unlink(temporary)
    except OSError as error:
        raise _refused(folder, error) from None


def _beside(folder: Path, text: str) -> str:
    handle, temporary = tempfile.mkstemp(dir=folder, suffix=".tmp")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        os.chmod(temporary, 0o644)  # mkstemp's own mode lets nobody else read it
    except BaseException:
        os.unlink(temporary)
        raise
    return temporary


def _refused(folder: str | os.PathLike[str], error: OSError) -> SettingsError:
    return SettingsError(
        f"results need a folder that can be written to, got {os.fspath(folder)!r} "
        f"({error.strerror}); choose another --out"
    )
