"""Averaged weights: a mean over the last steps, to judge tries by, or to deliver as the model."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm, _NormBase
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from dynhp.errors import SettingsError, advise, shown
from dynhp.tails.averaging import newest_weight
from dynhp_torch.parts.shards import is_fully_sharded

__all__ = ["AveragedWeights", "Feed"]

Feed = Callable[[nn.Module, Any], Any]
"""Lets a model see a batch of inputs."""


class AveragedWeights:
    """An average of a model's weights and buffers over the last steps, or a last share of all.

    Call ``update()`` after each step of the optimiser and list this object in the state. Buffers
    of whole numbers (counters, masks) are copied, not averaged.

    With ``horizon`` it is to judge tries by. With ``share`` its window grows with the run, so that
    it can take the place of a schedule that ends at zero, and the length need not be known. Later
    weights count more: two thirds of the average with ``share=0.1`` are of the last tenth. The
    average of weights of 16 bits has 32, or the newest would soon count nothing at their precision.

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
        self._blend = torch.no_grad()(_blend(horizon, share))
        if is_fully_sharded(model):
            raise SettingsError(
                "AveragedWeights needs a copy of the model, which fully_shard does not allow; "
                "judge by ordinary weights"
            )
        self.model = model
        self.average: Any = AveragedModel(model, use_buffers=True)
        for mean in _tensors(self.average.module):
            if _is_coarse(mean):
                mean.data = mean.data.float()
        self._delivers = share is not None
        self._layers = [
            layer
            for layer in model.modules()
            if isinstance(layer, _NormBase) and layer.track_running_stats
        ]
        self._frozen: list[_NormBase] = []  # while the model trains

    @property
    def begun(self) -> bool:
        """Whether there is an average: whether ``update()`` was called."""
        return bool(self.average.n_averaged)

    @property
    def measures(self) -> bool:
        """Whether training measures statistics in the model, as BatchNorm does."""
        return bool(self._measured_layers())

    @torch.no_grad()
    def update(self) -> None:
        """Take the model's weights into the average; the first ones are the average."""
        number, begun = self.average.n_averaged, self.begun
        if self.model.training:
            self._frozen = [layer for layer in self._layers if not layer.training]
        floats: dict[torch.device, tuple[list[Tensor], list[Tensor]]] = {}
        for mean, own in zip(_tensors(self.average.module), _tensors(self.model), strict=True):
            if begun and (mean.is_floating_point() or mean.is_complex()):
                means, owns = floats.setdefault(mean.device, ([], []))
                means.append(mean.detach())
                owns.append(own.detach().to(mean.dtype))
            else:
                mean.copy_(own)
        for means, owns in floats.values():
            self._blend(means, owns, number)
        number += 1

    @contextmanager
    def swapped(
        self, *, batches: Iterable[Any] | None = None, feed: Feed | None = None
    ) -> Iterator[nn.Module]:
        """The model with averaged weights; on the way out it has its own again, untouched.

        With ``batches`` of inputs, the statistics of BatchNorm (and of InstanceNorm that keeps
        them) are measured again on them, since those of the averaged weights are not the average of
        those from before. They must not be drawn with a generator that training draws from: a list
        of a few batches serves.

        A batch that is a mapping is given to the model by name, each entry that its ``forward``
        takes; of a list or a tuple, the first entry is. ``feed(model, batch)`` does it otherwise.
        """
        coarse = [own for own, mean in self._pairs() if own.dtype != mean.dtype]
        before_all = [own.data for own in coarse]
        self._swap()
        try:
            if batches is None:
                self._hint_at_statistics()
                yield self.model
            else:
                before = [buffer.clone() for buffer in self.model.buffers()]
                try:
                    self._measure_statistics(batches, feed)
                    yield self.model
                finally:
                    for buffer, own in zip(self.model.buffers(), before, strict=True):
                        buffer.data.copy_(own)
        finally:
            self._swap()
            for tensor, data in zip(coarse, before_all, strict=True):
                tensor.data = data

    def evaluate(
        self,
        measure: Callable[[], Mapping[str, float]],
        prefix: str = "ema_",
        *,
        batches: Iterable[Any] | None = None,
        feed: Feed | None = None,
    ) -> dict[str, float]:
        """What ``measure()`` gives with averaged weights, each name with a prefix.

        ``batches`` of inputs are for BatchNorm, as in ``swapped``.
        """
        with self.swapped(batches=batches, feed=feed):
            return {f"{prefix}{name}": value for name, value in measure().items()}

    def deliver(self, *, batches: Iterable[Any] | None = None, feed: Feed | None = None) -> None:
        """Give the model the averaged weights for good, after the run.

        ``batches`` of inputs are for BatchNorm, as in ``swapped``. If one of them is refused, the
        model keeps its own weights.
        """
        if not self.begun:
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
                self._measure_statistics(batches, feed)
        except BaseException:
            _write(tensors, own)
            raise

    def _hint_at_statistics(self) -> None:
        measured = self._measured_layers()
        if self._delivers and measured:
            kind = "BatchNorm" if isinstance(measured[0], _BatchNorm) else "InstanceNorm"
            advise(
                f"AveragedWeights: {type(self.model).__name__} has {kind}, whose statistics are "
                "not those of the averaged weights; give batches=[...], a few batches of inputs, "
                "and they are measured again"
            )

    def _measured_layers(self) -> list[_NormBase]:
        """The layers whose statistics training measures: not those that are frozen then."""
        return [
            layer
            for layer in self._layers
            if layer.training or (not self.model.training and layer not in self._frozen)
        ]

    def _measure_statistics(self, batches: Iterable[Any], feed: Feed | None) -> None:
        """Measure BatchNorm's statistics anew, and leave no mode and no random numbers behind.

        If a batch is refused, callers put all tensors of the model back.
        """
        model, layers = self.model, self._measured_layers()
        momenta = [layer.momentum for layer in layers]
        modes = [(module, module.training) for module in model.modules()]
        measured = 0
        try:
            for layer in layers:
                layer.reset_running_stats()
            if not model.training:
                model.train()
            with torch.random.fork_rng(), torch.no_grad():
                for batch in batches:
                    measured += 1
                    for layer in layers:  # the plain mean over all batches
                        layer.momentum = None if isinstance(layer, _BatchNorm) else 1 / measured
                    (_feed if feed is None else feed)(model, batch)
            if not measured:
                raise SettingsError(
                    "AveragedWeights: batches must hold a batch of inputs at least, got none; give "
                    "a list, because an iterator is used up after the first time"
                )
        finally:
            for layer, momentum in zip(layers, momenta, strict=True):
                layer.momentum = momentum
            for module, training in modes:
                module.training = training

    def _pairs(self) -> Iterator[tuple[Tensor, Tensor]]:
        return zip(_tensors(self.model), _tensors(self.average.module), strict=True)

    def _swap(self) -> None:
        # Only the memory is exchanged: every tensor stays the object that others refer to.
        for own, mean in self._pairs():
            if own.dtype == mean.dtype:
                own.data, mean.data = mean.data, own.data
            else:
                own.data = mean.data.to(own.dtype)


def _tensors(module: nn.Module) -> Iterator[Tensor]:
    return chain(module.parameters(), module.buffers())


def _is_coarse(tensor: Tensor) -> bool:
    return tensor.is_floating_point() and torch.finfo(tensor.dtype).bits < 32


def _write(tensors: Iterable[Tensor], values: Iterable[Tensor]) -> None:
    with torch.no_grad():
        for tensor, value in zip(tensors, values, strict=True):
            tensor.copy_(value)


def _feed(model: nn.Module, batch: Any) -> None:
    """Give the model a batch as most loaders make them."""
    if isinstance(batch, list | tuple):
        batch = batch[0]
    if isinstance(batch, Mapping):
        takes = inspect.signature(model.forward).parameters
        every = any(each.kind is each.VAR_KEYWORD for each in takes.values())
        model(**{name: value for name, value in batch.items() if every or name in takes})
    elif isinstance(batch, list | tuple):
        model(*batch)
    else:
        model(batch)


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
