"""Where the values of a training live: settings of the optimiser, attributes of the model."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from dynhp.loops import Binding
from dynhp_torch.callbacks import Place, bindings_of
from dynhp_torch.settings import setting_binding
from dynhp_transformers.state import plain_optimizer, plain_scheduler

__all__ = ["training_bindings"]

_NAMES = {"learning_rate": "lr"}  # as TrainingArguments call it


def training_bindings(
    names: Iterable[str], places: Mapping[str, Place], trainer: Any
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
        return setting_binding(optimizer, key, [_driver(optimizer, plain_scheduler(trainer))])

    with _unwrapped_optimizer(trainer):  # a function of the user's takes trainer.optimizer
        return bindings_of(
            names, places, trainer, module=trainer.model, optimizers=[optimizer], setting=setting
        )


@contextlib.contextmanager
def _unwrapped_optimizer(trainer: Any) -> Iterator[None]:
    wrapped = trainer.optimizer
    trainer.optimizer = plain_optimizer(trainer)
    try:
        yield
    finally:
        trainer.optimizer = wrapped


def _driver(optimizer: Any, scheduler: Any) -> Any:
    """The scheduler as one of the optimiser itself: its own is accelerate's wrapper."""
    kind = type(type(scheduler).__name__, (), {"step": scheduler.step, "optimizer": optimizer})
    return kind()
