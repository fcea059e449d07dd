"""Averaged weights: an exponential mean over the last steps, to judge tries by."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from dynhp.errors import SettingsError, shown
from dynhp_torch.parts.shards import is_fully_sharded

__all__ = ["AveragedWeights"]


class AveragedWeights:
    """An exponential average of a model's weights and buffers over about ``horizon`` steps.

    Call ``update()`` after each step of the optimiser and list this object in the state. Buffers
    of whole numbers (counters, masks) are copied, not averaged.

    Args:
        model: the module whose weights are averaged.
        horizon: over how many of the last steps, about; the steps of an epoch are a good number.

    >>> model = nn.Linear(1, 1, bias=False)
    >>> average = AveragedWeights(model, horizon=2)
    >>> for weight in (0.0, 1.0, 1.0):
    ...     _ = nn.init.constant_(model.weight, weight); average.update()
    >>> average.evaluate(lambda: {"weight": model.weight.item()})
    {'ema_weight': 0.75}
    >>> model.weight.item()
    1.0
    """

    def __init__(self, model: nn.Module, *, horizon: float) -> None:
        if not isinstance(model, nn.Module):
            raise SettingsError(f"AveragedWeights needs a module of torch, got {shown(model)}")
        if isinstance(horizon, bool) or not (
            isinstance(horizon, int | float) and 1 <= horizon < math.inf
        ):
            raise SettingsError(
                f"AveragedWeights: horizon must be a number of steps, 1 or more, got "
                f"{shown(horizon)}"
            )
        if is_fully_sharded(model):
            raise SettingsError(
                "AveragedWeights needs a copy of the model, which fully_shard does not allow; "
                "judge by ordinary weights"
            )
        self.model = model
        self.average: Any = AveragedModel(
            model, multi_avg_fn=_ema(1 - 1 / horizon), use_buffers=True
        )

    def update(self) -> None:
        """Take the model's weights into the average; the first ones are the average."""
        self.average.update_parameters(self.model)

    @contextmanager
    def swapped(self) -> Iterator[nn.Module]:
        """The model with averaged weights; on the way out it has its own again, untouched."""
        self._swap()
        try:
            yield self.model
        finally:
            self._swap()

    def evaluate(
        self, measure: Callable[[], Mapping[str, float]], prefix: str = "ema_"
    ) -> dict[str, float]:
        """What ``measure()`` gives with averaged weights, each name with a prefix."""
        with self.swapped():
            return {f"{prefix}{name}": value for name, value in measure().items()}

    def _swap(self) -> None:
        # Only the memory is exchanged: every tensor stays the object that others refer to.
        pairs = zip(_tensors(self.model), _tensors(self.average.module), strict=True)
        for own, mean in pairs:
            own.data, mean.data = mean.data, own.data


def _tensors(module: nn.Module) -> Iterator[Tensor]:
    return chain(module.parameters(), module.buffers())


def _ema(decay: float) -> Callable[..., None]:
    blend = get_ema_multi_avg_fn(decay)  # type: ignore[no-untyped-call]

    def update(averaged: list[Tensor], current: list[Tensor], number: Tensor) -> None:
        if averaged[0].is_floating_point() or averaged[0].is_complex():
            blend(averaged, current, number)
        else:
            for mean, own in zip(averaged, current, strict=True):
                mean.copy_(own)

    return torch.no_grad()(update)
