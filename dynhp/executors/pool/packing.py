"""States taken apart for another process: one pickle, and the large buffers that it leaves out."""

from __future__ import annotations

import copyreg
import io
import pickle
from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

from dynhp.errors import ContractError, SettingsError
from dynhp.trainer import State

T = TypeVar("T")

SMALL = 1 << 15
"""Buffers of up to this many bytes stay in the pickle: to move one alone would cost more."""

Pieces: TypeAlias = list[memoryview]
"""A pickle, then the buffers that it leaves out, in order."""

Reduce: TypeAlias = Callable[[T], tuple[Any, ...]]
"""Gives what ``__reduce__`` would: a function that can be imported, and its arguments."""

_reducers: dict[type, Reduce[Any]] = {}


def register_reducer(kind: type[T], reduce: Reduce[T]) -> None:
    """Say how objects of exactly this type are taken apart when a state is sent to a worker.

    Wrap large memory in ``pickle.PickleBuffer``: it is put into shared memory and not copied into
    the pickle. The function that puts the object together is given a buffer of its own, or one
    that is read-only.

    >>> class Weights:
    ...     def __init__(self, raw):
    ...         self.raw = raw
    >>> register_reducer(Weights, lambda it: (Weights, (pickle.PickleBuffer(it.raw),)))
    """
    if not isinstance(kind, type) or not callable(reduce):
        raise SettingsError(
            f"register_reducer needs a type and a function, got {kind!r} and {reduce!r}"
        )
    _reducers[kind] = reduce


def pieces_of(state: State, pickler_class: Callable[..., Any] = pickle.Pickler) -> Pieces:
    """Take a state apart with this kind of pickler, without copying its large buffers.

    >>> import numpy as np
    >>> [piece.nbytes for piece in pieces_of(np.zeros(10_000))][1:]
    [80000]
    """
    buffers: Pieces = []

    def stays_in_pickle(buffer: pickle.PickleBuffer) -> bool:
        raw = buffer.raw()
        if raw.nbytes <= SMALL:
            return True
        buffers.append(raw)
        return False

    stream = io.BytesIO()
    pickler = pickler_class(stream, protocol=5, buffer_callback=stays_in_pickle)
    pickler.dispatch_table = {
        **getattr(pickler, "dispatch_table", copyreg.dispatch_table),
        **_reducers,
    }
    try:
        pickler.dump(state)
    except Exception as error:
        raise ContractError(
            "a state must be picklable to be sent to another process, got "
            f"{type(error).__name__}: {error}; keep locks, open files, local functions and the "
            "like out of get_state(), or use Serial()"
        ) from error
    return [stream.getbuffer(), *buffers]
