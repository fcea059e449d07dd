"""Tensors out of a state and back into it: always copies, in place wherever that is safe."""

from __future__ import annotations

import copy
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from dynhp.loops import Part
from dynhp_torch.parts.shards import (
    LocalShard,
    is_sharded,
    local,
    require_same_spread,
    shard_of,
    sharded_like,
)

__all__ = ["MAPPINGS", "cloned", "copied_tree", "filled", "made", "tensor_part", "write_into"]

MAPPINGS = (dict, OrderedDict, defaultdict, Counter)


def copied_tree(value: Any, leaf: Callable[[Any], Any]) -> Any:
    """New containers at any depth, with what ``leaf`` makes of all that is no container.

    >>> copied_tree({"betas": [1, (2, 3)]}, str)
    {'betas': ['1', ('2', '3')]}
    """
    kind = type(value)
    if kind in MAPPINGS:
        new = copy.copy(value)  # with the attributes that a module gives its state_dict
        for key, item in value.items():
            new[key] = copied_tree(item, leaf)
        return new
    if kind is deque:
        return deque((copied_tree(item, leaf) for item in value), value.maxlen)
    if kind in (list, tuple, set):
        return kind(copied_tree(item, leaf) for item in value)
    return leaf(value)


def cloned(value: Any) -> Any:
    """A copy that shares nothing with the value, which may hold tensors at any depth.

    >>> velocity = torch.ones(2)
    >>> state = cloned({"velocity": velocity, "step": 3})
    >>> velocity.zero_(); state
    tensor([0., 0.])
    {'velocity': tensor([1., 1.]), 'step': 3}
    """
    return copied_tree(value, _cloned_leaf)


def _cloned_leaf(value: Any) -> Any:
    if isinstance(value, Tensor):
        return shard_of(value) if is_sharded(value) else value.detach().clone()
    return copy.deepcopy(value)


def filled(
    current: Any, saved: Any, avoid: Tensor | None = None, like: Tensor | None = None
) -> Any:
    """The saved value: in the tensor that is there, where it fits, else in a new one.

    A tensor that lies in the memory of ``avoid`` is not written into. A new one of which the state
    has a shard is spread over the ranks as ``like`` is.

    >>> current = torch.zeros(2)
    >>> filled(current, torch.ones(2)) is current, current
    (True, tensor([1., 1.]))
    """
    if fits(current, saved) and not _same_memory(current, avoid):
        write_into(current, saved)
        return current
    return made(saved, like)


def made(saved: Any, like: Tensor | None = None) -> Any:
    """A copy of the saved value that can be used: shards in it are spread as ``like`` is."""

    def made_leaf(leaf: Any) -> Any:
        return sharded_like(like, leaf) if isinstance(leaf, LocalShard) else _cloned_leaf(leaf)

    return copied_tree(saved, made_leaf)


@torch.no_grad()
def write_into(tensor: Tensor, saved: Any) -> None:
    """Write a saved tensor, or this rank's shard of it, into the memory of the tensor."""
    if isinstance(saved, LocalShard):
        require_same_spread(tensor, saved)
        local(tensor).copy_(saved.local)
    else:
        tensor.detach().copy_(saved)


def fits(current: Any, saved: Any) -> bool:
    """Whether the saved tensor can be copied into the other one without loss."""
    if isinstance(saved, LocalShard):
        return is_sharded(current) and fits(local(current), saved.local)
    return (
        isinstance(current, Tensor)
        and isinstance(saved, Tensor)
        and not is_sharded(current)
        and current.shape == saved.shape
        and current.dtype == saved.dtype
        and current.device == saved.device
        and current.layout == saved.layout == torch.strided
    )


def set_grad(tensor: Tensor, saved: Tensor | LocalShard | None) -> None:
    """Put a gradient back, or the absence of one."""
    tensor.grad = None if saved is None else filled(tensor.grad, saved, like=tensor)


def tensor_part(tensor: Tensor) -> Part:
    """A tensor by itself, such as a parameter without a module, with its gradient.

    >>> weight = torch.ones(2)
    >>> part = tensor_part(weight); state = part.get()
    >>> _ = weight.zero_(); part.set(state); weight
    tensor([1., 1.])
    """

    def set_state(state: tuple[Tensor, Tensor | None]) -> None:
        write_into(tensor, state[0])
        set_grad(tensor, state[1])

    return Part(get=lambda: (cloned(tensor), cloned(tensor.grad)), set=set_state)


def _same_memory(tensor: Tensor, other: Tensor | None) -> bool:
    if other is None or other.layout != torch.strided:
        return False
    mine, its = local(tensor).untyped_storage(), local(other).untyped_storage()
    return mine.data_ptr() == its.data_ptr()
