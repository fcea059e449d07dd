"""What a try would report or write into files, held back until the try is kept."""

from __future__ import annotations

import copy
import json
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from transformers import PrinterCallback, ProgressCallback

from dynhp_torch.parts import frozen

__all__ = ["FILE", "HeldReports", "is_reporter"]

FILE = "dynhp.json"  # what Adapt needs, in a checkpoint's folder
_HELD = ("on_log", "on_evaluate", "on_save", "on_predict", "on_epoch_begin", "on_epoch_end")
_REPORTERS = ("transformers.integrations", "transformers.utils.notebook")


def is_reporter(callback: Any) -> bool:
    """Whether a callback only shows or records: bars, printers, loggers of other services."""
    shows = isinstance(callback, PrinterCallback | ProgressCallback)
    return shows or type(callback).__module__.startswith(_REPORTERS)


class HeldReports:
    """Takes the place of a trainer's reporters and of its folder of checkpoints, in one try."""

    def __init__(self, trainer: Any) -> None:
        self._trainer = trainer
        self._calls: list[Callable[[], None]] = []
        self._callbacks: list[Any] | None = None
        self._staging: Path | None = None
        self.entries: list[dict[str, Any]] = []  # of checkpoints, to be completed

    def start(self) -> None:
        """From here on nothing is shown, sent or written."""
        handler = self._trainer.callback_handler
        self._callbacks = handler.callbacks
        handler.callbacks = [
            _Recorder(each, self._calls) if is_reporter(each) else each for each in self._callbacks
        ]

    def stop(self) -> None:
        """Everything is shown again."""
        if self._callbacks is not None:
            self._trainer.callback_handler.callbacks = self._callbacks
            self._callbacks = None

    def drop(self) -> None:
        """The try was not kept: it has never been."""
        self._calls.clear()
        if self._staging is not None:
            shutil.rmtree(self._staging, ignore_errors=True)
            self._staging = None

    def carry_out(self) -> None:
        """The try was kept, so its epochs are of the main line: report and write them."""
        for call in self._calls:
            call()
        self.drop()

    def save(self, save: Callable[[], None], folder: str, entry: dict[str, Any]) -> None:
        """Let the trainer save into a folder that looks like its own and is not."""
        trainer, real = self._trainer, Path(folder)
        staging = self._staging or self._mirror(real)
        before = {path.name for path in staging.iterdir()}
        _move_best(trainer.state, real, staging)
        vars(trainer)["_get_output_dir"] = lambda trial: str(staging)
        try:
            save()
        finally:
            del vars(trainer)["_get_output_dir"]
            _move_best(trainer.state, staging, real)
        name = f"checkpoint-{trainer.state.global_step}"
        trainer.state.save_to_json(str(staging / name / "trainer_state.json"))
        removed = before - {path.name for path in staging.iterdir()}
        self.entries.append(entry)
        self._calls.append(lambda: _publish(staging, real, name, removed, entry))

    def _mirror(self, real: Path) -> Path:
        """A folder in which the checkpoints so far are empty, so that old ones can be counted."""
        staging = self._staging = Path(tempfile.mkdtemp(prefix="dynhp-"))
        for path in real.glob("checkpoint-*"):
            (staging / path.name).mkdir()
            times = path.stat()
            os.utime(staging / path.name, (times.st_atime, times.st_mtime))
        return staging


def _publish(
    staging: Path, real: Path, name: str, removed: set[str], entry: dict[str, Any]
) -> None:
    if (staging / name).exists():  # else a later epoch of the same try has removed it again
        real.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(real / name, ignore_errors=True)
        shutil.move(staging / name, real / name)
        (real / name / FILE).write_text(json.dumps(entry), "utf-8")
    for each in removed:
        shutil.rmtree(real / each, ignore_errors=True)


def _move_best(state: Any, here: Path, there: Path) -> None:
    best = state.best_model_checkpoint
    if best is not None and Path(best).parent == here:
        state.best_model_checkpoint = str(there / Path(best).name)


class _Recorder:
    """Stands for a reporter in a try and notes what it would have been told."""

    def __init__(self, callback: Any, calls: list[Callable[[], None]]) -> None:
        self._callback = callback
        self._calls = calls

    def __getattr__(self, event: str) -> Any:
        if not event.startswith("on_"):
            raise AttributeError(event)

        def note(args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            if event in _HELD:
                then = copy.copy(state)
                then.log_history = list(state.log_history)
                flags, given = copy.copy(control), frozen(kwargs)
                tell = getattr(self._callback, event)
                self._calls.append(lambda: tell(args, then, flags, **given))

        return note
