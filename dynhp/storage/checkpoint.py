"""Checkpoints: a run killed at any moment goes on as if nothing had happened."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar, cast

from dynhp._checks import require_count, require_word
from dynhp.adapter import DynamicGridAdapter
from dynhp.errors import CheckpointError, DynhpError, SettingsError
from dynhp.middleware.display import Display
from dynhp.planning.budget import HasAdapter, adapter_of
from dynhp.records import History
from dynhp.storage.files import require_path
from dynhp.storage.folder import CheckpointFolder
from dynhp.storage.journal import Journal
from dynhp.storage.log import OnError, ResumeMode, RunLog, note_distrust
from dynhp.wrappers.shadow import Delivery, Shadow

__all__ = ["checkpoints", "resume", "run_with_checkpoints"]

Result = TypeVar("Result", covariant=True)


class Runs(Protocol[Result]):
    """What runs with checkpoints: an adapter gives its ``History``, a ``Shadow`` a ``Delivery``."""

    def run(self, epochs: int, *, progress: bool | Display = ...) -> Result:
        """Train until the main line has that many epochs."""
        ...


def run_with_checkpoints(
    adapter: Runs[Result],
    epochs: int,
    *,
    checkpoint: str | os.PathLike[str],
    every: int = 1,
    keep: int = 2,
    journal: str | os.PathLike[str] | None = None,
    resume: ResumeMode = "allow",
    on_checkpoint_error: OnError = "stop",
    progress: bool | Display = False,
) -> Result:
    """Run until the main line has that many epochs, or go on with a run that was interrupted.

    The same call in a new process goes on where the old one was, even in the middle of a round.

    Args:
        adapter: what runs; newly made, with the settings of the run that is saved, if one is. With
            a ``Shadow`` both of its lines are saved, each in a folder below.
        epochs: of the main line in the end; fewer than the saved run has already are refused.
        checkpoint: the folder in which the run is saved.
        every: how many rounds lie between checkpoints.
        keep: how many checkpoints are kept, the newest.
        journal: a file for ``Journal``, if wanted.
        resume: ``"allow"`` a saved run in the folder, or demand one (``"must"``) or none
            (``"never"``).
        on_checkpoint_error: ``"stop"`` if a checkpoint cannot be written, or ``"warn"``.
        progress: show the run while it goes on.

    >>> import tempfile
    >>> from dynhp import lowest
    >>> from dynhp.testing import NoisyQuadratic
    >>> folder = tempfile.TemporaryDirectory()
    >>> def adapter():
    ...     return DynamicGridAdapter(NoisyQuadratic(), {"lr": [0.01, 0.1]},
    ...                               criterion=lowest("loss"), adapt_every=5, try_for=1)
    >>> half = run_with_checkpoints(adapter(), 10, checkpoint=folder.name)
    >>> whole = run_with_checkpoints(adapter(), 20, checkpoint=folder.name)
    >>> whole == adapter().run(20)
    True
    >>> folder.cleanup()
    """
    epochs = require_count("epochs", epochs)
    main_line = adapter_of(adapter)

    @contextmanager
    def saving(folder: str | os.PathLike[str], line: DynamicGridAdapter) -> Iterator[None]:
        line.epochs = epochs  # set before the run is loaded, so that the plans can be compared
        with (
            _journal(line, journal if line is main_line else None, on_checkpoint_error),
            checkpoints(
                folder, line, every=every, keep=keep, resume=resume, on_error=on_checkpoint_error
            ),
        ):
            yield

    result: History | Delivery
    if isinstance(adapter, Shadow):
        home = require_path("the folder", checkpoint).absolute()
        try:
            result = adapter.run(
                epochs, progress=progress, saving=lambda name, line: saving(home / name, line)
            )
        except DynhpError as failure:
            rounds = len(main_line.memory.rounds)
            proved = len(main_line.memory.tried)
            note_distrust(CheckpointFolder(home / "shadow"), failure, rounds=rounds, proved=proved)
            raise
    else:
        with saving(checkpoint, main_line):
            result = main_line.run(epochs, progress=progress)
    return cast(Result, result)


def resume(
    checkpoint: str | os.PathLike[str],
    adapter: DynamicGridAdapter,
    *,
    every: int = 1,
    keep: int = 2,
    journal: str | os.PathLike[str] | None = None,
    on_checkpoint_error: OnError = "stop",
    progress: bool | Display = False,
) -> History:
    """Go on with the run that is saved in a folder, until the epochs it was planned for.

    Args:
        checkpoint: the folder in which the run is saved.
        adapter: what runs; newly made, with the same settings: one with others is refused.
        every: how many rounds lie between checkpoints.
        keep: how many checkpoints are kept, the newest.
        journal: a file for ``Journal``, if wanted.
        on_checkpoint_error: ``"stop"`` if a checkpoint cannot be written, or ``"warn"``.
        progress: show the run while it goes on.

    >>> import tempfile
    >>> from dynhp import lowest
    >>> from dynhp.testing import NoisyQuadratic
    >>> folder = tempfile.TemporaryDirectory()
    >>> def adapter():
    ...     return DynamicGridAdapter(NoisyQuadratic(), {"lr": [0.01, 0.1]},
    ...                               criterion=lowest("loss"), adapt_every=5, try_for=1)
    >>> with checkpoints(folder.name, adapter()) as begun:
    ...     _ = next(begun.rounds(20))  # one round, then the process was killed
    >>> resume(folder.name, adapter()) == adapter().run(20)
    True
    >>> folder.cleanup()
    """
    adapter = _no_shadow(adapter)
    saving = checkpoints(
        checkpoint, adapter, every=every, keep=keep, resume="must", on_error=on_checkpoint_error
    )
    with _journal(adapter, journal, on_checkpoint_error), saving:
        if adapter.epochs is None:
            raise CheckpointError(
                f"the run in {os.fspath(checkpoint)!r} was not planned for a number of epochs; "
                "go on with run_with_checkpoints(adapter, epochs, checkpoint=...)"
            )
        return adapter.run(adapter.epochs, progress=progress)


@contextmanager
def checkpoints(
    folder: str | os.PathLike[str],
    adapter: DynamicGridAdapter | HasAdapter,
    *,
    every: int = 1,
    keep: int = 2,
    resume: ResumeMode = "allow",
    on_error: OnError = "stop",
) -> Iterator[DynamicGridAdapter]:
    """Save whatever the adapter does inside, after going on from what is saved there already.

    For runs that are driven by hand: ``rounds``, ``step``, or the ``adapter`` of a loop, of which
    whole rounds are saved. The output of a ``Journal`` is cut back to what is saved.

    Args:
        folder: where the run is saved.
        adapter: what runs (a loop will do); newly made, with the settings of the run that is
            saved, if one is.
        every: how many rounds lie between checkpoints.
        keep: how many checkpoints are kept, the newest.
        resume: ``"allow"`` a saved run in the folder, or demand one (``"must"``) or none
            (``"never"``).
        on_error: ``"stop"`` if a checkpoint cannot be written, or ``"warn"``.

    >>> import tempfile
    >>> from dynhp import adapt, lowest
    >>> from dynhp.testing import Quadratic
    >>> folder = tempfile.TemporaryDirectory()
    >>> for epochs in (5, 10):  # two processes, one after the other
    ...     model = Quadratic()
    ...     loop = adapt(epochs, state=[model], space={"lr": [0.1, 0.5]}, criterion=lowest("loss"),
    ...                  adapt_every=5, try_for=1)
    ...     with checkpoints(folder.name, loop.adapter):
    ...         for epoch in loop:
    ...             model.train_k(1, epoch.values)
    ...             epoch.report(loss=model.metrics()["loss"])
    >>> loop.history.epochs, model.x == 0.5**10
    (10, True)
    >>> folder.cleanup()
    """
    every = require_count("every", every)
    keep = require_count("keep", keep)
    require_word("on_error", on_error, ("stop", "warn"))
    require_word("resume", resume, ("allow", "must", "never"))
    adapter = _no_shadow(adapter)
    log = RunLog(
        CheckpointFolder(require_path("the folder", folder).absolute()),
        adapter,
        every=every,
        keep=keep,
        on_error=on_error,
    )
    with log.saving(resume):
        yield adapter


def _no_shadow(adapter: Any) -> DynamicGridAdapter:
    """The adapter; a ``Shadow`` is refused, because its two lines are saved side by side."""
    if isinstance(adapter, Shadow):
        raise SettingsError(
            "a Shadow trains two lines, which run_with_checkpoints(shadow, epochs, checkpoint=...) "
            "saves and goes on with"
        )
    return adapter_of(adapter)


@contextmanager
def _journal(
    adapter: DynamicGridAdapter, path: str | os.PathLike[str] | None, on_error: OnError
) -> Iterator[None]:
    before = adapter.callbacks
    if path is not None:
        adapter.callbacks = (*before, Journal(path, on_error=on_error))
    try:
        yield
    finally:
        adapter.callbacks = before
