"""A folder of results: proved writable before anything is trained, each file whole or not there."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from dynhp.errors import SettingsError
from dynhp.storage.files import write_texts

__all__ = ["check_writable", "write_files"]


def check_writable(folder: str | os.PathLike[str]) -> None:
    """Refuse a folder that could not be written to, and leave no trace of having looked.

    >>> check_writable(__file__)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    dynhp.errors.SettingsError: results need a folder that can be written to, got ...
    """
    existing = Path(folder).absolute()
    while not existing.exists() and existing != existing.parent:
        existing = existing.parent
    try:
        with tempfile.TemporaryFile(dir=existing):
            pass
    except OSError as error:
        raise _refused(folder, error) from None


def write_files(
    folder: str | os.PathLike[str], files: Mapping[str, str], *, replaces: Sequence[str] = ()
) -> None:
    """Write the files; they appear when the last one is whole.

    Older files that match a pattern of `replaces` and are not written again are removed.

    >>> with tempfile.TemporaryDirectory() as home:
    ...     write_files(Path(home, "new"), {"a.txt": "one"})
    ...     Path(home, "new", "a.txt").read_text()
    'one'
    """
    target = Path(folder)
    older = {path.name for pattern in replaces for path in target.glob(pattern)}
    try:
        write_texts(target, files)
        for name in older - files.keys():  # of an earlier run with more seeds
            (target / name).unlink(missing_ok=True)
    except OSError as error:
        raise _refused(folder, error) from None


def _refused(folder: str | os.PathLike[str], error: OSError) -> SettingsError:
    return SettingsError(
        f"results need a folder that can be written to, got {os.fspath(folder)!r} "
        f"({error.strerror}); choose another --out"
    )
