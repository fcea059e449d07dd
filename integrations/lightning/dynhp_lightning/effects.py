"""What a try would write: to loggers and into files, held back until the try is kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lightning.pytorch.callbacks import ModelCheckpoint, ProgressBar
from lightning.pytorch.plugins import CheckpointIO

from dynhp_torch.parts import frozen, is_plain

__all__ = ["Effects", "HeldBack"]

_Call = Callable[[], None]


class Effects:
    """What one epoch of a try wanted to write, in order.

    >>> effects, written = Effects(), []
    >>> effects.hold(written.append)("a line"); written
    []
    >>> effects.carry_out(); written
    ['a line']
    """

    def __init__(self) -> None:
        self._calls: list[_Call] = []
        self.checkpoints: list[dict[str, Any]] = []

    def add(self, call: _Call) -> None:
        """Remember a call for later."""
        self._calls.append(call)

    def hold(self, function: Callable[..., Any]) -> Callable[..., None]:
        """The function as it is called in a try: what it is given is copied, for later."""

        def held(*args: Any, **kwargs: Any) -> None:
            given, named = frozen(args), frozen(kwargs)
            self.add(lambda: function(*given, **named))

        return held

    def carry_out(self) -> None:
        """Write it all: the try was kept, so its epochs are of the main line."""
        for call in self._calls:
            call()


class HeldBack:
    """Takes the place of loggers, checkpoint files and progress bars of a trainer in tries.

    Loggers and checkpoint callbacks work as ever in a try, so that their own state is that of an
    epoch of the main line if the try is kept; only what leaves the process waits.
    """

    def __init__(self, trainer: Any) -> None:
        self._trainer = trainer
        self._effects: Effects | None = None
        self._undo: list[_Call] = []
        self._files: dict[str, bool] = {}  # written (True) or removed by the try, not yet on disk

    def new_try(self) -> None:
        """Another try begins: the files of the one before were never written."""
        self._files.clear()

    def start(self) -> Effects:
        """From here on nothing is written."""
        trainer, effects = self._trainer, Effects()
        self._effects = effects
        callbacks = trainer.callbacks
        trainer.callbacks = [each for each in callbacks if not isinstance(each, ProgressBar)]
        self._undo.append(lambda: setattr(trainer, "callbacks", callbacks))
        files = trainer.strategy.checkpoint_io
        trainer.strategy.checkpoint_io = _HeldFiles(files, effects, self._files)
        self._undo.append(lambda: setattr(trainer.strategy, "checkpoint_io", files))
        for logger in trainer.loggers:
            self._hold_logger(logger, effects)
        for callback in callbacks:
            if isinstance(callback, ModelCheckpoint):
                self._hold_checkpoint(callback, effects)
        return effects

    def stop(self) -> None:
        """Everything is written again."""
        self._effects = None
        while self._undo:
            self._undo.pop()()

    def _hold_logger(self, logger: Any, effects: Effects) -> None:
        kind = type(logger)
        # Its class, not the object, is replaced: all that hold the logger see the same one.
        logger.__class__ = type(kind.__name__, (kind,), {"__getattribute__": _asks(effects)})
        self._undo.append(lambda: object.__setattr__(logger, "__class__", kind))

    def _hold_checkpoint(self, callback: ModelCheckpoint, effects: Effects) -> None:
        """Links are files too, and a name is taken once the try has used it."""
        exists, files = callback.file_exists, self._files

        def file_exists(filepath: Any, trainer: Any) -> bool:
            return files.get(str(filepath), bool(exists(filepath, trainer)))

        held = {"file_exists": file_exists, "_link_checkpoint": effects.hold(_linker(callback))}
        vars(callback).update(held)

        def release() -> None:
            for name in held:
                del vars(callback)[name]

        self._undo.append(release)


def _linker(callback: ModelCheckpoint) -> Callable[..., Any]:
    return callback._link_checkpoint


class _HeldFiles(CheckpointIO):
    """Checkpoints of a try, kept in memory."""

    def __init__(self, files: CheckpointIO, effects: Effects, names: dict[str, bool]) -> None:
        self._files = files
        self._effects = effects
        self._names = names

    def save_checkpoint(
        self, checkpoint: dict[str, Any], path: Any, storage_options: Any = None
    ) -> None:
        copy = frozen(checkpoint)
        self._effects.checkpoints.append(copy)
        save = self._files.save_checkpoint
        self._effects.add(lambda: save(copy, path, storage_options=storage_options))
        self._names[str(path)] = True

    def load_checkpoint(self, path: Any, *args: Any, **options: Any) -> dict[str, Any]:
        return self._files.load_checkpoint(path, *args, **options)

    def remove_checkpoint(self, path: Any) -> None:
        self._effects.add(lambda: self._files.remove_checkpoint(path))
        self._names[str(path)] = False


def _asks(effects: Effects) -> Callable[[Any, str], Any]:
    """How a logger answers in a try: what it knows as ever, what it is to write later."""

    def answer(logger: Any, name: str) -> Any:
        value = object.__getattribute__(logger, name)
        if name == "experiment":
            return _Experiment(value, effects)
        if name.startswith("_") or not callable(value):
            return value
        return effects.hold(value)

    return answer


class _Experiment:
    """What is behind a logger, such as a writer of TensorBoard: calls wait, values are there."""

    def __init__(self, thing: Any, effects: Effects) -> None:
        self._thing = thing
        self._effects = effects

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._thing, name)
        if callable(value):
            return self._effects.hold(value)
        return value if is_plain(value) else _Experiment(value, self._effects)
