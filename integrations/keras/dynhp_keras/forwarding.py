"""A callback that stands for all others of a fit, and says to them what happens in a pass."""

from __future__ import annotations

from typing import Any

import keras

from dynhp_keras.schedule import FitSchedule
from dynhp_keras.stage import MainLineStage

__all__ = ["Forwarding"]


class Forwarding(keras.callbacks.Callback):  # type: ignore[misc]
    """What happens to batches and validations goes to the stage as it is; epochs do not."""

    _stage: MainLineStage | None = None
    _scheduled: FitSchedule | None = None

    def _say(self, hook: str, *args: Any) -> None:
        if self._stage is not None:
            self._stage.call(hook, *args)

    def _take_off_schedule(self) -> None:
        if self._scheduled is not None:
            self._scheduled.put_back()

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        """A batch begins; callbacks that are told see the rate that it is trained with."""
        if self._scheduled is not None:
            self._scheduled.before_batch(batch)
        self._say("on_train_batch_begin", batch, logs)

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """A batch has ended."""
        self._say("on_train_batch_end", batch, logs)

    def on_test_begin(self, logs: Any = None) -> None:
        """A validation begins."""
        self._say("on_test_begin", logs)

    def on_test_end(self, logs: Any = None) -> None:
        """A validation has ended."""
        self._say("on_test_end", logs)

    def on_test_batch_begin(self, batch: int, logs: Any = None) -> None:
        """A batch of a validation begins."""
        self._say("on_test_batch_begin", batch, logs)

    def on_test_batch_end(self, batch: int, logs: Any = None) -> None:
        """A batch of a validation has ended."""
        self._say("on_test_batch_end", batch, logs)
