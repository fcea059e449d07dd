"""Averaged weights: a mean over the last steps, to judge tries by, or to deliver as the model."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from dynhp.errors import SettingsError, advise, shown
from dynhp.tails.averaging import newest_weight
from dynhp_torch.parts.shards import is_fully_sharded

__all__ = ["AveragedWeights"]


class AveragedWeights:
    """An average of a model's weights and buffers over the last steps, or a last share of all.

    Call ``update()`` after each step of the optimiser and list this object in the state. Buffers
    of whole numbers (counters, masks) are copied, not averaged.

    With ``horizon`` it is to judge tries by. With ``share`` its window grows with the run, so that
    it can take the place of a schedule that ends at zero, and the length need not be known. Later
    weights count more: two thirds of the average with ``share=0.1`` are of the last tenth.

    Args:
        model: the module whose weights are averaged.
        horizon: over how many of the last steps, about; the steps of an epoch are a good number.
        share: in its place, over about which last share of all steps so far, such as 0.1.

    >>> model = nn.Linear(1, 1, bias=False)
    >>> average = AveragedWeights(model, horizon=2)
    >>> for weight in (0.0, 1.0, 1.0):
    ...     _ = nn.init.constant_(model.weight, weight); average.update()
    >>> average.evaluate(lambda: {"weight": model.weight.item()})
    {'ema_weight': 0.75}
    >>> model.weight.item()
    1.0
    >>> last_half = AveragedWeights(model, share=0.5)
    >>> for weight in (0.0, 1.0, 1.0, 2.0):
    ...     _ = nn.init.constant_(model.weight, weight); last_half.update()
    >>> last_half.deliver(); model.weight.item()
    1.5
    """

    def __init__(
        self, model: nn.Module, *, horizon: float | None = None, share: float | None = None
    ) -> None:
        if not isinstance(model, nn.Module):
            raise SettingsError(f"AveragedWeights needs a module of torch, got {shown(model)}")
        blend = _blend(horizon, share)
        if is_fully_sharded(model):
            raise SettingsError(
                "AveragedWeights needs a copy of the model, which fully_shard does not allow; "
                "judge by ordinary weights"
            )
        coarse = {str(tensor.dtype) for tensor in model.parameters() if _is_coarse(tensor)}
        if share is not None and coarse:
            raise SettingsError(
                f"AveragedWeights: share= needs weights of 32 bits, got {', '.join(sorted(coarse))}"
                ": the newest weights count less and less, and soon nothing at that precision. "
                "Train in float32 with autocast, or give horizon="
            )
        self.model = model
        self.average: Any = AveragedModel(
            model, multi_avg_fn=_floats_alone(blend), use_buffers=True
        )
        self._delivers = share is not None

    def update(self) -> None:
        """Take the model's weights into the average; the first ones are the average."""
        self.average.update_parameters(self.model)

    @contextmanager
    def swapped(self, *, batches: Iterable[Any] | None = None) -> Iterator[nn.Module]:
        """The model with averaged weights; on the way out it has its own again, untouched.

        With ``batches`` of inputs, BatchNorm's statistics are measured again on them, since those
        of the averaged weights are not the average of those from before. They must not be drawn
        with a generator that training draws from: a list of a few batches serves.
        """
        self._swap()
        try:
            if batches is None:
                self._hint_at_statistics()
                yield self.model
            else:
                before = [buffer.clone() for buffer in self.model.buffers()]
                try:
                    _measure_statistics(self.model, batches)
                    yield self.model
                finally:
                    for buffer, own in zip(self.model.buffers(), before, strict=True):
                        buffer.data.copy_(own)
        finally:
            self._swap()

    def evaluate(
        self,
        measure: Callable[[], Mapping[str, float]],
        prefix: str = "ema_",
        *,
        batches: Iterable[Any] | None = None,
    ) -> dict[str, float]:
        """What ``measure()`` gives with averaged weights, each name with a prefix.

        ``batches`` of inputs are for BatchNorm, as in ``swapped``.
        """
        with self.swapped(batches=batches):
            return {f"{prefix}{name}": value for name, value in measure().items()}

    def deliver(self, *, batches: Iterable[Any] | None = None) -> None:
        """Give the model the averaged weights for good, after the run.

        ``batches`` of inputs are for BatchNorm, as in ``swapped``. If one of them is refused, the
        model keeps its own weights.
        """
        if not int(self.average.n_averaged):
            raise SettingsError(
                "AveragedWeights: there is nothing to deliver, because update() was never called; "
                "call it after each step of the optimiser"
            )
        tensors = list(_tensors(self.model))
        own = [tensor.detach().clone() for tensor in tensors]
        try:
            _write(tensors, _tensors(self.average.module))
            if batches is None:
                self._hint_at_statistics()
            else:
                _measure_statistics(self.model, batches)
        except BaseException:
            _write(tensors, own)
            raise

    def _hint_at_statistics(self) -> None:
        if self._delivers and _measured_layers(self.model):
            advise(
                f"AveragedWeights: {type(self.model).__name__} has BatchNorm, whose statistics are "
                "not those of the averaged weights; give batches=[...], a few batches of inputs, "
                "and they are measured again"
            )

    def _swap(self) -> None:
        # Only the memory is exchanged: every tensor stays the object that others refer to.
        pairs = zip(_tensors(self.model), _tensors(self.average.module), strict=True)
        for own, mean in pairs:
            own.data, mean.data = mean.data, own.data


def _tensors(module: nn.Module) -> Iterator[Tensor]:
    return chain(module.parameters(), module.buffers())


def _is_coarse(tensor: Tensor) -> bool:
    return tensor.is_floating_point() and torch.finfo(tensor.dtype).bits < 32


def _write(tensors: Iterable[Tensor], values: Iterable[Tensor]) -> None:
    with torch.no_grad():
        for tensor, value in zip(tensors, values, strict=True):
            tensor.copy_(value)


def _measured_layers(model: nn.Module) -> list[_BatchNorm]:
    """The layers whose statistics training measures: not those frozen while the model trains."""
    return [
        layer
        for layer in model.modules()
        if isinstance(layer, _BatchNorm)
        and layer.track_running_stats
        and (layer.training or not model.training)
    ]


def _measure_statistics(model: nn.Module, batches: Iterable[Any]) -> None:
    """Measure BatchNorm's statistics anew, and leave no mode and no random numbers behind.

    If a batch is refused, callers put all tensors of the model back.
    """
    layers = _measured_layers(model)
    momenta = [layer.momentum for layer in layers]
    modes = [(module, module.training) for module in model.modules()]
    measured = 0
    try:
        for layer in layers:
            layer.reset_running_stats()
            layer.momentum = None  # the plain mean over all batches
        if not model.training:
            model.train()
        with torch.random.fork_rng(), torch.no_grad():
            for batch in batches:
                model(batch[0] if isinstance(batch, list | tuple) else batch)
                measured += 1
        if not measured:
            raise SettingsError(
                "AveragedWeights: batches must hold a batch of inputs at least, got none; give a "
                "list, because an iterator is used up after the first time"
            )
    finally:
        for layer, momentum in zip(layers, momenta, strict=True):
            layer.momentum = momentum
        for module, training in modes:
            module.training = training


def _blend(horizon: object, share: object) -> Callable[..., None]:
    """How the newest weights are taken into the average."""
    if (horizon is None) == (share is None):
        raise SettingsError(
            "AveragedWeights: give horizon=, a number of steps, or share=, a share of all steps so "
            f"far, got horizon={shown(horizon)} and share={shown(share)}"
        )
    if share is None:
        if isinstance(horizon, bool) or not (
            isinstance(horizon, int | float) and 1 <= horizon < math.inf
        ):
            raise SettingsError(
                f"AveragedWeights: horizon must be a number of steps, 1 or more, got "
                f"{shown(horizon)}"
            )
        ema: Callable[..., None] = get_ema_multi_avg_fn(1 - 1 / horizon)  # type: ignore[no-untyped-call]
        return ema
    if isinstance(share, bool) or not (isinstance(share, int | float) and 0 < share <= 1):
        raise SettingsError(
            f"AveragedWeights: share must be above 0 and at most 1, got {shown(share)}; 0.1 is the "
            "last tenth of the run so far"
        )
    return _last_share(share)


def _last_share(share: float) -> Callable[..., None]:
    def update(averaged: list[Tensor], current: list[Tensor], number: Tensor) -> None:
        # ``number`` is that of the weights taken in before, and these are the next.
        weight = newest_weight(share, int(number))
        for mean, own in zip(averaged, current, strict=True):
            mean.lerp_(own, weight)

    return update


def _floats_alone(blend: Callable[..., None]) -> Callable[..., None]:
    """Average numbers with a fraction, and copy whole numbers."""

    def update(averaged: list[Tensor], current: list[Tensor], number: Tensor) -> None:
        if averaged[0].is_floating_point() or averaged[0].is_complex():
            blend(averaged, current, number)
        else:
            for mean, own in zip(averaged, current, strict=True):
                mean.copy_(own)

    return torch.no_grad()(update)
