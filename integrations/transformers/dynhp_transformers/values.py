"""Where the values of a training live: settings of the optimiser, attributes of the model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from dynhp.errors import SettingsError, shown
from dynhp.loops import Binding, attribute
from dynhp_torch.optimizer_space import setting_binding
from dynhp_transformers.state import plain_optimizer, plain_scheduler

__all__ = ["TrainerPlace", "bindings_of"]

TrainerPlace: TypeAlias = str | Binding | Callable[[Any], Binding]
"""A path in the model, a binding, or a function that makes one when the optimiser is there."""

_NAMES = {"learning_rate": "lr"}  # as TrainingArguments call it


def bindings_of(
    names: Iterable[str], places: Mapping[str, TrainerPlace], trainer: Any
) -> dict[str, Binding]:
    """A binding for every name of the space.

    A name that was not given a place is a setting of the optimiser, such as ``lr``, or else an
    attribute of the model.
    """
    return {name: _binding(name, places.get(name), trainer) for name in names}


def _binding(name: str, place: TrainerPlace | None, trainer: Any) -> Binding:
    if isinstance(place, str):
        return attribute(trainer.model, place)
    if isinstance(place, Binding):
        return place
    if place is not None:
        return place(trainer)
    optimizer, setting = plain_optimizer(trainer), _NAMES.get(name, name)
    if setting != "params" and setting.partition(".")[0] in optimizer.param_groups[0]:
        return setting_binding(optimizer, setting, [_driver(optimizer, plain_scheduler(trainer))])
    try:
        return attribute(trainer.model, name)
    except SettingsError:
        settings = sorted(key for key in optimizer.param_groups[0] if key != "params")
        raise SettingsError(
            f"Adapt: {shown(name)} is no setting of the optimiser ({', '.join(settings)}) and no "
            f"attribute of {type(trainer.model).__name__}; say where it lives, as in "
            f"bind={{{name!r}: 'transformer.drop.p'}}"
        ) from None


def _driver(optimizer: Any, scheduler: Any) -> Any:
    """The scheduler as one of the optimiser itself: its own is accelerate's wrapper."""
    kind = type(type(scheduler).__name__, (), {"step": scheduler.step, "optimizer": optimizer})
    return kind()
