"""Snapshots of the main line kept in a folder, if memory cannot hold several states."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
import weakref
from collections.abc import Callable, Collection
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path

from dynhp.errors import CheckpointError, DamagedFile
from dynhp.snapshots import StateStore
from dynhp.storage.codecs.state_file import read_state, write_state
from dynhp.storage.files import locked, remove, require_path, write_atomically
from dynhp.trainer import State

__all__ = ["StatesOnDisk", "on_disk"]

_PREFIX = "run-"
ABANDONED = 60.0
"""A folder without a lock counts as that of a killed run only after this many seconds."""


class StatesOnDisk:
    """Keeps the states of one run as files, in a folder of its own below the given one.

    So runs that are given the same folder never share files. The run's folder is removed with this
    store; the next run removes what killed runs have left.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = StatesOnDisk(Path(folder)); name = store.put({"epoch": 3})
    ...     name, store.get(name)
    ('state-000001.zip', {'epoch': 3})
    """

    def __init__(self, folder: Path) -> None:
        self._count = 0
        self._names: set[str] = set()
        held = ExitStack()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for left in folder.glob(f"{_PREFIX}*"):
                # Its run was killed, unless it has locked the folder, or is about to.
                with suppress(CheckpointError, OSError):
                    if time.time() - left.stat().st_mtime > ABANDONED:
                        with locked(left):
                            shutil.rmtree(left, ignore_errors=True)
            self.folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=folder))
            held.enter_context(locked(self.folder))
        except OSError as failure:
            raise CheckpointError(
                f"snapshots cannot be kept in {str(folder)!r}: {failure}; choose another folder"
            ) from failure
        self._process = os.getpid()
        self._end = weakref.finalize(self, _end, self.folder, held, self._process)

    def put(self, state: State) -> str:
        """Write it."""
        self._count += 1
        name = f"{self._prefix}{self._count:06}.zip"
        try:
            write_atomically(
                self.folder / name, lambda file: write_state(state, file), durable=False
            )
        except OSError as failure:
            raise CheckpointError(
                f"a snapshot could not be written to {str(self.folder)!r}: {failure}; make room, "
                "or keep snapshots in memory"
            ) from failure
        self._names.add(name)
        return name

    def get(self, key: str) -> State:
        """Read it back."""
        try:
            with open(self.folder / key, "rb") as file:
                return read_state(file)
        except (OSError, DamagedFile) as failure:
            raise CheckpointError(
                f"the snapshot {key} in {str(self.folder)!r} cannot be read: {failure}; leave the "
                "files of a run alone"
            ) from failure

    def keep_only(self, keys: Collection[str]) -> None:
        """Remove the others."""
        for name in self._names.difference(keys):
            if name.startswith(self._prefix):
                remove(self.folder / name)
        self._names.intersection_update(keys)

    @property
    def _prefix(self) -> str:
        """How the names begin that this process gives: one that was forked may go on, too."""
        process = os.getpid()
        return "state-" if process == self._process else f"state-of-{process}-"


def _end(folder: Path, held: ExitStack, process: int) -> None:
    """Remove what a run has kept; a forked process leaves that to its parent."""
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)
        held.close()


def on_disk(folder: str | os.PathLike[str]) -> Callable[[], StateStore]:
    """Keep snapshots in this folder, as in ``Snapshots(k=3, store=on_disk("snapshots"))``.

    >>> import tempfile
    >>> from dynhp import DynamicGridAdapter, lowest
    >>> from dynhp.snapshots import Snapshots
    >>> from dynhp.testing import Quadratic
    >>> from dynhp.triggers import OnPlateau
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     adapter = DynamicGridAdapter(
    ...         Quadratic(), {"lr": [0.1, 2.0]}, criterion=lowest("loss"), initial={"lr": 2.0},
    ...         when=OnPlateau("loss", patience=3), try_for=1, start_from="before", max_rounds=1,
    ...         snapshots=Snapshots(k=4, store=on_disk(folder)))
    ...     [(round_.start, round_.abandoned) for round_ in adapter.run(6) if round_.tries]
    [(1, 3)]
    """
    return partial(StatesOnDisk, require_path("on_disk: the folder", folder).absolute())
