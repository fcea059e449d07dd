"""A factor on top of a schedule: in force while the optimiser steps, unseen by the scheduler."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from dynhp.errors import SettingsError, ValueNotInForce
from dynhp.records import Value
from dynhp_torch.bindings import OptimizerParam, groups_of, optimizer_param

__all__ = ["ScheduleScale", "schedule_scale"]


class ScheduleScale:
    """A factor on one setting during every ``optimizer.step()``; ``schedule_scale`` makes it.

    >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=0.1)
    >>> ScheduleScale(optimizer, "lr", None)
    ScheduleScale('lr', 1.0)
    """

    def __init__(
        self, optimizer: Optimizer, key: str, groups: tuple[int | str, ...] | None
    ) -> None:
        self.optimizer = optimizer
        self._key = key
        self._groups = groups
        self._factor: Any = 1.0
        # While a step runs: the group, its own value, the scaled value.
        self._scaled: list[tuple[dict[str, Any], Any, Any]] = []
        self._hooks = (
            optimizer.register_step_pre_hook(self._before),
            optimizer.register_step_post_hook(self._after),
        )

    def __repr__(self) -> str:
        return f"ScheduleScale({self._key!r}, {self._factor!r})"

    @property
    def kind(self) -> str:
        """What kind of hyperparameter it is, whatever its name: that of the setting."""
        return self._key

    def set(self, value: Value) -> None:
        """Scale by this factor from the next step on."""
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise SettingsError(f"schedule_scale: a scale must be a number, got {value!r}")
        self._factor = value

    def get(self) -> Value:
        """The factor, or an error where the optimiser no longer uses it."""
        for hook in self._hooks:
            hooks = hook.hooks_dict_ref()
            if hooks is None or hook.id not in hooks:
                raise ValueNotInForce(
                    f"the scale of {self._key} should be {self._factor!r} but its hook is no "
                    "longer in the optimiser; call schedule_scale(optimizer) again, after the "
                    "optimiser was made or loaded for the last time"
                )
        return self._factor  # type: ignore[no-any-return]

    def replaces(self, other: ScheduleScale) -> bool:
        """Whether the other one scales the same setting of the same groups."""
        same = (self._key, self._groups) == (other._key, other._groups)
        return self is not other and same

    def remove(self) -> None:
        """Take the scale off the optimiser."""
        self._unscale()
        for hook in self._hooks:
            hook.remove()

    @torch.no_grad()
    def _before(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        self._unscale()  # where the last step raised, its post-hook was not called
        for _, group in groups_of(optimizer, self._groups):
            value = group[self._key]
            if isinstance(value, Tensor):  # compiled steps keep a reference to the tensor: fill it
                own, scaled = value.clone(), value.mul_(self._factor).clone()
            else:
                own, scaled = value, value * self._factor
                group[self._key] = scaled
            self._scaled.append((group, own, scaled))

    def _after(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        self._unscale()

    @torch.no_grad()
    def _unscale(self) -> None:
        while self._scaled:
            group, own, scaled = self._scaled.pop()
            value = group[self._key]
            if not _same(value, scaled):
                continue  # a restore after a failed step has put the own value back already
            if isinstance(value, Tensor):
                value.copy_(own)
            else:
                group[self._key] = own


def schedule_scale(
    optimizer: Optimizer, key: str = "lr", groups: Sequence[int | str] | None = None
) -> ScheduleScale:
    """Bind to a factor on a scheduled setting: the scheduler goes on as if there were none.

    Args:
        optimizer: the optimiser whose steps are scaled.
        key: the name of the setting, one number in every group.
        groups: the groups to scale, each by its place or by its entry ``"name"``; all without it.

    >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=0.1)
    >>> scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=10)
    >>> scale = schedule_scale(optimizer)
    >>> scale.set(3.0); optimizer.step(); scheduler.step()
    >>> scale.get(), round(optimizer.param_groups[0]["lr"], 4)
    (3.0, 0.0976)
    """
    bound = optimizer_param(optimizer, key, groups)
    assert isinstance(bound, OptimizerParam)
    for label, group in groups_of(optimizer, bound.groups):
        value = group.get(key)
        if not isinstance(value, int | float | Tensor) or not math.isfinite(value):
            raise SettingsError(
                f"schedule_scale: {key} must be one number in every group, got {value!r} in {label}"
            )
    scale = ScheduleScale(optimizer, key, bound.groups)
    for earlier in _earlier_scales(scale):  # two at once would undo each other's undoing
        scale.set(earlier.get())
        earlier.remove()
    return scale


def _earlier_scales(scale: ScheduleScale) -> list[ScheduleScale]:
    """Scales of the same setting that an earlier run left on the optimiser."""
    hooks = scale.optimizer._optimizer_step_pre_hooks.values()
    owners = [getattr(hook, "__self__", None) for hook in hooks]
    return [each for each in owners if isinstance(each, ScheduleScale) and scale.replaces(each)]


def _same(value: Any, scaled: Any) -> bool:
    if isinstance(value, Tensor) and isinstance(scaled, Tensor):
        return torch.equal(value, scaled)
    return type(value) is type(scaled) and bool(value == scaled)
