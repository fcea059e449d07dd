"""The state of an optimiser: copied out and written back into the groups and tensors it has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from dynhp.errors import ContractError
from dynhp.loops import Part
from dynhp.loops.parts import stateful_part
from dynhp_torch.parts.tensors import cloned, filled

__all__ = ["OptimizerState", "optimizer_part"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimizerState:
    """The settings of each group, and what is kept for each parameter, by its place."""

    groups: tuple[dict[str, Any], ...]
    sizes: tuple[int, ...]
    kept: dict[int, Any]
    shared: dict[Any, Any]


def optimizer_part(optimizer: Optimizer) -> Part:
    """An optimiser's settings and memory; memory that appeared since is dropped again.

    ``Optimizer.load_state_dict`` would keep references to the tensors it is given and would
    replace the groups, so that references to the old groups have no effect; both are avoided here.
    For an optimiser with a ``state_dict`` of its own that is used instead.

    >>> weight = torch.nn.Parameter(torch.ones(1)); weight.grad = torch.ones(1)
    >>> optimizer = torch.optim.SGD([weight], lr=0.1, momentum=0.9)
    >>> part = optimizer_part(optimizer); state = part.get()
    >>> optimizer.step(); optimizer.param_groups[0]["lr"] = 0.5
    >>> part.set(state); dict(optimizer.state), optimizer.param_groups[0]["lr"]
    ({}, 0.1)
    """
    kind = type(optimizer)
    if (
        kind.state_dict is not Optimizer.state_dict
        or kind.load_state_dict is not Optimizer.load_state_dict
    ):
        return stateful_part(optimizer)
    return Part(get=lambda: _get(optimizer), set=lambda state: _set(optimizer, state))


def _get(optimizer: Optimizer) -> OptimizerState:
    places = {parameter: place for place, parameter in enumerate(_parameters(optimizer))}
    return OptimizerState(
        groups=tuple(
            {key: cloned(value) for key, value in group.items() if key != "params"}
            for group in optimizer.param_groups
        ),
        sizes=_sizes(optimizer),
        kept={places[key]: cloned(kept) for key, kept in optimizer.state.items() if key in places},
        shared={key: cloned(kept) for key, kept in optimizer.state.items() if key not in places},
    )


@torch.no_grad()
def _set(optimizer: Optimizer, state: OptimizerState) -> None:
    if _sizes(optimizer) != state.sizes:
        raise ContractError(
            "an optimiser must keep its groups while a run goes on, got groups of "
            f"{_sizes(optimizer)} parameters instead of {state.sizes}. Give it all groups from the "
            "start and freeze parameters with requires_grad"
        )
    for group, saved in zip(optimizer.param_groups, state.groups, strict=True):
        _refill(group, {**saved, "params": group["params"]})
    parameters = _parameters(optimizer)
    kept = {parameters[place]: value for place, value in state.kept.items()}
    for key in [key for key in optimizer.state if key not in kept and key not in state.shared]:
        del optimizer.state[key]
    for key, value in {**kept, **state.shared}.items():
        optimizer.state[key] = _refill(optimizer.state.get(key), value, key)


def _refill(current: Any, saved: Any, parameter: Any = None) -> Any:
    """Make ``current`` equal to ``saved``; dictionaries and tensors stay the same objects."""
    like = parameter if isinstance(parameter, Tensor) else None
    avoid = None if like is None else like.grad
    if type(current) is not dict or type(saved) is not dict:
        return filled(current, saved, avoid, like)
    for key in current.keys() - saved.keys():
        del current[key]
    for key, value in saved.items():
        if key != "params":
            current[key] = filled(current.get(key), value, avoid, like)
    return current


def _parameters(optimizer: Optimizer) -> list[Tensor]:
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]


def _sizes(optimizer: Optimizer) -> tuple[int, ...]:
    return tuple(len(group["params"]) for group in optimizer.param_groups)
