"""The weight that a sampler gives to some samples as a place for a value."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.utils.data import DataLoader, WeightedRandomSampler

from dynhp.errors import SettingsError, ValueNotInForce, shown
from dynhp.loops import Binding
from dynhp.records import Value

__all__ = ["SamplerWeight", "sampler_weight"]


@dataclass(frozen=True, slots=True)
class SamplerWeight:
    """The weight of some samples; ``sampler_weight`` makes it.

    >>> sampler = WeightedRandomSampler([1.0, 1.0, 2.0], 3)
    >>> SamplerWeight(sampler, torch.tensor([2])).get()
    2.0
    """

    sampler: WeightedRandomSampler
    members: Tensor
    kind: ClassVar[str] = "sampler_weight"

    def set(self, value: Value) -> None:
        """Draw these samples by this weight from the next epoch on."""
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not math.isfinite(value) or value < 0:  # type: ignore[arg-type,operator]
            raise SettingsError(
                f"sampler_weight: a weight must be a number from 0 on, got {shown(value)}"
            )
        weights = self.sampler.weights
        before = weights[self.members].clone()
        weights[self.members] = value  # type: ignore[assignment]
        if not weights.any():
            weights[self.members] = before
            raise SettingsError(
                f"sampler_weight: with {value!r} no sample would have a weight above 0; leave it "
                "out of the values"
            )

    def get(self) -> Value:
        """The weight of these samples, or an error where they differ."""
        weights = self.sampler.weights[self.members]
        if (weights != weights[0]).any():
            raise ValueNotInForce(
                f"sampler_weight: the samples have weights from {weights.min().item()!r} to "
                f"{weights.max().item()!r}, so no value stands for all; give them one weight first"
            )
        return weights[0].item()


def sampler_weight(sampler: Any, members: Any) -> Binding:
    """Bind to the weight that a ``WeightedRandomSampler`` gives to some of the samples.

    Args:
        sampler: the sampler, or a loader that has it.
        members: which samples: their places, or a tensor of true and false, as in ``labels == 1``.

    A sampler draws its order when an epoch begins, by the weights that it has then. What it draws
    depends on weights in relation to each other: weighing all samples alike changes nothing.

    >>> labels = torch.tensor([0, 0, 0, 1])
    >>> sampler = WeightedRandomSampler(torch.ones(4), num_samples=100)
    >>> rare = sampler_weight(sampler, labels == 1)
    >>> rare.set(0.0); set(sampler) == {0, 1, 2}, rare.get()
    (True, 0.0)
    """
    owner = sampler.sampler if isinstance(sampler, DataLoader) else sampler
    if not isinstance(owner, WeightedRandomSampler):
        raise SettingsError(
            f"sampler_weight needs a WeightedRandomSampler, got {shown(owner)}; give "
            "DataLoader(..., sampler=WeightedRandomSampler(weights, len(weights)))"
        )
    return SamplerWeight(owner, _places(members, len(owner.weights)))


def _places(members: Any, samples: int) -> Tensor:
    try:
        chosen = torch.as_tensor(members)
    except (TypeError, ValueError, RuntimeError):
        chosen = torch.empty(0, 0)
    if chosen.dtype == torch.bool and chosen.shape == (samples,):
        chosen = chosen.nonzero().flatten()
    whole = chosen.dim() == 1 and chosen.dtype in (torch.int64, torch.int32)
    if not whole or not len(chosen) or chosen.min() < 0 or chosen.max() >= samples:
        raise SettingsError(
            f"sampler_weight: members must be places among the {samples} samples, or a true or "
            f"false for each, and at least one, got {shown(members)}"
        )
    if len(chosen) == samples:
        raise SettingsError(
            "sampler_weight: members are all samples, so every value would draw alike; name those "
            "of one kind, as in labels == 1"
        )
    return chosen
