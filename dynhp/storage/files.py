"""Files that are written whole or not at all, and folders that one process locks for itself."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from dynhp.errors import CheckpointError, SettingsError, shown

try:
    import fcntl
except ImportError:  # pragma: no cover - not on Windows, where nothing is locked
    fcntl = None  # type: ignore[assignment]

__all__ = ["locked", "remove", "require_path", "sync_folder", "write_atomically", "write_texts"]

T = TypeVar("T")

_HELD: dict[Path, BinaryIO] = {}  # the folders this process has locked, and the open lock files


def _let_go() -> None:  # pragma: no cover - of forked processes, which measure no coverage
    """Release the locks of the parent in a forked process, which would hold them for longer."""
    for lock in _HELD.values():
        lock.close()
    _HELD.clear()


if hasattr(os, "register_at_fork"):  # pragma: no branch - not on Windows
    os.register_at_fork(after_in_child=_let_go)


def require_path(what: str, path: Any) -> Path:
    """The path; refused if it is not one."""
    try:
        return Path(path)
    except TypeError:
        raise SettingsError(
            f"{what} must be a path, such as 'runs/first', got {shown(path)}"
        ) from None


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Make the folder and lock it for one user, at most for as long as this process lives."""
    folder.mkdir(parents=True, exist_ok=True)
    place = folder.resolve()
    if place in _HELD:
        raise CheckpointError(
            f"another run of this process is using {str(folder)!r}; let it end first, or choose "
            "another folder"
        )
    with open(folder / "lock", "ab") as lock:
        _HELD[place] = lock
        try:
            if fcntl is not None:  # pragma: no branch
                try:  # not lockf, which ends once this process closes any descriptor of the file
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    raise CheckpointError(
                        f"another process is using {str(folder)!r}; wait until it has ended, "
                        "or choose another folder"
                    ) from None
            yield
        finally:
            _HELD.pop(place, None)


def write_atomically(path: Path, write: Callable[[BinaryIO], T], *, durable: bool) -> T:
    """Write a file whole or not at all; if durable, so that it survives a power cut too."""
    with _removed_on_error(path.with_name(f"{path.name}.part")) as part:
        with open(part, "wb") as file:
            result = write(file)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        os.replace(part, path)
        if durable:
            sync_folder(path.parent)
    return result


def write_texts(folder: Path, texts: Mapping[str, str]) -> None:
    """Write texts to files of a folder, which is made; they appear when the last one is whole.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as home:
    ...     write_texts(Path(home, "new"), {"a.txt": "first", "b.txt": "second"})
    ...     sorted(path.name for path in Path(home, "new").iterdir())
    ['a.txt', 'b.txt']
    """
    folder.mkdir(parents=True, exist_ok=True)
    token = secrets.token_hex(8)  # another process may write the same files at the same time
    with ExitStack() as stack:
        parts = {}
        for name, text in texts.items():
            part = stack.enter_context(_removed_on_error(folder / f"{name}.{token}.part"))
            part.write_bytes(text.encode())
            parts[name] = part
        for name, part in parts.items():
            os.replace(part, folder / name)


@contextmanager
def _removed_on_error(path: Path) -> Iterator[Path]:
    try:
        yield path
    except BaseException:
        remove(path)
        raise


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
    """Delete a file, or leave it if that cannot be done."""
    with suppress(OSError):
        path.unlink()
