"""The logger of TensorBoard: an event file for the main line and one for the tries."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from dynhp.errors import CheckpointError, SettingsError, shown
from dynhp.records import Event
from dynhp.report import Scalar, ScalarLog
from dynhp.storage.lines import AppendedFile
from dynhp_tensorboard.records import first_record, records_of

__all__ = ["TensorBoard"]

FILE = "events.out.tfevents.0.dynhp"


class TensorBoard:
    """A callback that writes a run into event files, which ``tensorboard --logdir`` shows.

    Two runs of TensorBoard, ``main`` and ``tries``: in ``main`` the step is the epoch of the main
    line (``main/<metric>``, ``schedule/<name>``, ``cost/...``), in ``tries`` the epochs trained in
    tries so far (``tries/<metric>``, ``values/<name>``, ``try/...``). A run that goes on from a
    checkpoint goes on in the same files, which are cut back to it. TensorBoard keeps seven digits.

    Args:
        logdir: a folder, which must not hold another run; it is made with the first round.
        tries: whether the tries are written too.
        on_error: ``"stop"`` where the files cannot be written, or ``"warn"`` and write later.

    >>> import os, tempfile
    >>> from dynhp import DynamicGridAdapter
    >>> from dynhp.testing import Quadratic
    >>> folder = tempfile.TemporaryDirectory()
    >>> adapter = DynamicGridAdapter(Quadratic(), {"lr": [0.1, 0.5]}, minimize="loss",
    ...                              adapt_every=5, try_for=1, callbacks=[TensorBoard(folder.name)])
    >>> _ = adapter.run(10)
    >>> sorted(os.listdir(folder.name))
    ['main', 'tries']
    >>> folder.cleanup()
    """

    def __init__(
        self,
        logdir: str | os.PathLike[str],
        *,
        tries: bool = True,
        on_error: Literal["stop", "warn"] = "stop",
    ) -> None:
        if not isinstance(logdir, str | os.PathLike) or not os.fspath(logdir):
            raise SettingsError(f"TensorBoard: logdir must be a folder, got {shown(logdir)}")
        self.logdir = Path(logdir)
        self._log = ScalarLog(self._write, name="TensorBoard", on_error=on_error)
        axes = ("main", "tries") if tries else ("main",)
        self._files = {
            axis: AppendedFile(self.logdir / axis / FILE, what="event file") for axis in axes
        }
        # How many of the numbers that are to be written are in the file of an axis already.
        self._done = dict.fromkeys(axes, 0)
        self._now: float | None = None  # the time of what is to be written

    def __call__(self, event: Event) -> None:
        """Write what a round came to, when it is over."""
        self._log(event)

    def position(self) -> dict[str, Any] | None:
        """Where the files stand, once they are safe on disk; None where they are lost."""
        log = self._log.position()
        try:
            for file in self._files.values():
                if file.position()["bytes"]:
                    file.sync()
        except OSError as failure:
            if self._log.on_error == "stop":
                raise
            warnings.warn(f"TensorBoard: {failure}", RuntimeWarning, stacklevel=2)
            return None
        files = {axis: file.position() for axis, file in self._files.items()}
        return {"log": log, "files": files, "done": dict(self._done)}

    def rewind(self, position: Any) -> None:
        """Cut the files back to a position that they were in."""
        match position:
            case {"log": log, "files": dict(files), "done": dict(done)}:
                self._log.rewind(log)
                self._done = {axis: done.get(axis, 0) for axis in self._files}
            case _:
                raise CheckpointError(
                    f"TensorBoard: not a position of this logger, got {shown(position)}; go on "
                    "without it, or from another checkpoint"
                )
        for axis, file in self._files.items():
            if axis not in files:
                continue  # the tries are written from now on
            if file.take_up(files[axis]) is None:
                raise CheckpointError(
                    f"TensorBoard: {str(file.path)!r} is not the event file of this run: its "
                    "beginning is another. Put the right one there, or go on without"
                )
            file.cut()

    def _write(self, scalars: Sequence[Scalar]) -> None:
        # The time of the first attempt: a second one writes the same bytes, and more behind them.
        now = self._now = self._now or time.time()
        for axis, file in self._files.items():
            numbers = [scalar for scalar in scalars if scalar.axis == axis]
            data = records_of(numbers[self._done[axis] :], now)
            if not data:
                continue
            first = b"" if file.position()["bytes"] else first_record(now)
            file.path.parent.mkdir(parents=True, exist_ok=True)
            file.wait_with([first + data])
            file.write()
            self._done[axis] = len(numbers)
        self._done, self._now = dict.fromkeys(self._done, 0), None
