"""What LearningRateMonitor logs under a scheduler: the rates that steps are made with."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from lightning.pytorch.callbacks import LearningRateMonitor

from dynhp_torch.settings.reading import true_rates

__all__ = ["RateMonitors"]

_READ = ("on_train_epoch_start", "on_train_batch_start")  # where a monitor reads the groups


class RateMonitors:
    """The monitors of a trainer, in whose hooks the groups of the optimisers have true rates.

    In hooks of other callbacks they do not: one that writes a rate would have the factor in it
    twice. A monitor only reads.
    """

    def __init__(self, trainer: Any) -> None:
        self._trainer = trainer
        self._undo: list[Callable[[], None]] = []

    def show_true_rates(self) -> None:
        """From here on monitors see the rates with their factors."""
        for callback in self._trainer.callbacks:
            if isinstance(callback, LearningRateMonitor):
                for name in _READ:
                    self._show(callback, name)

    def remove(self) -> None:
        """Give the monitors their own hooks back."""
        while self._undo:
            self._undo.pop()()

    def _show(self, monitor: Any, name: str) -> None:
        hook, own = getattr(monitor, name), vars(monitor)

        @functools.wraps(hook)
        def shown(*args: Any, **kwargs: Any) -> None:
            with true_rates(self._trainer.optimizers):
                hook(*args, **kwargs)

        own[name] = shown
        self._undo.append(lambda: own.pop(name, None))
