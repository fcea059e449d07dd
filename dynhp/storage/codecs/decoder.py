"""From JSON and raw buffers back to a state, with everything checked."""

from __future__ import annotations

import math
import struct
from array import array
from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce
from operator import getitem
from typing import Any

import numpy as np

from dynhp.errors import CodecError, DamagedFile, nearest
from dynhp.frameworks import package_for
from dynhp.storage.codecs.encoder import (
    LONG_LIST,
    MOST_LEVELS,
    MOST_SHARED,
    PACKED,
    is_storable,
    weight_of,
)
from dynhp.storage.codecs.registry import BY_NAME

__all__ = ["MOST_STATE", "Decoder"]

MOST_STATE = 16 << 20
"""The most bytes of JSON in a state; made into one, the worst takes sixty times as much memory."""

# What "$same" may mean.
_NUMBERED = {"list", "dict", "$bytearray", "$array", "$dict", "$codec", "$floats", "$ints"}


class Decoder:
    """Turns nodes of JSON into one state, with its large parts taken from the buffers."""

    def __init__(self, buffers: Sequence[bytearray]) -> None:
        self._buffers = buffers
        self._used = 0
        self._depth = 0
        self._made: list[Any] = []
        self._weights = array("q")  # of what was made
        self._weight = self._shared = 0
        self._decoders: Mapping[str, Callable[[Any], Any]] = {
            "$int": _long,
            "$float": lambda text: struct.unpack(">d", bytes.fromhex(text))[0],
            "$complex": self._complex,
            "$str": lambda text: bytes.fromhex(text).decode("utf-8", "surrogatepass"),
            "$bytes": lambda place: bytes(self._take(place)),
            "$bytearray": self._take,
            "$array": self._array,
            "$scalar": _scalar,
            "$tuple": self._tuple,
            **{tag: partial(self._numbers, dtype) for tag, dtype in PACKED.values()},
            "$dict": self._dict,
            "$codec": self._registered,
            "$same": self._same,
        }

    def state(self, node: Any) -> Any:
        """The whole state, of which no buffer may be left over."""
        state = self.part(node)
        if self._used != len(self._buffers):
            raise DamagedFile(f"of {len(self._buffers)} buffers only {self._used} are used")
        return state

    def part(self, node: Any, path: Sequence[str] = ()) -> Any:
        """What a state has at this path; any mistake in it is damage."""
        try:
            return self.node(reduce(getitem, path, node))
        except (DamagedFile, CodecError, MemoryError):
            raise
        except Exception as error:
            raise DamagedFile(f"it describes no possible state ({error})") from error

    def node(self, node: Any) -> Any:
        """The value that this node of JSON stands for."""
        if type(node) not in (list, dict):
            self._weight += weight_of(node)
            return node
        self._depth += 1
        if self._depth > 3 * MOST_LEVELS:
            raise ValueError("it is nested more deeply than can be stored")
        before = self._weight
        tag, value = self._container(node)
        self._depth -= 1
        if tag != "$same":
            self._weight += weight_of(value)
        if tag in _NUMBERED:
            self._made.append(value)
            self._weights.append(self._weight - before)
        return value

    def _container(self, node: Any) -> tuple[str, Any]:
        if type(node) is list:
            return "list", [self.node(item) for item in node]
        if not any(key.startswith("$") for key in node):
            return "dict", {key: self.node(item) for key, item in node.items()}
        ((tag, content),) = node.items()
        return tag, self._decoders[tag](content)

    def _same(self, number: Any) -> Any:
        """What was made before; a small file must not stand for endless copies."""
        if type(number) is not int or not 0 <= number < len(self._made):
            raise ValueError(f"{number!r} is none of {len(self._made)} things"[:200])
        self._weight += self._weights[number]
        self._shared += self._weights[number]
        if self._shared > 4 * MOST_SHARED:  # it counts a little more than the writer does
            raise ValueError("too much in it is shared")
        return self._made[number]

    def _take(self, place: Any) -> bytearray:
        if type(place) is not int or place != self._used:
            raise ValueError(f"buffer {self._used} must come next, not {place!r}")
        self._used += 1
        return self._buffers[place]

    def _complex(self, parts: Any) -> complex:
        real, imaginary = map(self.node, _list(parts))
        if type(real) is not float or type(imaginary) is not float:
            raise ValueError(f"a complex number needs two floats, not {parts!r}")
        return complex(real, imaginary)

    def _array(self, parts: Any) -> np.ndarray[Any, Any]:
        name, shape, order, place = _list(parts)
        dtype = _dtype(name)
        sound = all(type(length) is int and length >= 0 for length in _list(shape))
        axes = order if type(order) is list else list(range(len(shape)))
        known = sorted(axes) == list(range(len(shape))) if axes is order else order in ("C", "F")
        if not sound or not dtype.itemsize or not known:
            raise ValueError(f"these parts describe no array: {parts!r}"[:200])
        buffer = self._take(place)
        if math.prod(shape) * dtype.itemsize != len(buffer):
            raise ValueError(f"{len(buffer)} bytes are not an array of {name}, shape {shape}"[:200])
        if axes is not order:
            return np.ndarray(shape, dtype, buffer=buffer, order=order)
        turned = np.ndarray([shape[axis] for axis in axes], dtype, buffer=buffer)
        return turned.transpose([axes.index(axis) for axis in range(len(axes))])

    def _numbers(self, dtype: str, place: Any) -> list[Any]:
        buffer = self._take(place)
        if len(buffer) % 8 or len(buffer) < 8 * LONG_LIST:
            raise ValueError(f"{len(buffer)} bytes are not a long list of numbers")
        self._weight += len(buffer) // 8
        return list(np.frombuffer(buffer, dtype).tolist())

    def _tuple(self, items: Any) -> tuple[Any, ...]:
        if type(items) is dict:
            ((tag, place),) = items.items()
            return tuple(self._numbers(dict(PACKED.values())[tag], place))
        return tuple(self.node(item) for item in _list(items))

    def _dict(self, pairs: Any) -> dict[Any, Any]:
        items: dict[Any, Any] = {}
        for pair in _list(pairs):
            key, item = map(self.node, _list(pair))
            items[key] = item
        if len(items) != len(pairs):
            raise ValueError("a dictionary has a key twice")
        return items

    def _registered(self, parts: Any) -> Any:
        name, node = _list(parts)
        if name not in BY_NAME:
            package = package_for(str(name).partition(".")[0])
            raise CodecError(
                f"the state holds a {name!r}, which is not registered{nearest(name, BY_NAME)}. "
                f"Import {package or 'the package that does'}, or call register_codec"
            )
        plain = self.node(node)
        try:
            return BY_NAME[name].from_plain(plain)
        except Exception as failure:
            raise CodecError(f"{name} cannot be made of what the file says: {failure}") from failure


def _list(node: Any) -> list[Any]:
    if type(node) is not list:
        raise ValueError(f"a list is needed, not {node!r}"[:200])
    return node


def _long(text: Any) -> int:
    value = int(text, 16)
    if hex(value) != text:
        raise ValueError(f"not a number as it was written: {text!r}"[:200])
    return value


def _dtype(name: Any) -> np.dtype[Any]:
    if type(name) is not str or len(name) > 40:
        raise ValueError(f"not a type of numpy: {name!r}"[:200])
    dtype = np.dtype(name)
    if dtype.str != name or not is_storable(dtype):
        raise ValueError(f"not a type of raw numbers or text: {name!r}")
    return dtype


def _scalar(parts: Any) -> Any:
    name, text = _list(parts)
    dtype, raw = _dtype(name), bytearray.fromhex(text)
    if len(raw) != dtype.itemsize:
        raise ValueError(f"{len(raw)} bytes are not a value of type {name}")
    return np.ndarray((), dtype, buffer=raw)[()]
