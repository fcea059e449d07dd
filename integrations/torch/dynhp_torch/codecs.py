"""Tensors, generators and all else that torch puts into states, stored without pickle."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from dynhp.storage.codecs import register_codec, register_dataclass
from dynhp_torch.parts import ModuleState, OptimizerState
from dynhp_torch.parts.shards import LocalShard

__all__ = ["register"]

_DTYPES = {
    str(dtype).removeprefix("torch."): dtype
    for dtype in vars(torch).values()
    if isinstance(dtype, torch.dtype)
}


def register() -> None:
    """Let checkpoints hold what torch puts into states; importing ``dynhp_torch`` has done so.

    >>> register()
    >>> from dynhp.storage.codecs import decode, encode
    >>> decode(encode({"weight": torch.ones(2, dtype=torch.bfloat16)}))
    {'weight': tensor([1., 1.], dtype=torch.bfloat16)}
    """
    register_codec(
        torch.Tensor, name="torch.tensor", to_plain=_tensor_to_plain, from_plain=_tensor_from_plain
    )
    register_codec(
        torch.UntypedStorage,
        name="torch.memory",
        to_plain=_memory_to_plain,
        from_plain=_memory_from_plain,
    )
    register_codec(
        torch.nn.Parameter,
        name="torch.parameter",
        to_plain=lambda parameter: [parameter.requires_grad, parameter.detach()],
        from_plain=lambda plain: torch.nn.Parameter(plain[1], requires_grad=plain[0]),
    )
    register_codec(
        torch.Generator,
        name="torch.generator",
        to_plain=lambda generator: [str(generator.device), generator.get_state()],
        from_plain=_generator_from_plain,
    )
    register_codec(torch.Size, name="torch.size", to_plain=list, from_plain=torch.Size)
    register_codec(torch.device, name="torch.device", to_plain=str, from_plain=torch.device)
    register_codec(
        torch.dtype,
        name="torch.dtype",
        to_plain=lambda dtype: str(dtype).removeprefix("torch."),
        from_plain=_DTYPES.__getitem__,
    )
    register_dataclass(LocalShard, name="torch.shard")
    register_dataclass(ModuleState, name="torch.module")
    register_dataclass(OptimizerState, name="torch.optimizer")


def _tensor_to_plain(tensor: torch.Tensor) -> Any:
    if tensor.layout is not torch.strided or tensor.is_quantized or tensor.is_meta:
        raise ValueError(
            f"a tensor of layout {tensor.layout}, dtype {tensor.dtype} on {tensor.device}; "
            "store its dense parts"
        )
    if tensor.grad_fn is not None:
        raise ValueError("a tensor in the middle of a graph; call detach() on it")
    memory = tensor.untyped_storage()
    if tensor.is_conj() or tensor.is_neg() or tensor.nbytes > memory.nbytes():
        raise ValueError(
            "a conjugated, negated or expanded view; call resolve_conj(), resolve_neg() or "
            "contiguous() on it"
        )
    # The whole memory, stored once, so that views of one memory still are when they come back.
    return {
        "dtype": tensor.dtype,
        "shape": list(tensor.shape),
        "stride": list(tensor.stride()),
        "offset": tensor.storage_offset(),
        "requires_grad": tensor.requires_grad,
        "memory": memory,
    }


def _tensor_from_plain(plain: Any) -> torch.Tensor:
    shape, stride, offset, memory = (plain[key] for key in ("shape", "stride", "offset", "memory"))
    if not isinstance(memory, torch.UntypedStorage):
        raise ValueError(f"a tensor needs memory, not a {type(memory)!r}")
    empty = torch.empty(0, dtype=plain["dtype"], device=memory.device)
    if not _fits(shape, stride, offset, memory.nbytes() // empty.element_size()):
        raise ValueError(
            f"{memory.nbytes()} bytes are not a tensor of {plain['dtype']} of shape {shape}, "
            f"stride {stride} and offset {offset}"[:200]
        )
    tensor = empty.set_(memory, offset, shape, stride)
    return tensor.requires_grad_() if plain["requires_grad"] else tensor


def _fits(shape: Any, stride: Any, offset: Any, room: int) -> bool:
    """Whether a view stays within ``room`` items; torch would enlarge the memory for it."""
    if not all(type(number) is int and number >= 0 for number in (*shape, *stride, offset)):
        return False
    last: int = sum((length - 1) * step for length, step in zip(shape, stride, strict=True))
    items: int = math.prod(shape)
    return items == 0 or (items <= room and offset + last < room)


def _memory_to_plain(memory: torch.UntypedStorage) -> Any:
    flat = torch.empty(0, dtype=torch.uint8, device=memory.device).set_(memory)
    raw: Any = flat.cpu().numpy()
    return [str(memory.device), raw]


def _memory_from_plain(plain: Any) -> torch.UntypedStorage:
    device, raw = plain
    if not isinstance(raw, np.ndarray) or raw.dtype != np.uint8 or raw.ndim != 1:
        raise ValueError(f"memory must be an array of bytes, not a {type(raw)!r}")
    return torch.from_numpy(raw).to(_device(device)).untyped_storage()


def _generator_from_plain(plain: Any) -> torch.Generator:
    device, state = plain
    generator = torch.Generator(device=torch.device(device))
    generator.set_state(state)
    return generator


def _device(name: str) -> torch.device:
    """The device it was on, or the CPU where there is no such device; trainers move it."""
    device = torch.device(name)
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError):
        return torch.device("cpu")
    return device
