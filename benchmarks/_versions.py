"""Another version of this project beside the one that is here, to compare the two."""

from __future__ import annotations

import io
import os
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from _facts import ROOT

__all__ = ["checked_out", "environment"]


@contextmanager
def checked_out(revision: str) -> Iterator[Path]:
    """A folder with the files of a revision, deleted in the end.

    Nothing is registered with git (``git worktree`` would be), so that nothing is left behind if
    the process is killed.
    """
    done = subprocess.run(["git", "archive", revision], cwd=ROOT, capture_output=True)
    if done.returncode:
        reason = done.stderr.decode().strip()
        raise SystemExit(f"a revision of this repository is needed, got {revision!r}: {reason}")
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
            archive.extractall(folder, filter="data")
        yield Path(folder).resolve()


def environment(tree: Path, **more: str) -> dict[str, str]:
    """The environment of a process that imports the version in this folder."""
    sources = [tree, *sorted((tree / "integrations").glob("*"))]
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(map(str, sources)),
        "OMP_NUM_THREADS": "1",
        **more,
    }
