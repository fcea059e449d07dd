"""A state as a small record of its bits, place by place, so that two can be compared later."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from enum import Enum
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from dynhp.records import Candidate
from dynhp.records.metrics import FixedMetrics
from dynhp.selfcheck.contents import digest
from dynhp.selfcheck.step import LONG, READ, UNPACKED, Kind, step

__all__ = ["Fingerprint", "fingerprint"]

_AS_THEY_ARE = {type(None), bool, int}  # the most frequent ones
_NAMED = (type, FunctionType, BuiltinFunctionType, ModuleType)
# What is not said to be there again, because Python or a user may share it or not.
_SINGLE = (type(None), int, float, str, bytes, bytearray, Enum, range, *_NAMED)


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
    ahead = [(name, state, 0)]  # not by recursion: a state may be nested deeper than Python's stack
    while ahead:
        place, value, depth = ahead.pop()
        if type(value) in _AS_THEY_ARE:
            places[place] = value
            continue
        if not isinstance(value, _SINGLE) and not hasattr(type(value), "__fspath__"):
            if id(value) in met:  # so cycles end
                places[place] = Kind(f"thing {met[id(value)][0]} again")
                continue
            met[id(value)] = (len(met), value)
            if isinstance(value, FixedMetrics):  # compared by their names: some may be seconds
                continue
            long = type(value) in (list, tuple) and len(value) > LONG
            if long and set(map(type, value)) == {float}:
                value = np.asarray(value)  # a place for each of its floats would take too long
        leaf, inside = step(value, place, depth)
        if isinstance(leaf, Kind):
            places[place] = leaf
        elif isinstance(leaf, np.ndarray):
            if not leaf.dtype.hasobject:
                places[place] = _note_array(leaf, exact=not tolerance)
        elif leaf is UNPACKED:
            depth += 1
        elif leaf is not READ:
            places[place] = _note(leaf, exact=not tolerance)
        if inside:
            ahead += [(at, item, depth) for at, item in reversed(inside)]
    return Fingerprint(places, tolerance)


def _note(leaf: Any, *, exact: bool) -> Any:
    """Note a leaf as a value of Python's own types, which can be stored and read back."""
    if isinstance(leaf, Enum):
        return Kind(f"{type(leaf).__qualname__}.{leaf.name}")
    if isinstance(leaf, int):  # of a kind of its own
        return int(leaf)
    if isinstance(leaf, float):
        number = float(leaf)
        if exact and (number != number or number == 0):
            return Kind(number)  # nan equals nan, and 0.0 is not -0.0
        return number
    if isinstance(leaf, str):
        if len(leaf) > LONG:
            return Bits(f"str[{len(leaf)}]", digest(leaf.encode("utf-8", "surrogatepass")))
        return str(leaf)
    if isinstance(leaf, (bytes, bytearray)):
        kind = bytes if isinstance(leaf, bytes) else bytearray
        if len(leaf) > LONG:
            return Bits(f"{kind.__name__}[{len(leaf)}]", digest(leaf))
        return kind(leaf)
    if isinstance(leaf, range):
        return Kind(leaf)
    if isinstance(leaf, _NAMED):
        return Kind(getattr(leaf, "__qualname__", leaf.__name__))
    return Kind(type(leaf).__qualname__)


def _note_array(array: np.ndarray[Any, Any], *, exact: bool) -> Any:
    if not exact and array.dtype.kind in "fc":
        return array
    number = array.item() if array.size == 1 and array.dtype.kind in "iuf" else None
    if number != number:  # two of these are never equal, their bits are
        number = None
    bits = digest(np.ascontiguousarray(array))
    return Bits(f"{array.dtype}{list(array.shape)}", bits, number)


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
