"""What belongs to the state of a torch loop: each object as a part, and whether one is missing."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler
from torch.utils.data import DataLoader, Sampler

from dynhp.errors import SettingsError
from dynhp.loops import Part
from dynhp.loops.parts import stateful_part
from dynhp_torch.averaging import AveragedWeights
from dynhp_torch.parts.generators import data_part, generator_part
from dynhp_torch.parts.modules import module_part
from dynhp_torch.parts.optimizers import optimizer_part
from dynhp_torch.parts.shards import reshard
from dynhp_torch.parts.tensors import tensor_part

__all__ = ["require_whole", "torch_part"]

_PARTS: tuple[tuple[tuple[type, ...], Callable[[Any], Part]], ...] = (
    ((AveragedWeights,), lambda averaged: module_part(averaged.average)),
    ((nn.Module,), module_part),
    ((Optimizer,), optimizer_part),
    ((torch.Generator,), generator_part),
    ((Tensor,), tensor_part),
    ((DataLoader, Sampler), data_part),
)

_CLEAR: tuple[type, ...] = (
    *(AveragedWeights, nn.Module, Tensor, Optimizer, LRScheduler, torch.amp.GradScaler),
    *(DataLoader, Sampler, torch.Generator, np.random.Generator, random.Random),
)
"""What cannot hold a module unseen."""


def torch_part(thing: Any) -> Part:
    """Find out how this object's state is taken and set; others than torch's as in ``dynhp.adapt``.

    >>> dropout = nn.Dropout()
    >>> part = torch_part(dropout); state = part.get()
    >>> _ = dropout.eval(); part.set(state); dropout.training
    True
    """
    for kinds, part in _PARTS:
        if isinstance(thing, kinds):
            return part(thing)
    return stateful_part(thing)


def require_whole(state: Any, bind: Mapping[str, Any] | None) -> None:
    """Refuse a state in which an optimiser's parameters, or an optimiser in use, are missing.

    >>> model = nn.Linear(2, 1)
    >>> require_whole([torch.optim.SGD(model.parameters(), lr=0.1)], None)
    Traceback (most recent call last):
    dynhp.errors.SettingsError: state: 2 of 2 parameters of SGD are in no module of the state, so \
no try could be undone; list the module too
    """
    if not isinstance(state, Sequence):
        return  # the core says what is wrong with it
    for name, binding in (bind or {}).items() if isinstance(bind, Mapping) else ():
        optimizer = getattr(binding, "optimizer", None)
        if isinstance(optimizer, Optimizer) and not _holds(state, optimizer):
            raise SettingsError(
                f"state: {name!r} is bound to {type(optimizer).__name__}, which is missing, so its "
                "momentum could not be put back; list it too"
            )
    for thing in state:
        if isinstance(thing, LRScheduler) and not _holds(state, thing.optimizer):
            raise SettingsError(
                f"state: the optimiser of {type(thing).__name__} is missing; list it too"
            )
    if all(isinstance(thing, _CLEAR) for thing in state):  # others may hold modules inside
        for thing in state:
            if isinstance(thing, Optimizer):
                _require_parameters(thing, state)


def _holds(state: Sequence[Any], wanted: object) -> bool:
    return any(thing is wanted for thing in state)


def _require_parameters(optimizer: Optimizer, state: Sequence[Any]) -> None:
    held = {id(thing) for thing in state if isinstance(thing, Tensor)}
    for thing in state:
        if isinstance(thing, nn.Module):
            reshard(thing)
            held |= {id(parameter) for parameter in thing.parameters()}
    trained = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    missing = sum(id(parameter) not in held for parameter in trained)
    if missing:
        raise SettingsError(
            f"state: {missing} of {len(trained)} parameters of {type(optimizer).__name__} are in "
            "no module of the state, so no try could be undone; list the module too"
        )
