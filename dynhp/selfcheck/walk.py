"""A walk through a state of any kind, which notes what is at each place."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Set
from enum import Enum
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from dynhp.selfcheck.contents import (
    UNKNOWN,
    file_contents,
    generator_state,
    numbers,
    parts_of,
    unpacked,
)

__all__ = ["Bits", "Kind", "Walk"]

_LONG = 64  # characters or bytes of which a digest is kept instead
_NAMED = (type, FunctionType, BuiltinFunctionType, ModuleType)
_MOST_FILES, _MOST_BYTES = 1000, 2**28  # of a folder; a larger one is compared by its name
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
        if isinstance(value, os.PathLike):
            value = os.fspath(value)
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
        elif (row := _row(value)) is not None:
            self._note_array(row, place)
        elif isinstance(value, list | tuple | deque):
            items = ((item, f"{place}[{number}]") for number, item in enumerate(value))
            self._open(value, place, items, size=len(value))
        elif isinstance(value, Set):
            plain = all(isinstance(item, _PLAIN_KEY) for item in value)
            items = ((each, f"{place}[{each}]") for each in sorted(map(repr, value)) if plain)
            self._open(value, place, items, size=len(value))
        elif (array := numbers(value)) is not None:
            self._note_array(array, place)
        elif (drawn_from := generator_state(value)) is not UNKNOWN:
            self._open(value, place, [(drawn_from, f"{place}.state")])
        else:
            self._open(value, place, ((part, place + name) for part, name in _stored(value)))

    def _open(
        self, value: Any, place: str, inside: Iterable[tuple[Any, str]], size: int | None = None
    ) -> None:
        self.places[place] = Kind(_kind(value) + ("" if size is None else f"[{size}]"))
        self.ahead += reversed(list(inside))

    def _note_plain(self, value: Any, place: str) -> None:
        if isinstance(value, float) and not self._tolerance and (value != value or value == 0):
            value = Kind(value)  # nan equals nan, and 0.0 is not -0.0
        elif isinstance(value, str) and os.sep in value and (files := _files(value)) is not None:
            self.ahead.append((files, f"file({place})"))  # it may have another name each time
            return
        elif isinstance(value, str | bytes | bytearray) and len(value) > _LONG:
            packed = UNKNOWN if isinstance(value, str) else unpacked(bytes(value))
            if packed is not UNKNOWN:  # equal states may be packed into different bytes
                self.ahead.append((packed, f"unpacked({place})"))
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


def _row(value: Any) -> np.ndarray[Any, Any] | None:
    """A long list of floats as an array, since a place for each of them would take too long."""
    if type(value) in (list, tuple) and len(value) > _LONG and set(map(type, value)) == {float}:
        return np.asarray(value)
    return None


def _files(name: str) -> dict[str, str] | None:
    """Digests of the file of this name, or of all files in a folder, None where there is none."""
    contents = file_contents(name, most_files=_MOST_FILES, most_bytes=_MOST_BYTES)
    if contents is UNKNOWN:
        return None
    files = contents if isinstance(contents, dict) else {os.path.splitext(name)[1]: contents}
    return {inside: _digest(content).hex() for inside, content in files.items()}


def _items(mapping: Mapping[Any, Any], place: str) -> Iterator[tuple[Any, str]]:
    for number, (key, item) in enumerate(mapping.items()):
        plain = isinstance(key, _PLAIN_KEY)  # other keys may be hashed by identity
        yield item, f"{place}[{key!r}]" if plain else f"{place}.values()[{number}]"


def _stored(value: Any) -> Iterator[tuple[Any, str]]:
    """What pickle would store of an object, with names; nothing where it cannot."""
    parts = parts_of(value)
    for number, part in enumerate(parts[1:] if isinstance(parts, tuple) else (), start=1):
        if number == 2 and isinstance(part, dict):
            yield from ((item, f".{name}") for name, item in part.items())
        elif part is not None:
            yield part, f".reduced[{number}]"


def _digest(raw: Any) -> bytes:
    import hashlib  # not needed before the first round

    return hashlib.blake2b(raw, digest_size=16).digest()


def _kind(value: Any) -> str:
    return type(value).__qualname__
