"""A state as a small record of its bits, place by place, so that two can be compared later."""

from __future__ import annotations

import math
import os
from collections import deque
from collections.abc import Callable, Mapping, Set
from enum import Enum
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, Final, NamedTuple

import numpy as np

from dynhp.records import Candidate
from dynhp.records.metrics import FixedMetrics
from dynhp.selfcheck.contents import UNKNOWN, file_contents, opened, unpacked

__all__ = ["Fingerprint", "fingerprint"]

_LONG = 64  # characters or bytes, of which only a digest is kept, or floats in one list
_MOST_FILES = 1000  # a folder with more files is compared by its name
_MOST_BYTES = 2**28
_PLAIN = (type(None), bool, int, float, str, bytes, bytearray, Enum)
_PLAIN_KEY = (str, int, float, bytes, type(None), Enum)
_NAMED = (type, FunctionType, BuiltinFunctionType, ModuleType)
_NO_NOTE: Final = object()


class Kind(str):
    """What a place is if its contents have places of their own; never a user's text."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class Bits(NamedTuple):
    """A digest of something long, and its number if it has only one."""

    kind: str
    digest: bytes
    number: float | None = None


class Fingerprint:
    """What a state held at each place: small values as they are, long ones as a digest.

    No two states need to be in memory to be compared: one and the record of the other are enough.
    With a tolerance the arrays themselves are kept, since a digest says nothing about nearness.

    >>> before = fingerprint({"weights": np.zeros(3), "epoch": 1})
    >>> before.difference(fingerprint({"weights": np.zeros(3), "epoch": 1}))
    >>> before.difference(fingerprint({"weights": np.ones(3), "epoch": 2}))
    "state['weights'] (float64[3]) and 1 place more"
    """

    __slots__ = ("_tolerance", "places")

    def __init__(self, places: Mapping[str, Any], tolerance: float) -> None:
        self.places = places
        self._tolerance = tolerance

    def to_plain(self) -> dict[str, Any]:
        """The record as plain data, to be stored: one text in bytes, and what is no JSON."""
        import json  # few runs are saved within a self-check

        others: list[Any] = []
        places = [[place, *_tagged(noted, others)] for place, noted in self.places.items()]
        text = json.dumps(places, separators=(",", ":")).encode("ascii")
        return {"tolerance": self._tolerance, "places": text, "others": others}

    @classmethod
    def from_plain(cls, plain: Any) -> Fingerprint:
        """Read back what ``to_plain`` gave.

        >>> before = fingerprint({"weights": np.zeros(99), "epoch": 1})
        >>> Fingerprint.from_plain(before.to_plain()).difference(before)
        """
        import json

        others = plain["others"]
        places = {
            str(place): others[noted] if tag == "other" else _READ[tag](noted)
            for place, tag, noted in json.loads(plain["places"])
        }
        return cls(places, float(plain["tolerance"]))

    def differences(self, other: Fingerprint) -> list[str]:
        """The places where the other differs, or that only one of the two has."""
        here, there = self.places, other.places
        places = [place for place in here if place not in there or not self._same(other, place)]
        return places + [place for place in there if place not in here]

    def difference(self, other: Fingerprint) -> str | None:
        """Where the other differs first, in words, or None if nothing differs."""
        places = self.differences(other)
        if not places:
            return None
        first, more = places[0], len(places) - 1
        if first not in self.places or first not in other.places:
            words = "only in one of them"
        else:
            here, there = _in_words(self.places[first]), _in_words(other.places[first])
            words = here if here == there else f"{here} and {there}"
        others = f" and {more} place{'s' if more > 1 else ''} more" if more else ""
        return f"{first} ({words}){others}"

    def differs_only_by(self, other: Fingerprint, mine: Candidate, its: Candidate) -> bool:
        """Whether the two are equal except where each holds the value of its own candidate."""
        pairs = [(mine[name], its[name]) for name in mine]
        return all(
            any(
                _holds(self.places.get(place), here) and _holds(other.places.get(place), there)
                for here, there in pairs
            )
            for place in self.differences(other)
        )

    def _same(self, other: Fingerprint, place: str) -> bool:
        here, there = self.places[place], other.places[place]
        arrays = isinstance(here, np.ndarray) and isinstance(there, np.ndarray)
        if arrays or (self._tolerance and isinstance(here, float) and isinstance(there, float)):
            here, there = np.asarray(here), np.asarray(there)
            if here.shape != there.shape or here.dtype != there.dtype:
                return False
            near = self._tolerance
            return bool(np.allclose(here, there, rtol=near, atol=near, equal_nan=True))
        return type(here) is type(there) and bool(here == there)


def fingerprint(state: Any, *, name: str = "state", tolerance: float = 0.0) -> Fingerprint:
    """Walk through a state and note what is at each place.

    Arrays and tensors of any framework are compared by their bits, other objects by what pickle
    would store; what allows neither is left out.

    >>> fingerprint([1, (2.5, "a")]).places
    {'state': list[2], 'state[0]': 1, 'state[1]': tuple[2], 'state[1][0]': 2.5, 'state[1][1]': 'a'}
    """
    places: dict[str, Any] = {}
    met: dict[int, tuple[int, Any]] = {}  # by id; holding a thing keeps its id from being reused
    ahead = [(name, state)]  # not by recursion: a state may be nested deeper than Python's stack
    while ahead:
        place, value = ahead.pop()
        inside: list[tuple[str, Any]] = []
        if isinstance(value, os.PathLike):
            value = os.fspath(value)
        if isinstance(value, _PLAIN):
            note, inside = _note_plain(value, place, exact=not tolerance)
        elif isinstance(value, _NAMED):
            note = Kind(getattr(value, "__qualname__", value.__name__))
        elif id(value) in met:  # so cycles end
            note = Kind(f"thing {met[id(value)][0]} again")
        else:
            met[id(value)] = (len(met), value)
            note, inside = _note_thing(value, place, exact=not tolerance)
        if note is not _NO_NOTE:
            places[place] = note
        ahead += reversed(inside)
    return Fingerprint(places, tolerance)


_Noted = tuple[Any, list[tuple[str, Any]]]  # a note, and what is at places inside


def _note_plain(value: Any, place: str, *, exact: bool) -> _Noted:
    """Note a plain value as one of Python's own types, which can be stored and read back."""
    if isinstance(value, Enum):
        return Kind(f"{type(value).__qualname__}.{value.name}"), []
    if isinstance(value, float):
        number = float(value)
        if exact and (number != number or number == 0):
            return Kind(number), []  # nan equals nan, and 0.0 is not -0.0
        return number, []
    if isinstance(value, str):
        if os.sep in value:
            files = file_contents(value, most_files=_MOST_FILES, most_bytes=_MOST_BYTES)
            if files is not UNKNOWN:  # a file may have another name each time
                if isinstance(files, bytes):
                    files = {os.path.splitext(value)[1]: files}
                digests = {name: _digest(content).hex() for name, content in files.items()}
                return _NO_NOTE, [(f"file({place})", digests)]
        if len(value) > _LONG:
            digest = _digest(value.encode("utf-8", "surrogatepass"))
            return Bits(f"str[{len(value)}]", digest), []
        return str(value), []
    if isinstance(value, bytes | bytearray):
        kind = bytes if isinstance(value, bytes) else bytearray
        if len(value) > _LONG:
            packed = unpacked(bytes(value))
            if packed is not UNKNOWN:  # equal states may be packed into different bytes
                return _NO_NOTE, [(f"unpacked({place})", packed)]
            return Bits(f"{kind.__name__}[{len(value)}]", _digest(value)), []
        return kind(value), []
    if isinstance(value, int):
        return value if type(value) is bool else int(value), []
    return None, []


def _note_thing(value: Any, place: str, *, exact: bool) -> _Noted:
    kind = type(value).__qualname__
    if isinstance(value, FixedMetrics):  # compared by their names, since some may be seconds
        return _NO_NOTE, []
    if isinstance(value, Mapping):
        items = [
            # Keys that are no plain values may be hashed by identity.
            (f"{place}[{key!r}]" if isinstance(key, _PLAIN_KEY) else f"{place}.values()[{n}]", item)
            for n, (key, item) in enumerate(value.items())
        ]
        return Kind(f"{kind}[{len(value)}]"), items
    if isinstance(value, Set):
        plain = all(isinstance(item, _PLAIN_KEY) for item in value)
        texts = sorted(map(repr, value)) if plain else []
        return Kind(f"{kind}[{len(value)}]"), [(f"{place}[{text}]", text) for text in texts]
    if isinstance(value, list | tuple | deque):
        long = type(value) in (list, tuple) and len(value) > _LONG
        if not long or set(map(type, value)) != {float}:
            numbered = [(f"{place}[{number}]", item) for number, item in enumerate(value)]
            return Kind(f"{kind}[{len(value)}]"), numbered
        value = np.asarray(value)  # a place for each of its floats would take too long
    itself, inside = opened(value, place)
    if not isinstance(itself, np.ndarray):
        return Kind(kind), inside
    if itself.dtype.hasobject:
        return _NO_NOTE, inside
    if not exact and itself.dtype.kind in "fc":
        return itself, []
    number = itself.item() if itself.size == 1 and itself.dtype.kind in "iuf" else None
    if number != number:  # two of these are never equal, their bits are
        number = None
    digest = _digest(np.ascontiguousarray(itself))
    return Bits(f"{itself.dtype}{list(itself.shape)}", digest, number), []


def _digest(raw: Any) -> bytes:
    import hashlib  # not needed before the first round

    return hashlib.blake2b(raw, digest_size=16).digest()


def _tagged(noted: Any, others: list[Any]) -> tuple[str, Any]:
    """What was noted, as JSON; what is none, such as an array, goes to the others."""
    if isinstance(noted, Kind):
        return "kind", str(noted)
    if isinstance(noted, Bits):
        return "bits", [noted.kind, noted.digest.hex(), noted.number]
    kind = type(noted)
    small = kind is int and noted.bit_length() <= 64
    if noted is None or kind in (bool, str) or small or (kind is float and math.isfinite(noted)):
        return "plain", noted
    others.append(noted)
    return "other", len(others) - 1


_READ: dict[str, Callable[[Any], Any]] = {
    "kind": Kind,
    "bits": lambda noted: Bits(noted[0], bytes.fromhex(noted[1]), noted[2]),
    "plain": lambda noted: noted,
}


def _holds(noted: Any, value: Any) -> bool:
    """Whether this is what was noted of the value; a float32 holds 0.1 only nearly."""
    number = noted.number if isinstance(noted, Bits) else noted
    if isinstance(noted, Kind) and noted in ("0.0", "-0.0"):
        number = float(noted)
    if isinstance(number, float) and isinstance(value, int | float):
        return math.isclose(number, value, rel_tol=1e-6)
    return bool(number == value)


def _in_words(noted: Any) -> str:
    if isinstance(noted, np.ndarray):
        return f"{noted.dtype}{list(noted.shape)}"
    return noted.kind if isinstance(noted, Bits) else repr(noted)
