"""Where the values of a fit live: settings of an optimiser, attributes of the module."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from lightning.pytorch import Trainer

from dynhp.errors import SettingsError, shown
from dynhp.loops import Binding, attribute
from dynhp_torch.optimizer_space import setting_binding

__all__ = ["Place", "bindings_of"]

Place: TypeAlias = str | Binding | Callable[[Trainer], Binding]
"""A path in the module, a binding, or a function that makes one when the optimisers are there."""


def bindings_of(
    names: Iterable[str], places: Mapping[str, Place], trainer: Any
) -> dict[str, Binding]:
    """A binding for every name of the space.

    A name that was not given a place is a setting of the optimiser, such as ``lr``, or else an
    attribute of the module.
    """
    return {name: _binding(name, places.get(name), trainer) for name in names}


def _binding(name: str, place: Place | None, trainer: Any) -> Binding:
    if isinstance(place, str):
        return attribute(trainer.lightning_module, place)
    if isinstance(place, Binding):
        return place
    if place is not None:
        return place(trainer)
    schedulers = [config.scheduler for config in trainer.lr_scheduler_configs]
    owners = [each for each in trainer.optimizers if _is_setting(name, each)]
    if len(owners) == 1:
        return setting_binding(owners[0], name, schedulers)
    if owners:
        raise SettingsError(
            f"Adapt: {len(owners)} optimisers have a setting {name!r}; say which with "
            f"bind={{{name!r}: lambda trainer: optimizer_param(trainer.optimizers[0], {name!r})}} "
            "(where a scheduler drives it schedule_scale, whose values are factors and not rates), "
            "both of dynhp_torch"
        )
    if _is_attribute(name, trainer.lightning_module):
        return attribute(trainer.lightning_module, name)
    settings = sorted({key for each in trainer.optimizers for key in each.param_groups[0]})
    raise SettingsError(
        f"Adapt: {shown(name)} is no setting of the optimiser ({', '.join(settings)}) and no "
        f"attribute of {type(trainer.lightning_module).__name__}; say where it lives, as in "
        f"bind={{{name!r}: 'net.2.p'}}"
    )


def _is_setting(name: str, optimizer: Any) -> bool:
    return name.partition(".")[0] in optimizer.param_groups[0] and name != "params"


def _is_attribute(path: str, thing: Any) -> bool:
    try:
        attribute(thing, path)
    except SettingsError:
        return False
    return True
