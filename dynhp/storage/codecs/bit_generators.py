"""States of numpy's bit generators, checked before numpy takes them."""

from __future__ import annotations

import reprlib
from typing import Any

import numpy as np
from numpy.random import MT19937, PCG64, PCG64DXSM, SFC64, Philox

__all__ = ["KINDS", "from_plain"]

KINDS = {kind.__name__: kind for kind in (MT19937, PCG64, PCG64DXSM, Philox, SFC64)}

# numpy does not check a position, and reads its memory there.
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


def _require_like(state: Any, model: Any, name: str) -> None:
    """Refuse what has other names, types, lengths or numbers than the state of a sound one."""
    if isinstance(model, dict):
        sound = isinstance(state, dict) and state.keys() == model.keys()
        for key in model if sound else ():
            _require_like(state[key], model[key], key)
    elif isinstance(model, np.ndarray):
        kind = (model.dtype, model.shape)
        sound = isinstance(state, np.ndarray) and (state.dtype, state.shape) == kind
    elif isinstance(model, str):
        sound = state == model
    else:
        sound = type(state) is int and 0 <= state <= _HIGHEST[name]
    if not sound:
        raise ValueError(f"no bit generator of numpy has such a {name}: {reprlib.repr(state)}")
