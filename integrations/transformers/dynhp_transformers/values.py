"""Where the values of a training live: settings of the optimiser, attributes of the model."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from dynhp.loops import Binding
from dynhp.records import Value
from dynhp.spaces import Around
from dynhp.spaces.axis import Axis
from dynhp_torch.callbacks import Place, bindings_of
from dynhp_torch.settings import optimizer_param, setting_binding
from dynhp_torch.settings.groups import rate_of_groups
from dynhp_transformers.state import plain_optimizer, plain_scheduler

__all__ = ["training_bindings"]

_NAMES = {"learning_rate": "lr"}  # as TrainingArguments call it


def training_bindings(
    space: Mapping[str, Axis], places: Mapping[str, Place], trainer: Any
) -> dict[str, Binding]:
    """A binding for every name of the space.

    A name that was not given a place is a setting of the optimiser, such as ``lr``, or else an
    attribute of the model.
    """
    optimizer = plain_optimizer(trainer)

    def setting(name: str) -> Binding | None:
        key = _NAMES.get(name, name)
        if key == "params" or key.partition(".")[0] not in optimizer.param_groups[0]:
            return None
        searched = isinstance(space[name], Around)  # around the rates in force: those of all groups
        scheduler = plain_scheduler(trainer)
        if key == "lr" and _is_constant(trainer):
            bound = rate_of_groups(optimizer) if searched else optimizer_param(optimizer, key)
            return ConstantRate(bound, scheduler)
        drivers = [_driver(optimizer, scheduler)]
        return setting_binding(optimizer, key, drivers, ratios=searched)

    with _unwrapped_optimizer(trainer):  # a function of the user's takes trainer.optimizer
        return bindings_of(
            space, places, trainer, module=trainer.model, optimizers=[optimizer], setting=setting
        )


@contextlib.contextmanager
def _unwrapped_optimizer(trainer: Any) -> Iterator[None]:
    wrapped = trainer.optimizer
    trainer.optimizer = plain_optimizer(trainer)
    try:
        yield
    finally:
        trainer.optimizer = wrapped


class ConstantRate:
    """A rate under the constant schedule of a trainer, which would put back the one at the start.

    >>> import torch
    >>> from transformers import get_constant_schedule
    >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=0.1)
    >>> schedule = get_constant_schedule(optimizer)
    >>> rate = ConstantRate(optimizer_param(optimizer, "lr"), schedule)
    >>> rate.set(0.3); optimizer.step(); schedule.step(); rate.get(), schedule.get_last_lr()
    (0.3, [0.3])
    """

    kind: ClassVar[str] = "learning_rate"

    def __init__(self, bound: Binding, scheduler: Any) -> None:
        self._bound = bound
        self._scheduler = scheduler

    @property
    def driven_by(self) -> str | None:
        """The optimiser, if it averages by itself."""
        return getattr(self._bound, "driven_by", None)

    def set(self, value: Value) -> None:
        """Write the value where the optimiser and where the schedule reads it."""
        self._bound.set(value)
        rates = [group["lr"] for group in self._scheduler.optimizer.param_groups]
        self._scheduler.base_lrs, self._scheduler._last_lr = list(rates), list(rates)

    def get(self) -> Value:
        """The rate of the optimiser."""
        return self._bound.get()


def _is_constant(trainer: Any) -> bool:
    """Whether no schedule was asked for: the trainer has made one that stays where it is."""
    return bool(trainer._created_lr_scheduler) and trainer.args.lr_scheduler_type == "constant"


def _driver(optimizer: Any, scheduler: Any) -> Any:
    """The scheduler as one of the optimiser itself: its own is accelerate's wrapper."""
    kind = type(type(scheduler).__name__, (), {"step": scheduler.step, "optimizer": optimizer})
    return kind()
