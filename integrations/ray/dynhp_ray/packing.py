"""States on their way: one pickle and its large buffers, as arrays that Ray does not copy."""

from __future__ import annotations

import pickle
from typing import Any, TypeAlias

import numpy as np
from ray import cloudpickle

from dynhp.executors.pool.packing import pieces_of
from dynhp.trainer import State

__all__ = ["PackedState", "borrow", "own", "pack"]

PackedState: TypeAlias = list[Any]
"""A pickle, then the buffers that it leaves out, in order, each an array of bytes."""


def pack(state: State) -> PackedState:
    """Take a state apart; classes of the user's script travel along.

    >>> [piece.nbytes for piece in pack(np.zeros(10_000))][1:]
    [80000]
    """
    return [np.frombuffer(piece, np.uint8) for piece in pieces_of(state, cloudpickle.Pickler)]


def own(parcel: PackedState) -> State:
    """The state, made of copies: it outlives Ray, and may be written to.

    >>> own(pack({"weights": [1.0, 2.0]}))
    {'weights': [1.0, 2.0]}
    """
    return pickle.loads(parcel[0], buffers=[piece.copy() for piece in parcel[1:]])


def borrow(parcel: PackedState) -> State:
    """The state, its large arrays read-only and where Ray has put them.

    >>> borrow([piece.copy() for piece in pack(np.arange(10_000))])[-1]
    np.int64(9999)
    """
    return pickle.loads(parcel[0], buffers=parcel[1:])
