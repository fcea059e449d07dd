"""A callback that stands for all others of a fit, and says to them what happens in a pass."""

from __future__ import annotations

from typing import Any

import keras

from dynhp_keras.averaging import FitAverage
from dynhp_keras.schedule import FitSchedule
from dynhp_keras.stage import MainLineStage

__all__ = ["Forwarding"]


class Forwarding(keras.callbacks.Callback):  # type: ignore[misc]
    """What happens to batches and validations goes to the stage as it is; epochs do not."""

    _stage: MainLineStage | None = None
    _scheduled: FitSchedule | None = None
    _average: FitAverage | None = None
    _averaging = False  # in this pass: not in the tail of a try, which is judged as it is

    def _say(self, hook: str, *args: Any) -> None:
        if self._stage is not None:
            self._stage.call(hook, *args)

    def _take_off_schedule(self) -> None:
        if self._scheduled is not None:
            self._scheduled.put_back()

    def _take_off_average(self) -> None:
        if self._average is not None:
            self._average.take_off()

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        """A batch begins; callbacks that are told see the rate that it is trained with."""
        if self._scheduled is not None:
            self._scheduled.before_batch(batch)
        self._say("on_train_batch_begin", batch, logs)

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """A batch has ended."""
        if self._average is not None and self._averaging:
            self._average.update()
        self._say("on_train_batch_end", batch, logs)

    def on_test_begin(self, logs: Any = None) -> None:
        """A validation begins, of the averaged weights where these are the model."""
        if self._average is not None and self._averaging:
            self._average.put_on()
        self._say("on_test_begin", logs)

    def on_test_end(self, logs: Any = None) -> None:
        """A validation has ended."""
        self._say("on_test_end", logs)
        self._take_off_average()

    def on_test_batch_begin(self, batch: int, logs: Any = None) -> None:
        """A batch of a validation begins."""
        self._say("on_test_batch_begin", batch, logs)

    def on_test_batch_end(self, batch: int, logs: Any = None) -> None:
        """A batch of a validation has ended."""
        self._say("on_test_batch_end", batch, logs)
