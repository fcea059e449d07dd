"""A factor on top of a schedule: in force while the optimiser steps, unseen by the scheduler."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.optim import Optimizer

from dynhp.errors import SettingsError, ValueNotInForce, advise, shown
from dynhp.records import Value
from dynhp_torch.settings.heights import Heights
from dynhp_torch.settings.param import OptimizerParam, groups_of, optimizer_param

__all__ = ["ScheduleScale", "remove_scale", "scales_on", "schedule_scale"]


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
        self.key = key
        self._groups = groups
        self._factor: Any = 1.0
        self._run_is_over = self._said = False
        self.undo: list[Callable[[], None]] = []  # what else goes once no scale is left
        self._in_tail = False  # then the height of each group is scaled, whatever a schedule says
        self.heights = Heights(optimizer)
        # While a step runs: the group, its own value, the scaled value.
        self._scaled: list[tuple[dict[str, Any], Any, Any]] = []
        self._hooks = (
            optimizer.register_step_pre_hook(self._before_step),
            optimizer.register_step_post_hook(self._after_step),
        )

    def __repr__(self) -> str:
        return f"ScheduleScale({self.key!r}, {self._factor!r})"

    driven_by: ClassVar[str] = "the schedule that it scales"

    @property
    def kind(self) -> str:
        """What kind of hyperparameter it is, whatever its name: that of the setting."""
        return self.key

    def set(self, value: Value) -> None:
        """Scale by this factor from the next step on."""
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise SettingsError(f"schedule_scale: a scale must be a number, got {value!r}")
        self._factor = value
        self._in_tail = False

    def set_in_tail(self, value: Value) -> None:
        """Scale the height of each group's schedule, whatever it says now."""
        self.set(value)
        self._in_tail = self.key == "lr"  # how high other schedules are is not known

    def basis(self, place: int, value: Any) -> Any:
        """What is scaled in a group that has this value: the value, or in a tail the height."""
        if not self._in_tail:
            return value
        height = self.heights.of(place)[0]
        return torch.full_like(value, height) if isinstance(value, Tensor) else height

    def get(self) -> Value:
        """The factor, or an error where the optimiser no longer uses it."""
        for hook in self._hooks:
            hooks = hook.hooks_dict_ref()
            if hooks is None or hook.id not in hooks:
                raise ValueNotInForce(
                    f"the scale of {self.key} should be {self._factor!r} but its hook is no "
                    "longer in the optimiser; call schedule_scale(optimizer) again, after the "
                    "optimiser was made or loaded for the last time"
                )
        return self._factor  # type: ignore[no-any-return]

    @property
    def factor(self) -> Any:
        """What every step multiplies the setting by."""
        return self._factor

    @property
    def is_idle(self) -> bool:
        """Whether it is left from a run that is over, and changes nothing."""
        return self._run_is_over and self._factor == 1

    @property
    def places(self) -> frozenset[int]:
        """Which groups it scales, by their places."""
        chosen = {id(group) for _, group in groups_of(self.optimizer, self._groups)}
        groups = enumerate(self.optimizer.param_groups)
        return frozenset(place for place, group in groups if id(group) in chosen)

    def enter(self) -> None:
        """A run begins that sets it."""
        self._run_is_over = self._said = False

    def leave(self) -> None:
        """The run is over: the factor stays, and the next step under it says so."""
        self._run_is_over = True

    def remove(self) -> None:
        """Take the scale off the optimiser."""
        self.unscale()
        for hook in self._hooks:
            hook.remove()
        if not scales_on(self.optimizer):
            for undo in self.undo:
                undo()

    def _before_step(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        if self._run_is_over and self._factor != 1 and not self._said:
            self._said = True
            advise(
                f"{self.key}: the run of adapt(...) is over, and optimizer.step() goes on with "
                f"{shown(self._factor)} times the schedule, as it was chosen last; take that off "
                "with dynhp_torch.remove_scale(optimizer)",
                about=object(),
            )
        self.scale()

    @torch.no_grad()
    def scale(self) -> None:
        """Put the factor into the groups, until ``unscale``."""
        self.unscale()  # where the last step raised, its post-hook was not called
        for place in self.places:
            group = self.optimizer.param_groups[place]
            own = value = group[self.key]
            scaled = self.basis(place, value) * self._factor
            if isinstance(value, Tensor):  # compiled steps keep a reference to the tensor: fill it
                own = value.clone()
                value.copy_(scaled)
            else:
                group[self.key] = scaled
            self._scaled.append((group, own, scaled))

    def _after_step(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        self.unscale()

    @torch.no_grad()
    def unscale(self) -> None:
        """Put the groups' own values back."""
        while self._scaled:
            group, own, scaled = self._scaled.pop()
            value = group[self.key]
            if not _same(value, scaled):
                continue  # a restore after a failed step has put the own value back already
            if isinstance(value, Tensor):
                value.copy_(own)
            else:
                group[self.key] = own


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
    try:
        earlier = _earlier_scales(scale)
    except SettingsError:
        scale.remove()
        raise
    for each in earlier:  # two at once would undo each other's undoing
        if each.places == scale.places:
            scale.set(each.get())
        each.remove()
    return scale


def _earlier_scales(scale: ScheduleScale) -> list[ScheduleScale]:
    """Scales of the same groups that an earlier run left on the optimiser."""
    others = [each for each in scales_on(scale.optimizer) if each is not scale]
    earlier = [each for each in others if each.key == scale.key and each.places & scale.places]
    for each in earlier:
        if each.places != scale.places and not each.is_idle:
            raise SettingsError(
                f"schedule_scale: two scales of {scale.key} overlap, one on the groups "
                f"{sorted(each.places)} of {type(scale.optimizer).__name__} and one on "
                f"{sorted(scale.places)}, so a group would be scaled twice; give each groups of "
                "its own, or take the first off with dynhp_torch.remove_scale(optimizer)"
            )
    return earlier


def scales_on(optimizer: Optimizer) -> list[ScheduleScale]:
    """The scales that are in force on an optimiser now.

    >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=0.1)
    >>> made = schedule_scale(optimizer); scales_on(optimizer)
    [ScheduleScale('lr', 1.0)]
    """
    hooks = optimizer._optimizer_step_pre_hooks.values()
    owners = [getattr(hook, "__self__", None) for hook in hooks]
    return [each for each in owners if isinstance(each, ScheduleScale)]


def remove_scale(optimizer: Optimizer) -> None:
    """Take off what ``adapt`` or ``schedule_scale`` has put on a schedule, before training goes on.

    >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=0.1)
    >>> schedule_scale(optimizer).set(3.0)
    >>> remove_scale(optimizer); scales_on(optimizer)
    []
    """
    if not isinstance(optimizer, Optimizer):
        raise SettingsError(f"remove_scale needs an optimiser of torch, got {shown(optimizer)}")
    for scale in scales_on(optimizer):
        scale.remove()


def _same(value: Any, scaled: Any) -> bool:
    if isinstance(value, Tensor) and isinstance(scaled, Tensor):
        return torch.equal(value, scaled)
    return type(value) is type(scaled) and bool(value == scaled)
