"""A setting of an optimiser as a place for a value, read afresh from its groups each time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor
from torch.optim import Optimizer

from dynhp.errors import SettingsError, ValueNotInForce, nearest
from dynhp.loops import Binding
from dynhp.records import Value

__all__ = ["OptimizerParam", "groups_of", "optimizer_param"]


@dataclass(frozen=True, slots=True)
class OptimizerParam:
    """One setting of all or some groups; ``optimizer_param`` makes it."""

    optimizer: Optimizer
    key: str
    groups: tuple[int | str, ...] | None
    way_out: ClassVar[str] = (
        "A learning rate under a scheduler is adapted with dynhp_torch.schedule_scale(optimizer)"
    )

    def set(self, value: Value) -> None:
        """Write the value into the groups; a tensor is filled in place."""
        name, _, place = self.key.partition(".")
        for _label, group in groups_of(self.optimizer, self.groups):
            if place:
                items = list(group[name])
                items[int(place)] = _written(items[int(place)], value)
                group[name] = type(group[name])(items)
            else:
                group[name] = _written(group[name], value)

    def get(self) -> Value:
        """The value that all these groups have, or an error that shows how they differ."""
        found = {
            label: _read(group, self.key) for label, group in groups_of(self.optimizer, self.groups)
        }
        values = list(found.values())
        if any(value != values[0] for value in values):
            shown = ", ".join(f"{label}: {value!r}" for label, value in found.items())
            raise ValueNotInForce(
                f"{self.key} differs between the groups of {type(self.optimizer).__name__} "
                f"({shown}); bind groups one by one with groups=[...], or keep their ratio and "
                "adapt a scale with schedule_scale"
            )
        return values[0]


def optimizer_param(
    optimizer: Optimizer, key: str, groups: Sequence[int | str] | None = None
) -> Binding:
    """Bind to a setting of an optimiser: of all its groups, or of those named.

    A group is named by its place or by the entry "name" in it; ``betas.0`` leads into a tuple.

    >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=0.1)
    >>> lr = optimizer_param(optimizer, "lr")
    >>> lr.set(0.3); optimizer.param_groups[0]["lr"], lr.get()
    (0.3, 0.3)
    """
    if not isinstance(optimizer, Optimizer):
        raise SettingsError(f"optimizer_param needs an optimiser of torch, got {optimizer!r}")
    chosen = _chosen(groups)
    for _, group in groups_of(optimizer, chosen):
        _require_key(group, key)
    return OptimizerParam(optimizer, key, chosen)


def groups_of(
    optimizer: Optimizer, names: tuple[int | str, ...] | None
) -> list[tuple[str, dict[str, Any]]]:
    """The groups as they are now, each with a label; ``load_state_dict`` replaces them."""
    found = {}
    for place, group in enumerate(optimizer.param_groups):
        found[place] = (f"group {group.get('name', place)}", group)
    if names is None:
        return list(found.values())
    places = {group["name"]: place for place, (_, group) in found.items() if "name" in group}
    for name in names:
        if name not in found and name not in places:
            known = map(str, [*places, *found])
            raise SettingsError(
                f"groups: the optimiser has no group {name!r}{nearest(name, known)}"
            )
    return [found[places.get(name, name)] for name in names]  # type: ignore[arg-type]


def _chosen(groups: Any) -> tuple[int | str, ...] | None:
    if groups is None:
        return None
    if isinstance(groups, str) or not isinstance(groups, Sequence) or not groups:
        raise SettingsError(f"groups must be a list of places or names, got {groups!r}")
    return tuple(groups)


def _require_key(group: dict[str, Any], key: Any) -> None:
    name, _, place = str(key).partition(".")
    known = [known for known in group if known not in ("params", "name")]
    if name not in known:
        raise SettingsError(f"optimizer_param: no setting {key!r}{nearest(key, known)}")
    if isinstance(group[name], tuple | list):
        places = [f"{name}.{index}" for index in range(len(group[name]))]
        if key not in places:
            raise SettingsError(
                f"optimizer_param: {name} has {len(places)} values; bind {' or '.join(places)}"
            )
    elif place:
        raise SettingsError(f"optimizer_param: {name} is one value; bind {name!r}, got {key!r}")


def _written(current: Any, value: Any) -> Any:
    if not isinstance(current, Tensor):
        return value
    current.detach().fill_(value)
    return current


def _read(group: dict[str, Any], key: str) -> Value:
    name, _, place = key.partition(".")
    value = group[name][int(place)] if place else group[name]
    if not isinstance(value, Tensor):
        return value  # type: ignore[no-any-return]
    if value.dtype == torch.float32:  # the number that was meant: 0.1, not 0.10000000149011612
        return float(str(np.float32(value.item())))
    return value.item()
