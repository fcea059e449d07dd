"""Tensors of every type, generators and what else torch puts into states, stored without pickle."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from dynhp.codecs import register_codec, register_dataclass
from dynhp_torch.modules import ModuleState
from dynhp_torch.optimizers import OptimizerState

__all__ = ["register"]

_DTYPES = {
    str(dtype).removeprefix("torch."): dtype
    for dtype in vars(torch).values()
    if isinstance(dtype, torch.dtype)
}


def register() -> None:
    """Let checkpoints hold what torch puts into states; importing ``dynhp_torch`` has done so.

    >>> register()
    >>> from dynhp.codecs import decode, encode
    >>> decode(encode({"weight": torch.ones(2, dtype=torch.bfloat16)}))
    {'weight': tensor([1., 1.], dtype=torch.bfloat16)}
    """
    register_codec(
        torch.Tensor, name="torch.tensor", to_plain=_tensor_to_plain, from_plain=_tensor_from_plain
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
    dense = tensor.detach().resolve_conj().resolve_neg().cpu()
    order = _order(dense)
    flat = dense.permute(order).contiguous().reshape(-1)
    return {
        "dtype": tensor.dtype,
        "shape": list(tensor.shape),
        "order": order,
        "device": str(tensor.device),
        "requires_grad": tensor.requires_grad,
        "bytes": flat.view(torch.uint8).numpy() if flat.numel() else np.empty(0, np.uint8),
    }


def _order(tensor: torch.Tensor) -> list[int]:
    """The dimensions as they lie in memory, where they lie without gaps (channels_last does)."""
    strides = tensor.stride()
    as_they_lie = sorted(range(tensor.dim()), key=lambda axis: -strides[axis])
    gapless = tensor.permute(as_they_lie).is_contiguous() and not tensor.is_contiguous()
    return as_they_lie if gapless else list(range(tensor.dim()))


def _tensor_from_plain(plain: Any) -> torch.Tensor:
    shape, order, raw = plain["shape"], plain["order"], plain["bytes"]
    if sorted(order) != list(range(len(shape))) or raw.dtype != np.uint8 or raw.ndim != 1:
        raise ValueError(f"no tensor is like {dict(plain, bytes='...')}"[:200])
    if min(shape, default=0) < 0:
        raise ValueError(f"no tensor has the shape {shape}")
    flat = torch.from_numpy(raw)
    typed = flat.view(plain["dtype"]) if raw.size else torch.empty(0, dtype=plain["dtype"])
    permuted = typed.reshape([shape[axis] for axis in order])
    back = permuted.permute([order.index(axis) for axis in range(len(order))])
    tensor = back.to(_device(plain["device"]))
    return tensor.requires_grad_() if plain["requires_grad"] else tensor


def _generator_from_plain(plain: Any) -> torch.Generator:
    device, state = plain
    generator = torch.Generator(device=torch.device(device))
    generator.set_state(state)
    return generator


def _device(name: str) -> torch.device:
    """The device it was on, or the processor where that is not there; trainers move it anyway."""
    device = torch.device(name)
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError):
        return torch.device("cpu")
    return device
