"""A schedule of the learning rate: a factor in force while batches are trained, else unseen."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from numbers import Real
from typing import Any, TypeAlias

from dynhp.errors import ContractError, SettingsError, shown
from dynhp.loops import Binding, Epoch
from dynhp_keras.bindings import OptimizerSetting
from dynhp_keras.fit_call import FitCall

__all__ = ["FitSchedule", "Schedule", "fit_schedule", "is_rate", "require_schedule"]

Schedule: TypeAlias = Callable[[float], float]
"""A factor of the learning rate, as a function of the progress of a training from 0 to 1."""

_HOW = "give a function of the progress from 0 to 1, such as dynhp.tails.wsd"


class FitSchedule:
    """Multiplies the rate that is in force while the batches of an epoch are trained.

    Between epochs the optimiser has the rate itself, the height of the schedule. So snapshots,
    files and the read-back of dynhp know nothing of it, and a change of the rate by other code is
    noticed: what was put in here is taken out only if it is still there. In the tail of a try,
    which is a schedule of its own, it does nothing.

    >>> import keras
    >>> model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
    >>> model.compile(keras.optimizers.SGD(0.1), "mse")
    >>> schedule = FitSchedule(lambda progress: 1 - progress, model, first=0, epochs=2, batches=2)
    >>> [schedule.progress(epoch, batch) for epoch in (0, 1) for batch in (0, 1)]
    [0.125, 0.375, 0.625, 0.875]
    """

    def __init__(
        self,
        schedule: Schedule,
        model: Any,
        *,
        first: int,
        epochs: int,
        batches: int | None,
        at_once: int = 1,
    ) -> None:
        self._schedule, self._model = schedule, model
        self._rate = OptimizerSetting(model.optimizer, "learning_rate")
        self._first, self._epochs, self._batches = first, epochs, batches
        self._at_once = at_once  # batches between two hooks (steps_per_execution)
        self._epoch: Epoch | None = None  # the one under way, where its batches are scheduled
        self._height: Any = None  # the rate without the schedule, while the schedule is in it
        self._factor: float | None = None
        self._put: Any = None  # what the optimiser has, unless other code changed it

    def begin(self, epoch: Epoch) -> None:
        """An epoch begins."""
        self._epoch = None if epoch.tail else epoch

    def before_batch(self, batch: int) -> None:
        """Put the rate of this batch in force."""
        if self._epoch is None:
            return
        factor = self._factor_at(self.progress(int(self._epoch), batch))
        if self._height is not None and factor == self._factor:
            return  # JAX would have to hand out all of its state for nothing
        # On JAX the variables are empty between batches, until the state is asked for.
        getattr(self._model, "jax_state_sync", _nothing)()
        if self._height is None:
            self._height = self._rate.get()
        elif self._rate.get() != self._put:
            return  # other code set it: the read-back at the end of the epoch shall see that
        self._rate.set(self._height * factor)
        self._factor, self._put = factor, self._rate.get()

    def put_back(self) -> None:
        """The batches of the epoch are over: the optimiser has the height again."""
        height, self._height, self._epoch = self._height, None, None
        if height is not None and self._rate.get() == self._put:
            self._rate.set(height)

    def progress(self, epoch: int, batch: int) -> float:
        """How far the training is in the middle of this batch, or of its epoch."""
        within = 0.5  # the number of batches is not known
        if self._batches is not None:
            end = min(batch + self._at_once, self._batches)
            within = min(1.0, (batch + end) / 2 / self._batches)
        return (self._first + epoch + within) / self._epochs

    def _factor_at(self, progress: float) -> float:
        factor: Any = self._schedule(progress)
        if not _is_factor(factor):
            raise ContractError(
                "schedule must give a factor of the learning rate, a finite number from 0 on, got "
                f"{shown(factor)} for the progress {progress:.3g}; {_HOW}"
            )
        return float(factor)


def require_schedule(schedule: Any) -> None:
    """Refuse what can be no schedule when the callback is made.

    >>> require_schedule(lambda progress: 1 - progress)
    """
    if schedule is not None and (not callable(schedule) or isinstance(schedule, type)):
        raise SettingsError(f"schedule must be a function, got {shown(schedule)}; {_HOW}")


def fit_schedule(
    schedule: Schedule | None, bound: Mapping[str, Binding], model: Any, call: FitCall
) -> FitSchedule | None:
    """The schedule of one fit, None where there is none; refused where no rate is adapted."""
    if schedule is None:
        return None
    if not any(is_rate(binding, model.optimizer) for binding in bound.values()):
        raise SettingsError(
            "schedule= multiplies the learning rate that Adapt puts in force, but the space has "
            f"{', '.join(bound)}; adapt the learning rate too, or leave schedule= out and give "
            f"{type(model.optimizer).__name__} a keras.optimizers.schedules.LearningRateSchedule"
        )
    return FitSchedule(
        schedule,
        model,
        first=call.first,
        epochs=call.epochs,
        batches=call.iterator.num_batches,
        at_once=call.iterator.steps_per_execution,
    )


def is_rate(binding: Any, optimizer: Any) -> bool:
    """Whether this binds the learning rate of the optimiser."""
    known = isinstance(binding, OptimizerSetting) and binding.optimizer is optimizer
    return known and binding.name == "learning_rate"


def _is_factor(factor: Any) -> bool:
    is_number = isinstance(factor, Real) and not isinstance(factor, bool)  # also one of numpy
    return is_number and bool(0 <= factor < math.inf)


def _nothing() -> None:
    """Other backends have no state of their own."""
