"""Which things in a state are one and the same, and which arrays share memory."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np

from dynhp.errors import CodecError

__all__ = ["MOST_SHARED", "Key", "Views", "key_of", "weight_of"]

MOST_SHARED = 16 << 20
"""The most that may be stored by reference: printing or copying the state repeats it all."""

Key: TypeAlias = int | tuple[Any, ...]


def key_of(thing: Any) -> Key:
    """What identifies a thing, under whatever name, while it is alive."""
    if type(thing) is np.ndarray and thing.size:  # two objects may be the same array
        return _address(thing), thing.shape, thing.strides, thing.dtype.str
    return id(thing)


def weight_of(thing: Any) -> int:
    """About how much a thing is by itself, without what it holds."""
    kind = type(thing)
    if kind is str or kind is bytes or kind is bytearray:
        return 1 + len(thing)
    return 1000 + thing.itemsize if kind is np.ndarray else 1


class _View(NamedTuple):
    low: int
    high: int
    where: str
    array: np.ndarray[Any, Any]


class Views:
    """The arrays of one state, each noted once."""

    def __init__(self) -> None:
        self._views: list[_View] = []

    def add(self, array: np.ndarray[Any, Any], where: str) -> None:
        """Note an array and the path to it."""
        if array.size:
            steps = [
                (length - 1) * stride
                for length, stride in zip(array.shape, array.strides, strict=True)
            ]
            low = _address(array) + sum(step for step in steps if step < 0)
            high = _address(array) + sum(step for step in steps if step > 0) + array.itemsize
            self._views.append(_View(low, high, where, array))

    def require_apart(self) -> None:
        """Refuse arrays that are different views of one memory: read back, they would be two."""
        near: list[_View] = []
        for view in sorted(self._views, key=lambda view: view.low):
            near = [other for other in near if other.high > view.low]
            for other in near:
                if np.shares_memory(other.array, view.array):
                    raise CodecError(
                        f"{other.where} and {view.where} are different views of one memory, which "
                        "cannot be stored: what changes one would no longer change the other. "
                        "Store the whole array once, or copies (array.copy())"
                    )
            near.append(view)


def _address(array: np.ndarray[Any, Any]) -> int:
    return int(array.__array_interface__["data"][0])
