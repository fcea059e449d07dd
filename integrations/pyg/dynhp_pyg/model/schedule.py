"""The learning rate of each epoch, which falls while the model trains."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

from dynhp.errors import SettingsError
from dynhp_pyg.checks import one_of, whole

__all__ = ["RateSchedule", "ScheduleName"]

ScheduleName = Literal["cosine", "constant"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RateSchedule:
    """The learning rate by epoch: constant, or half a cosine from the first value to 0.

    As with ``torch.optim.lr_scheduler.CosineAnnealingLR`` it rises again after ``epochs``.

    >>> schedule = RateSchedule(name="cosine", learning_rate=0.1, epochs=500)
    >>> schedule.at(0), schedule.at(250), schedule.at(500)
    (0.1, 0.05, 0.0)
    """

    name: ScheduleName
    learning_rate: float
    epochs: int

    def __post_init__(self) -> None:
        whole("epochs", self.epochs, least=1)
        one_of("schedule", self.name, get_args(ScheduleName))
        if not (math.isfinite(self.learning_rate) and self.learning_rate > 0):
            raise SettingsError(
                f"learning_rate must be finite and above 0, got {self.learning_rate!r}; "
                "the paper uses 0.1"
            )

    def at(self, epoch: int) -> float:
        """Give the learning rate of the epoch that starts after ``epoch`` others."""
        if self.name == "constant":
            return self.learning_rate
        return 0.5 * self.learning_rate * (1.0 + math.cos(math.pi * epoch / self.epochs))
