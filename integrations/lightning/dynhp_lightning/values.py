"""Where the values of a fit live: settings of an optimiser, attributes of the module."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dynhp.errors import SettingsError
from dynhp.loops import Binding
from dynhp.spaces import Around
from dynhp.spaces.axis import Axis
from dynhp_torch.callbacks import Place, bindings_of
from dynhp_torch.settings import setting_binding

__all__ = ["fit_bindings"]


def fit_bindings(
    space: Mapping[str, Axis], places: Mapping[str, Place], trainer: Any
) -> dict[str, Binding]:
    """A binding for every name of the space.

    A name that was not given a place is a setting of the optimiser, such as ``lr``, or else an
    attribute of the module.
    """
    return bindings_of(
        space,
        places,
        trainer,
        module=trainer.lightning_module,
        optimizers=trainer.optimizers,
        setting=lambda name: _setting(name, trainer, searched=isinstance(space[name], Around)),
    )


def _setting(name: str, trainer: Any, *, searched: bool) -> Binding | None:
    """The binding of a setting; the rate of a search is that of all groups, whatever each has."""
    if searched and name == "learning_rate":  # as others than torch call it
        name = "lr"
    schedulers = [config.scheduler for config in trainer.lr_scheduler_configs]
    owners = [each for each in trainer.optimizers if _is_setting(name, each)]
    if len(owners) > 1:
        raise SettingsError(
            f"Adapt: {len(owners)} optimisers have a setting {name!r}; say which with "
            f"bind={{{name!r}: lambda trainer: optimizer_param(trainer.optimizers[0], {name!r})}} "
            "(where a scheduler drives it schedule_scale, whose values are factors and not rates), "
            "both of dynhp_torch"
        )
    return setting_binding(owners[0], name, schedulers, ratios=searched) if owners else None


def _is_setting(name: str, optimizer: Any) -> bool:
    return name.partition(".")[0] in optimizer.param_groups[0] and name != "params"
