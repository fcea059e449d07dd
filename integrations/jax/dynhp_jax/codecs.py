"""Arrays and keys of JAX in checkpoints, stored without pickle."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dynhp.storage.codecs import register_codec, register_dataclass
from dynhp_jax.leaves import KeyData

__all__ = ["register"]


def register() -> None:
    """Let checkpoints hold what JAX puts into states; importing ``dynhp_jax`` has done so.

    >>> register()
    >>> from dynhp.storage.codecs import decode, encode
    >>> decode(encode({"weight": jnp.ones(2, dtype=jnp.bfloat16)}))
    {'weight': Array([1, 1], dtype=bfloat16)}
    """
    register_codec(
        type(jnp.zeros(())), name="jax.array", to_plain=_to_plain, from_plain=_from_plain
    )
    register_dataclass(KeyData, name="jax.key")


def _to_plain(array: jax.Array) -> Any:
    if array.is_deleted():
        raise ValueError("an array whose memory was donated; store what the function returned")
    if not array.is_fully_addressable:
        raise ValueError("an array that is spread over several processes; gather it first")
    raw: Any = np.ascontiguousarray(np.asarray(array)).reshape(-1).view(np.uint8)
    return {
        "dtype": str(array.dtype),
        "shape": list(array.shape),
        "weak": bool(array.weak_type),
        "bytes": raw,
    }


def _from_plain(plain: Any) -> jax.Array:
    shape, raw = plain["shape"], plain["bytes"]
    dtype = jnp.dtype(plain["dtype"])
    if not all(type(length) is int and length >= 0 for length in shape):
        raise ValueError(f"an array needs a shape, not {shape!r}"[:200])
    if not isinstance(raw, np.ndarray) or raw.dtype != np.uint8 or raw.ndim != 1:
        raise ValueError(f"memory must be an array of bytes, not a {type(raw)!r}")
    if raw.nbytes != math.prod(shape) * dtype.itemsize:
        raise ValueError(f"{raw.nbytes} bytes are not an array of {dtype} of shape {shape}"[:200])
    # A copy, because JAX may take aligned memory of numpy as its own.
    array = jnp.array(raw.view(dtype).reshape(shape), copy=True)
    if array.dtype != dtype:
        raise ValueError(f"an array of {dtype}; switch jax_enable_x64 on, as in the run that saved")
    # A weak type is that of a Python number; without it a compiled function is compiled again.
    return jnp.asarray(array.item()) if plain["weak"] and not shape else array
