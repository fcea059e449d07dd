"""Tensors that are sent to other processes: their memory is shared, not copied into a pickle."""

from __future__ import annotations

import pickle
from typing import Any

import torch
from torch import Tensor

from dynhp.executors.pool.packing import register_reducer

__all__ = ["register"]


def register() -> None:
    """Let tensors in main memory be sent fast; importing ``dynhp_torch`` has done so.

    The memory of a tensor is sent once and whole, so tensors that share memory still do, and a
    view brings all that it is a view of. Tensors of other devices and layouts are sent as torch
    pickles them.

    >>> register()
    >>> from dynhp.executors.pool.packing import pieces_of
    >>> weights = torch.zeros(1000, 100)
    >>> [piece.nbytes for piece in pieces_of({"weights": weights, "first": weights[0]})][1:]
    [400000]
    """
    register_reducer(Tensor, _reduced)
    register_reducer(torch.UntypedStorage, _reduced_memory)


def _reduced(tensor: Tensor) -> tuple[Any, ...]:
    if not _is_plain(tensor):
        return _as_torch_does(tensor)
    where = (tensor.storage_offset(), tuple(tensor.shape), tensor.stride())
    return _tensor, (tensor.untyped_storage(), tensor.dtype, where, tensor.requires_grad)


def _is_plain(tensor: Tensor) -> bool:
    """Whether memory, type, shape and strides describe all of it."""
    return (
        tensor.device.type == "cpu"
        and tensor.layout is torch.strided
        and tensor.is_leaf
        and not (tensor.is_quantized or tensor.is_conj() or tensor.is_neg())
        and not (tensor._backward_hooks or vars(tensor))
    )


def _reduced_memory(memory: torch.UntypedStorage) -> tuple[Any, ...]:
    if memory.device.type != "cpu":
        return _as_torch_does(memory)
    raw: Any = torch.empty(0, dtype=torch.uint8).set_(memory).numpy()
    return _memory, (pickle.PickleBuffer(raw),)


def _as_torch_does(thing: Any) -> tuple[Any, ...]:
    reduced: tuple[Any, ...] = thing.__reduce_ex__(5)
    return reduced


def _tensor(
    memory: torch.UntypedStorage,
    dtype: torch.dtype,
    where: tuple[int, tuple[int, ...], tuple[int, ...]],
    requires_grad: bool,
) -> Tensor:
    tensor = torch.empty(0, dtype=dtype).set_(memory, *where)
    return tensor.requires_grad_() if requires_grad else tensor


def _memory(buffer: Any) -> torch.UntypedStorage:
    raw = memoryview(buffer)
    if not raw.nbytes:
        return torch.empty(0).untyped_storage()
    # Tensors can be written to: read-only memory, as Ray gives it, is copied.
    own = bytearray(raw) if raw.readonly else raw
    return torch.frombuffer(own, dtype=torch.uint8).untyped_storage()
