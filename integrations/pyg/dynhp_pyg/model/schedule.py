"""The learning rate of each epoch, which falls while the model trains."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, get_args

from dynhp.errors import SettingsError
from dynhp_pyg.checks import one_of, whole

__all__ = ["RateSchedule", "ScheduleName"]

ScheduleName = Literal["cosine", "constant"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RateSchedule:
    """The learning rate by epoch: constant, or half a cosine from the first value to 0.

    As with ``torch.optim.lr_scheduler.CosineAnnealingLR`` it rises again after ``epochs``. With
    ``restarts`` it is the first value again after each ``restarts`` epochs, and falls from there by
    the factors of the cosine, as it does where an optimiser is put back but its rate is not.

    >>> schedule = RateSchedule(name="cosine", learning_rate=0.1, epochs=500)
    >>> schedule.at(0), schedule.at(250), schedule.at(500)
    (0.1, 0.05, 0.0)
    >>> restarted = RateSchedule(name="cosine", learning_rate=0.1, epochs=500, restarts=100)
    >>> restarted.at(400), round(restarted.at(499), 6)
    (0.1, 1e-05)
    """

    name: ScheduleName
    learning_rate: float
    epochs: int
    restarts: int | None = None

    def __post_init__(self) -> None:
        whole("epochs", self.epochs, least=1)
        one_of("schedule", self.name, get_args(ScheduleName))
        if not (math.isfinite(self.learning_rate) and self.learning_rate > 0):
            raise SettingsError(
                f"learning_rate must be finite and above 0, got {self.learning_rate!r}; "
                "the paper uses 0.1"
            )
        if self.restarts is not None:
            whole("rate_restarts", self.restarts, least=1)
            if self.name != "cosine":
                raise SettingsError(
                    f"rate_restarts is for a rate that falls, got {self.restarts!r} with "
                    f"schedule={self.name!r}; leave one of them out"
                )

    def at(self, epoch: int) -> float:
        """Give the learning rate of the epoch that starts after ``epoch`` others."""
        if self.name == "constant":
            return self.learning_rate
        if self.restarts is None:
            return 0.5 * self.learning_rate * (1.0 + math.cos(math.pi * epoch / self.epochs))
        if epoch >= self.epochs:  # there the rule multiplies what should be 0 without limit
            raise SettingsError(
                f"with rate_restarts a rate is defined for the {self.epochs!r} epochs of its "
                f"schedule, got epoch {epoch!r}; build the trainer with more epochs"
            )
        return _since_restart(self.learning_rate, self.epochs, self.restarts, epoch)


@lru_cache(maxsize=4096)  # every try of a round asks for the same epochs
def _since_restart(first: float, epochs: int, restarts: int, epoch: int) -> float:
    """The recursive rule of torch 1.9, in its order of operations: rate × ratio of cosines."""
    rate = first
    for each in range(epoch - epoch % restarts + 1, epoch + 1):
        before, now = (1 + math.cos(math.pi * when / epochs) for when in (each - 1, each))
        rate = now / before * rate
    return rate
