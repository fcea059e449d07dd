"""States on their way: one pickle and its large buffers, as arrays that Ray does not copy."""

from __future__ import annotations

import pickle
from typing import Any, TypeAlias

import numpy as np
from ray import cloudpickle

from dynhp.errors import ContractError
from dynhp.trainer import State

__all__ = ["Parcel", "borrow", "own", "pack"]

SMALL = 1 << 15
"""Up to that many bytes stay in the pickle: an array of their own would cost more than it saves."""

Parcel: TypeAlias = list[Any]
"""A pickle, then the buffers that it leaves out, in order, each an array of bytes."""


def pack(state: State) -> Parcel:
    """Take a state apart; classes of the user's script travel along.

    >>> [piece.nbytes for piece in pack(np.zeros(10_000))][1:]
    [80000]
    """
    buffers: list[memoryview] = []

    def aside(buffer: pickle.PickleBuffer) -> bool:
        raw = buffer.raw()
        if raw.nbytes > SMALL:
            buffers.append(raw)
        return raw.nbytes <= SMALL  # true: it stays in the pickle

    try:
        stream = cloudpickle.dumps(state, protocol=5, buffer_callback=aside)
    except Exception as error:
        raise ContractError(
            "a state must be picklable to be sent to an actor, got "
            f"{type(error).__name__}: {error}; keep open files, locks and the like out of "
            "get_state(), or use Serial()"
        ) from error
    return [np.frombuffer(piece, np.uint8) for piece in (stream, *buffers)]


def own(parcel: Parcel) -> State:
    """The state, made of copies: it outlives Ray, and may be written to.

    >>> own(pack({"weights": [1.0, 2.0]}))
    {'weights': [1.0, 2.0]}
    """
    return pickle.loads(parcel[0], buffers=[piece.copy() for piece in parcel[1:]])


def borrow(parcel: Parcel) -> State:
    """The state, its large arrays read-only and where Ray has put them.

    >>> borrow([piece.copy() for piece in pack(np.arange(10_000))])[-1]
    np.int64(9999)
    """
    return pickle.loads(parcel[0], buffers=parcel[1:])
