"""From a state to JSON and raw buffers; what is one thing in several places is stored once."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from dynhp.errors import CodecError
from dynhp.frameworks import integrations_of
from dynhp.storage.codecs.archive import Buffer
from dynhp.storage.codecs.registry import BY_TYPE, Codec

__all__ = ["LONG_LIST", "MOST_LEVELS", "MOST_SHARED", "PACKED", "Encoder", "is_storable"]
__all__ += ["weight_of"]

MOST_LEVELS = 100
LONG_LIST = 1000
"""From this many items on, a list or tuple of nothing but floats, or whole numbers, is a buffer."""
PACKED: Mapping[type, tuple[str, str]] = {float: ("$floats", "<f8"), int: ("$ints", "<i8")}
MOST_SHARED = 16 << 20
"""The most that may be stored by reference: printing or copying the state repeats it all."""
LONGEST_NUMBER = 1000  # bits, as decimal digits; longer ones are written in hexadecimal


def is_storable(dtype: np.dtype[Any]) -> bool:
    """Whether arrays of this type are nothing but raw bytes that its short name explains."""
    if dtype.hasobject or dtype.kind not in "biufcmMSUV":
        return False
    return np.dtype(dtype.str) == dtype  # not so with fields, nor with types of extensions


_Key: TypeAlias = int | tuple[Any, ...]


def _key_of(thing: Any) -> _Key:
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
    """An array of the state: the memory that it spans, and the path to it."""

    low: int
    high: int
    where: str
    array: np.ndarray[Any, Any]


def _address(array: np.ndarray[Any, Any]) -> int:
    return int(array.__array_interface__["data"][0])


class _Encoded(NamedTuple):
    """A thing that was encoded: its number, its weight, and itself, which keeps its id in use."""

    number: int
    weight: int
    thing: Any


class Encoder:
    """Turns one state into nodes of JSON, with its large parts as buffers."""

    def __init__(self) -> None:
        self.buffers: list[Buffer] = []
        self._path: list[Any] = []
        self._above: set[int] = set()  # the containers around the current place
        self._encoded: dict[_Key, _Encoded] = {}
        self._views: list[_View] = []
        self._weight = self._shared = 0
        self._encoders: Mapping[type, Callable[[Any], Any]] = {
            type(None): lambda value: value,
            bool: lambda value: value,
            int: _int,
            float: _float,
            complex: _complex,
            str: _str,
            bytes: lambda value: {"$bytes": self._put(value)},
            bytearray: lambda value: self._once(value, lambda: {"$bytearray": self._put(value)}),
            np.ndarray: self._array,
            list: self._items,
            tuple: lambda value: {"$tuple": self._items(value)},
            dict: self._dict,
        }

    def state(self, value: Any) -> Any:
        """What JSON says about the whole state, in which no two arrays may be views of one."""
        node = self.node(value)
        near: list[_View] = []
        for view in sorted(self._views, key=lambda view: view.low):
            near = [other for other in near if other.high > view.low]
            for other in near:
                if np.shares_memory(other.array, view.array):  # read back, they would not
                    raise CodecError(
                        f"{other.where} and {view.where} are different views of one memory, which "
                        "cannot be stored: what changes one would no longer change the other. "
                        "Store the whole array once, or copies (array.copy())"
                    )
            near.append(view)
        return node

    def node(self, value: Any) -> Any:
        """What JSON says about this value."""
        kind = type(value)
        self._weight += weight_of(value)
        encoder = self._encoders.get(kind)
        if encoder is not None:
            return encoder(value)
        if isinstance(value, np.generic):
            return self._scalar(value)
        if kind in BY_TYPE:
            codec = BY_TYPE[kind]
            return self._inside(value, lambda: self._registered(value, codec))
        raise CodecError(
            f"{self.where()} holds a {kind.__module__}.{kind.__qualname__}, which cannot be "
            f"stored: {repr(value)[:80]}. {_way_out(kind)}Keep it out of the state, or say how it "
            f"is stored with register_codec({kind.__name__}, name=..., to_plain=..., "
            "from_plain=...)"
        )

    def where(self) -> str:
        """The path to the current place, as it is written in Python."""
        return "state" + "".join(f"[{key!r}]" for key in self._path)

    def _at(self, key: Any, value: Any) -> Any:
        self._path.append(key)
        node = self.node(value)
        self._path.pop()
        return node

    def _once(self, value: Any, encode: Callable[[], Any]) -> Any:
        """Encode a thing, or refer to where it was: things are numbered as their encoding ends."""
        key = _key_of(value)
        earlier = self._encoded.get(key)
        if earlier is None:
            before = self._weight
            node = encode()
            weight = self._weight - before + weight_of(value)
            self._encoded[key] = _Encoded(len(self._encoded), weight, value)
            return node
        self._weight += earlier.weight
        self._shared += earlier.weight
        if self._shared > MOST_SHARED:
            raise CodecError(f"{self.where()}: too much of the state is shared; make copies of it")
        return {"$same": earlier.number}

    def _inside(self, value: Any, encode: Callable[[], Any]) -> Any:
        if id(value) in self._above:
            raise CodecError(f"{self.where()} contains itself; break the cycle")
        if len(self._above) >= MOST_LEVELS:
            raise CodecError(
                f"{self.where()} lies more than {MOST_LEVELS} levels deep; make the state flatter"
            )
        self._above.add(id(value))
        node = self._once(value, encode) if type(value) is not tuple else encode()
        self._above.remove(id(value))
        return node

    def _registered(self, value: Any, codec: Codec) -> Any:
        try:
            plain = codec.to_plain(value)
        except Exception as failure:
            raise CodecError(
                f"{self.where()}: {codec.name} cannot be stored: {failure}"
            ) from failure
        return {"$codec": [codec.name, self.node(plain)]}

    def _items(self, value: list[Any] | tuple[Any, ...]) -> Any:
        packed = _packed(value) if len(value) >= LONG_LIST else None
        if packed is None:
            return self._inside(value, lambda: [self._at(i, item) for i, item in enumerate(value)])
        tag, numbers = packed
        self._weight += len(value)
        return self._inside(value, lambda: {tag: self._put(numbers.view(np.uint8).data)})

    def _dict(self, value: dict[Any, Any]) -> Any:
        # JSON has names for keys; any other key is encoded as a value.
        if all(type(key) is str and key.isascii() and key[:1] != "$" for key in value):
            return self._inside(value, lambda: {key: self._at(key, value[key]) for key in value})
        pairs = self._inside(
            value, lambda: [[self._at(key, key), self._at(key, value[key])] for key in value]
        )
        return {"$dict": pairs}

    def _array(self, value: np.ndarray[Any, Any]) -> Any:
        if not is_storable(value.dtype) or not value.dtype.itemsize:
            raise CodecError(
                f"{self.where()} is an array of {value.dtype!r}, which is not raw numbers or "
                "text; store its parts (fields, items) by themselves"
            )
        return self._once(value, lambda: self._raw_array(value))

    def _raw_array(self, value: np.ndarray[Any, Any]) -> Any:
        if value.size:
            steps = [
                (length - 1) * stride
                for length, stride in zip(value.shape, value.strides, strict=True)
            ]
            low = _address(value) + sum(step for step in steps if step < 0)
            high = _address(value) + sum(step for step in steps if step > 0) + value.itemsize
            self._views.append(_View(low, high, self.where(), value))
        order = _order(value)
        turned = value.T if order == "F" else value if order == "C" else value.transpose(order)
        flat = np.ascontiguousarray(turned).reshape(-1)
        buffer = flat.view(np.uint8).data if flat.size else b""
        return {"$array": [value.dtype.str, list(value.shape), order, self._put(buffer)]}

    def _scalar(self, value: np.generic) -> Any:
        if not is_storable(value.dtype):
            raise CodecError(
                f"{self.where()} is a scalar of {value.dtype!r}, which is not a raw number or "
                "text; store its parts by themselves"
            )
        raw = value.tobytes()[: value.dtype.itemsize]  # an empty text comes with a byte too many
        return {"$scalar": [value.dtype.str, raw.hex()]}

    def _put(self, buffer: Buffer) -> int:
        self.buffers.append(buffer)
        return len(self.buffers) - 1


def _way_out(kind: type) -> str:
    """What to import, if asking the integrations that know this type has registered a codec."""
    packages = [each.package for each in integrations_of(kind)]
    return f"Write import {packages[0]}, which lets it be stored. " if kind in BY_TYPE else ""


def _packed(value: list[Any] | tuple[Any, ...]) -> tuple[str, np.ndarray[Any, Any]] | None:
    kinds = set(map(type, value))
    if len(kinds) > 1 or not kinds <= PACKED.keys():
        return None
    tag, dtype = PACKED[kinds.pop()]
    try:
        return tag, np.array(value, dtype=dtype)
    except OverflowError:  # a whole number of more than 64 bits
        return None


def _order(value: np.ndarray[Any, Any]) -> Any:
    """The axes as they lie in memory, because sums come out differently in another order."""
    if value.flags.c_contiguous or value.flags.f_contiguous:
        return "C" if value.flags.c_contiguous else "F"
    axes = sorted(range(value.ndim), key=lambda axis: -abs(value.strides[axis]))
    return {tuple(sorted(axes)): "C", tuple(sorted(axes)[::-1]): "F"}.get(tuple(axes), axes)


def _int(value: int) -> Any:
    return value if value.bit_length() <= LONGEST_NUMBER else {"$int": hex(value)}


def _float(value: float) -> Any:
    # The bits of what JSON cannot say: nan has many forms.
    return value if math.isfinite(value) else {"$float": struct.pack(">d", value).hex()}


def _complex(value: complex) -> Any:
    return {"$complex": [_float(value.real), _float(value.imag)]}


def _str(value: str) -> Any:
    try:
        value.encode()
    except UnicodeEncodeError:  # lone surrogates, which JSON readers join
        return {"$str": value.encode("utf-8", "surrogatepass").hex()}
    return value
