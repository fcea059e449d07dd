"""States on their way between processes: one pickle, its large buffers in shared memory."""

from __future__ import annotations

import io
import itertools
import pickle
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from dynhp.errors import ContractError
from dynhp.executors.pool.reducers import reducers
from dynhp.executors.pool.segments import Segments
from dynhp.trainer import State

__all__ = ["PackedState", "Pieces", "fill", "is_small", "lend", "load", "pack", "pieces_of"]

SMALL = 1 << 15
"""Up to that many bytes travel in the message itself: a segment would cost more than it saves."""

Buffers: TypeAlias = Callable[[str], memoryview]
"""Gives the memory of a segment by its name."""

Pieces: TypeAlias = list[memoryview]
"""A pickle, then the buffers that it leaves out, in order."""


class PackedState(NamedTuple):
    """A state on its way: its pieces in a segment of that name, or right here."""

    sizes: tuple[int, ...]
    segment: str | None
    here: tuple[bytes, ...] = ()


def pieces_of(state: State, pickler: Callable[..., Any] = pickle.Pickler) -> Pieces:
    """Take a state apart without copying its large buffers, with a pickler of this kind.

    >>> [piece.nbytes for piece in pieces_of(np.zeros(10_000))][1:]
    [80000]
    """
    buffers: Pieces = []

    def leave_out(buffer: pickle.PickleBuffer) -> bool:
        raw = buffer.raw()
        if raw.nbytes > SMALL:
            buffers.append(raw)
        return raw.nbytes <= SMALL  # true: it stays in the pickle

    stream = io.BytesIO()
    taker = pickler(stream, protocol=5, buffer_callback=leave_out)
    taker.dispatch_table = reducers(getattr(taker, "dispatch_table", None))
    try:
        taker.dump(state)
    except Exception as error:
        raise ContractError(
            "a state must be picklable to be sent to another process, got "
            f"{type(error).__name__}: {error}; keep locks, open files, local functions and the "
            "like out of get_state(), or use Serial()"
        ) from error
    return [stream.getbuffer(), *buffers]


def is_small(pieces: Pieces) -> bool:
    """Whether a message can carry it all."""
    return len(pieces) == 1 and pieces[0].nbytes <= SMALL


def fill(pieces: Pieces, segment: str | None, buffer: Buffers) -> PackedState:
    """Put the pieces into a segment that is there already, or right into the packed state."""
    sizes = tuple(piece.nbytes for piece in pieces)
    if segment is None:
        return PackedState(sizes, None, tuple(map(bytes, pieces)))
    space = buffer(segment)
    for piece, (begin, end) in zip(pieces, _bounds(sizes), strict=True):
        space[begin:end] = piece
    return PackedState(sizes, segment)


def load(packed: PackedState, buffer: Buffers) -> State:
    """Put the state together again, from copies: it is the receiver's own, and may be written to.

    >>> load(pack({"weights": [1.0, 2.0]}, Segments()), Segments().buffer)
    {'weights': [1.0, 2.0]}
    """
    if packed.segment is None:
        own = [_own(memoryview(piece)) for piece in packed.here]
    else:
        space = buffer(packed.segment)
        own = [_own(space[begin:end]) for begin, end in _bounds(packed.sizes)]
    return pickle.loads(own[0], buffers=own[1:])


def lend(packed: PackedState, buffer: Buffers, use: Callable[[State], object]) -> bool:
    """Let a state be used right where it lies; whether nothing refers to its memory afterwards.

    >>> segments, weights = Segments(), []
    >>> packed = pack(np.ones(10_000), segments)
    >>> lend(packed, segments.buffer, lambda state: weights.append(state.sum()))
    True
    >>> lend(packed, segments.buffer, weights.append)
    False
    >>> weights.clear(); segments.clear()
    """
    if packed.segment is None:
        use(load(packed, buffer))
        return True
    space = buffer(packed.segment)
    bounds = _bounds(packed.sizes)
    lent: Any = [np.frombuffer(space[begin:end], np.uint8) for begin, end in bounds]
    alive = list(map(weakref.ref, lent))  # whatever lies in one of these refers to it
    use(pickle.loads(lent[0], buffers=lent[1:]))
    del lent
    return all(piece() is None for piece in alive)


def pack(state: State, segments: Segments) -> PackedState:
    """Take a state apart and put it into a new segment, or into the result where it is small."""
    pieces = pieces_of(state)
    name = None if is_small(pieces) else segments.make([piece.nbytes for piece in pieces])
    return fill(pieces, name, segments.buffer)


def _bounds(sizes: Sequence[int]) -> Iterator[tuple[int, int]]:
    return itertools.pairwise(itertools.accumulate(sizes, initial=0))


def _own(piece: memoryview) -> Any:
    copy: Any = np.empty(piece.nbytes, np.uint8)  # allocated as any array is
    copy.data[:] = piece
    return copy
