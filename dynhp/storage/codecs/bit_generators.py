"""States of numpy's bit generators, checked before numpy believes them."""

from __future__ import annotations

import reprlib
from typing import Any

import numpy as np

__all__ = ["KINDS", "from_plain"]

KINDS = {
    kind.__name__: kind
    for kind in (
        np.random.MT19937,
        np.random.PCG64,
        np.random.PCG64DXSM,
        np.random.Philox,
        np.random.SFC64,
    )
}

# numpy takes a position on trust and reads its memory there.
_HIGHEST = {
    "pos": 624,
    "buffer_pos": 4,
    "has_uint32": 1,
    "uinteger": 2**32 - 1,
    "state": 2**128 - 1,
    "inc": 2**128 - 1,
}


def from_plain(plain: Any) -> Any:
    """A bit generator in this state, or an error where no bit generator can be in it."""
    name = plain["bit_generator"]
    if name not in KINDS:
        raise ValueError(f"no bit generator of numpy: {reprlib.repr(name)}")
    bits: Any = KINDS[name](0)
    _require_like(plain, bits.state, name)
    bits.state = plain
    return bits


def _require_like(found: Any, model: Any, name: str) -> None:
    """Refuse what has other names, types, lengths or numbers than the state of a sound one."""
    if isinstance(model, dict):
        sound = isinstance(found, dict) and found.keys() == model.keys()
        for key in model if sound else ():
            _require_like(found[key], model[key], key)
    elif isinstance(model, np.ndarray):
        kind = (model.dtype, model.shape)
        sound = isinstance(found, np.ndarray) and (found.dtype, found.shape) == kind
    elif isinstance(model, str):
        sound = found == model
    else:
        sound = type(found) is int and 0 <= found <= _HIGHEST[name]
    if not sound:
        raise ValueError(f"no bit generator of numpy has such a {name}: {reprlib.repr(found)}")
