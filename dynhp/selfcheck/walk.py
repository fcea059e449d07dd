"""A walk through a state of any kind, which notes what is at each place."""

from __future__ import annotations

import hashlib
import pickle
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Set
from enum import Enum
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, NamedTuple

import numpy as np

__all__ = ["Bits", "Kind", "Walk"]

_LONG = 64  # characters or bytes of which a digest is kept instead
_NAMED = (type, FunctionType, BuiltinFunctionType, ModuleType)
_PLAIN_KEY = (str, int, float, bytes, type(None), Enum)


class Kind(str):
    """What a place is, where its content is noted at places of their own; never a user's text."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class Bits(NamedTuple):
    """A digest of something long, and its one number where it has only one."""

    kind: str
    digest: bytes
    number: float | None = None


class Walk:
    """One walk through a state; what was met before is noted as such, so cycles end."""

    def __init__(self, tolerance: float) -> None:
        self.places: dict[str, Any] = {}
        self.ahead: list[tuple[Any, str]] = []  # what is to be visited, the next one last
        self._tolerance = tolerance
        self._met: dict[int, tuple[int, Any]] = {}  # by id; what is held keeps its id

    def visit(self, value: Any, place: str) -> None:
        """Note what is at this place; what is inside it is visited later."""
        if value is None or isinstance(value, bool | int | float | str | bytes | bytearray | Enum):
            self._note_plain(value, place)
        elif isinstance(value, _NAMED):
            self.places[place] = Kind(getattr(value, "__qualname__", value.__name__))
        elif id(value) in self._met:
            self.places[place] = Kind(f"thing {self._met[id(value)][0]} again")
        else:
            self._met[id(value)] = (len(self._met), value)
            self._visit_new(value, place)

    def _visit_new(self, value: Any, place: str) -> None:
        if isinstance(value, Mapping):
            self._open(value, place, _items(value, place), size=len(value))
        elif isinstance(value, list | tuple | deque):
            items = ((item, f"{place}[{number}]") for number, item in enumerate(value))
            self._open(value, place, items, size=len(value))
        elif isinstance(value, Set):
            plain = all(isinstance(item, _PLAIN_KEY) for item in value)
            items = ((each, f"{place}[{each}]") for each in sorted(map(repr, value)) if plain)
            self._open(value, place, items, size=len(value))
        elif (array := _array(value)) is not None:
            self._note_array(array, place)
        else:
            self._open(value, place, ((part, place + name) for name, part in _stored(value)))

    def _open(
        self, value: Any, place: str, inside: Iterable[tuple[Any, str]], size: int | None = None
    ) -> None:
        self.places[place] = Kind(_kind(value) + ("" if size is None else f"[{size}]"))
        self.ahead += reversed(list(inside))

    def _note_plain(self, value: Any, place: str) -> None:
        if isinstance(value, float) and (value != value or value == 0):
            value = Kind(value)  # nan equals nan, and 0.0 is not -0.0
        elif isinstance(value, str | bytes | bytearray) and len(value) > _LONG:
            if (content := _unpickled(value)) is not None:
                self.ahead.append((content, f"unpickled({place})"))
                return
            raw = value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value
            value = Bits(f"{_kind(value)}[{len(value)}]", _digest(raw))
        self.places[place] = value

    def _note_array(self, array: np.ndarray[Any, Any], place: str) -> None:
        kind = f"{array.dtype}{list(array.shape)}"
        if array.dtype.hasobject:
            self.ahead.append((array.reshape(-1).tolist(), place))
        elif self._tolerance and array.dtype.kind in "fc":
            self.places[place] = array
        else:
            number = array.item() if array.size == 1 and array.dtype.kind in "iuf" else None
            self.places[place] = Bits(kind, _digest(np.ascontiguousarray(array)), number)


def _items(mapping: Mapping[Any, Any], place: str) -> Iterator[tuple[Any, str]]:
    for number, (key, item) in enumerate(mapping.items()):
        plain = isinstance(key, _PLAIN_KEY)  # other keys may be hashed by identity
        yield item, f"{place}[{key!r}]" if plain else f"{place}.values()[{number}]"


def _array(value: Any) -> np.ndarray[Any, Any] | None:
    """The value as a numpy array where it is a number, an array or a tensor of any framework."""
    if isinstance(value, complex | np.generic | np.ndarray):
        return np.asarray(value)
    try:
        if hasattr(value, "detach"):
            tensor = value.detach().cpu()
            try:
                return np.asarray(tensor.numpy())
            except TypeError:  # numpy has no bfloat16; as float32 each of its numbers stays itself
                return np.asarray(tensor.float().numpy())
        return np.asarray(value) if hasattr(value, "__array__") else None
    except Exception:  # a tensor without a numpy form (sparse, on a meta device): by its pickle
        return None


def _stored(value: Any) -> Iterator[tuple[str, Any]]:
    """What pickle would store of an object, with names; nothing where it cannot."""
    try:
        parts = value.__reduce_ex__(4)
    except Exception:
        return
    if isinstance(parts, str):
        return
    for number, part in enumerate(parts[1:], start=1):
        if number == 2 and isinstance(part, dict):
            yield from ((f".{name}", item) for name, item in part.items())
        elif part is not None:
            yield f".reduced[{number}]", list(part) if isinstance(part, Iterator) else part


def _unpickled(value: Any) -> Any:
    """What bytes of pickle mean: equal states may be pickled to different bytes."""
    if isinstance(value, str) or value[:1] != b"\x80" or value[-1:] != b".":
        return None
    try:
        return pickle.loads(value)  # the trainer's own, made in this run
    except Exception:
        return None


def _digest(raw: Any) -> bytes:
    return hashlib.blake2b(raw, digest_size=16).digest()


def _kind(value: Any) -> str:
    return type(value).__qualname__
