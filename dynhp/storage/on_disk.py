"""Snapshots of the main line kept in a folder, for states that are too large to hold several."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path

from dynhp.errors import CheckpointError, DamagedFile
from dynhp.main_line import StateStore
from dynhp.storage.codecs import read_state, write_state
from dynhp.storage.files import remove, require_path, write_atomically
from dynhp.trainer import State

__all__ = ["StatesOnDisk", "on_disk"]


class StatesOnDisk:
    """Keeps states as files of a folder, which is for one run alone: those of another are removed.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = StatesOnDisk(Path(folder)); name = store.put({"epoch": 3})
    ...     name, store.get(name)
    ('state-000001.zip', {'epoch': 3})
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._count = 0
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self.keep_only(())
        except OSError as failure:
            raise CheckpointError(
                f"snapshots cannot be kept in {str(folder)!r}: {failure}; choose another folder"
            ) from failure

    def put(self, state: State) -> str:
        """Write it."""
        self._count += 1
        name = f"state-{self._count:06}.zip"
        try:
            write_atomically(
                self.folder / name, lambda file: write_state(state, file), durable=False
            )
        except OSError as failure:
            raise CheckpointError(
                f"a snapshot could not be written to {str(self.folder)!r}: {failure}; make room, "
                "or keep snapshots in memory"
            ) from failure
        return name

    def get(self, key: str) -> State:
        """Read it back."""
        try:
            with open(self.folder / key, "rb") as file:
                return read_state(file)
        except (OSError, DamagedFile) as failure:
            raise CheckpointError(
                f"the snapshot {key} in {str(self.folder)!r} cannot be read: {failure}; give each "
                "run a folder of its own, and leave its files alone"
            ) from failure

    def keep_only(self, keys: Collection[str]) -> None:
        """Remove the others."""
        for path in list(self.folder.iterdir()):
            if re.fullmatch(r"state-\d{6,}\.zip(\.part)?", path.name) and path.name not in keys:
                remove(path)


def on_disk(folder: str | os.PathLike[str]) -> Callable[[], StateStore]:
    """Keep snapshots in this folder, as in ``Snapshots(k=3, store=on_disk("snapshots"))``.

    >>> import tempfile
    >>> from dynhp import DynamicGridAdapter, lowest
    >>> from dynhp.main_line import Snapshots
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
    return partial(StatesOnDisk, require_path("on_disk: the folder", folder))
