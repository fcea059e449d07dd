"""Disks that are small or read-only, and folders that another process has locked."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

HOLD = """
import sys
from pathlib import Path
from dynhp.storage.files import locked
with locked(Path(sys.argv[1])):
    print("mine", flush=True)
    sys.stdin.read()
"""


@contextlib.contextmanager
def held_by_another_process(folder: Path) -> Iterator[None]:
    """Lock a folder as another process does that writes into it."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"mine\n"
        yield
        other.kill()


def readonly(folder: Path) -> bool:
    """Whether files cannot be made here, even by a user who may do anything."""
    try:
        (folder / "probe").touch()
    except OSError:
        return True
    (folder / "probe").unlink()
    return False


def remount(folder: Path, option: str) -> None:
    """Change how a disk is mounted."""
    subprocess.run(["mount", "-o", f"remount,{option}", str(folder)], check=True)


@contextlib.contextmanager
def mounted(*options: str) -> Iterator[Path]:
    """A small disk of its own, where the system allows it."""
    folder = Path(tempfile.mkdtemp())
    command = ["mount", "-t", "tmpfs", "-o", ",".join(options), "tmpfs", str(folder)]
    try:
        done = subprocess.run(command, capture_output=True) if shutil.which("mount") else None
        if done is None or done.returncode:
            pytest.skip("no disk may be mounted here")
        try:
            yield folder
        finally:
            subprocess.run(["umount", str(folder)], check=True)
    finally:
        folder.rmdir()
