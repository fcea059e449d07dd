"""A setting of an optimiser as a place for a value, looked up in its groups each time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor
from torch.optim import Optimizer

from dynhp.errors import SettingsError, ValueNotInForce, nearest, shown
from dynhp.loops import Binding
from dynhp.records import Value

__all__ = ["OptimizerParam", "groups_of", "optimizer_param", "setting_of"]


@dataclass(frozen=True, slots=True)
class OptimizerParam:
    """One setting of all or some groups; ``optimizer_param`` makes it.

    >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=0.1)
    >>> OptimizerParam(optimizer, "lr", None).get()
    0.1
    """

    optimizer: Optimizer
    key: str
    groups: tuple[int | str, ...] | None
    way_out: ClassVar[str] = (
        "A learning rate under a scheduler is adapted with dynhp_torch.schedule_scale(optimizer)"
    )

    @property
    def kind(self) -> str:
        """What kind of hyperparameter it is, whatever its name: that of the setting."""
        return self.key

    @property
    def driven_by(self) -> str | None:
        """The optimiser, if it averages by itself, as Schedule-Free does: its rate must stay."""
        averages = all("train_mode" in group for group in self.optimizer.param_groups)
        return type(self.optimizer).__name__ if averages and self.key == "lr" else None

    def set(self, value: Value) -> None:
        """Write the value into the groups; a tensor is filled in place."""
        name, _, place = self.key.partition(".")
        self._require_number(value)
        for _label, group in groups_of(self.optimizer, self.groups):
            if place:
                items = list(group[name])
                items[int(place)] = _written(items[int(place)], value)
                group[name] = type(group[name])(items)
            else:
                group[name] = _written(group[name], value)

    def _require_number(self, value: Value) -> None:
        groups = groups_of(self.optimizer, self.groups)
        numbers = all(_is_number(setting_of(group, self.key)) for _, group in groups)
        if numbers and not _is_number(value):  # torch would fail in the middle of a step
            raise SettingsError(
                f"{self.key} of {type(self.optimizer).__name__} must be a number, got "
                f"{shown(value)}; leave it out of the values"
            )

    def get(self) -> Value:
        """The value that all these groups have, or an error that shows how they differ."""
        groups = groups_of(self.optimizer, self.groups)
        values = [setting_of(group, self.key) for _, group in groups]
        if any(value != values[0] for value in values):
            shown = ", ".join(
                f"{label}: {setting_of(group, self.key)!r}" for label, group in groups
            )
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

    Args:
        optimizer: the optimiser; its groups may be replaced later, as ``load_state_dict`` does.
        key: the name of the setting, as ``"lr"``; ``"betas.0"`` is the first entry of a tuple.
        groups: the groups to set, each by its place or by its entry ``"name"``; all without it.

    >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=0.1)
    >>> lr = optimizer_param(optimizer, "lr")
    >>> lr.set(0.3); optimizer.param_groups[0]["lr"], lr.get()
    (0.3, 0.3)
    """
    if not isinstance(optimizer, Optimizer):
        raise SettingsError(f"optimizer_param needs an optimiser of torch, got {shown(optimizer)}")
    chosen = _chosen(groups)
    for _, group in groups_of(optimizer, chosen):
        _require_key(group, key)
    return OptimizerParam(optimizer, key, chosen)


def groups_of(
    optimizer: Optimizer, names: tuple[int | str, ...] | None
) -> list[tuple[str, dict[str, Any]]]:
    """The groups as they are now, each with a label; ``load_state_dict`` replaces them.

    >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=0.1)
    >>> [(label, group["lr"]) for label, group in groups_of(optimizer, None)]
    [('group 0', 0.1)]
    """
    groups = optimizer.param_groups
    labelled = [(f"group {group.get('name', i)}", group) for i, group in enumerate(groups)]
    if names is None:
        return labelled
    places: dict[Any, int] = {place: place for place in range(len(groups))}
    places |= {group["name"]: place for place, group in enumerate(groups) if "name" in group}
    for name in names:
        if name not in places:
            known = map(str, places)
            raise SettingsError(
                f"groups: the optimiser has no group {name!r}{nearest(name, known)}"
            )
    return [labelled[places[name]] for name in names]


def _chosen(groups: Any) -> tuple[int | str, ...] | None:
    if groups is None:
        return None
    if isinstance(groups, str) or not isinstance(groups, Sequence) or not groups:
        raise SettingsError(f"groups must be a list of places or names, got {shown(groups)}")
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
        raise SettingsError(
            f"optimizer_param: {name} is one value; bind {name!r}, got {shown(key)}"
        )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _written(current: Any, value: Any) -> Any:
    if not isinstance(current, Tensor):
        return value
    current.detach().fill_(value)
    return current


def setting_of(group: dict[str, Any], key: str) -> Value:
    """A setting of a group as a plain value, also where it is a tensor.

    >>> setting_of({"lr": torch.tensor(0.1), "betas": (0.9, 0.99)}, "lr")
    0.1
    """
    name, _, place = key.partition(".")
    value = group[name][int(place)] if place else group[name]
    if not isinstance(value, Tensor):
        return value  # type: ignore[no-any-return]
    if value.dtype == torch.float32:  # the number that was meant: 0.1, not 0.10000000149011612
        return float(str(np.float32(value.item())))
    return value.item()
