"""One look at what is in reach: the states of things, counts, lengths and arrays, by name."""

from __future__ import annotations

import io
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from dynhp.selfcheck.fingerprint import Fingerprint
from dynhp.selfcheck.reach import attributes, is_array
from dynhp.selfcheck.things import Things, kind_of

__all__ = ["Moment", "unreadable"]

_LARGEST_ARRAY = 16 * 2**20  # bytes
_MOST_OBJECTS = 1_000  # in one array
_LARGEST_LOOK = 64 * 2**20  # of all arrays together

_ITERATOR = "an iterator kept across epochs"


class Moment:
    """What was in reach at one moment."""

    def __init__(self, reached: Mapping[str, Any], things: Things) -> None:
        self.values: dict[str, Any] = {}  # numbers, flags and texts
        self.lengths: dict[str, int] = {}
        self.lists: set[str] = set()
        self.arrays: dict[str, Fingerprint] = {}
        self.shapes: dict[str, tuple[int, ...]] = {}
        self.bound: dict[str, int] = {}  # which things these are that have a state of their own
        self._suspicious: dict[str, tuple[_Reference, str]] = {}
        self._names = set(reached)
        self.listed = {name: thing for name, thing in reached.items() if things.in_state(thing)}
        self._room = _LARGEST_LOOK
        for name, thing in reached.items():
            try:
                self._note(name, thing, things)
            except Exception:  # looking at it fails, so nothing is said about it
                continue
        self.states = things.states()
        self.present = self.states.keys() & self.bound.values()
        known = {name: key for name, key in self.bound.items() if key in self.states}
        self.contents = {**self.arrays, **{name: self.states[key] for name, key in known.items()}}

    def differs(self, other: Moment, key: int) -> bool:
        """Whether a thing had another state at the other moment."""
        here, there = self.states.get(key), other.states.get(key)
        return here is not None and there is not None and here.difference(there) is not None

    def suspicious(self, earlier: Moment) -> Iterator[str]:
        """Things that were there at both moments and whose state nobody can read."""
        for name, (reference, text) in self._suspicious.items():
            if name in earlier._suspicious and earlier._suspicious[name][0].same(reference):
                yield text

    def made_anew(self, earlier: Moment) -> Iterator[str]:
        """Iterators in variables that held another iterator then."""
        for name, (reference, text) in self._suspicious.items():
            before, _ = earlier._suspicious.get(name, (reference, text))
            if _ITERATOR in text and not before.same(reference):
                yield text

    def rebound(self, earlier: Moment) -> Iterator[str]:
        """Names that meant a thing of the state then and mean something else now."""
        for name in earlier.listed:
            if name in self._names and name not in self.listed:
                yield earlier.left(name)

    def left(self, name: str) -> str:
        """What is wrong where a name does not mean the thing of the state any more."""
        way = f" ({name}[...] = ...)" if is_array(self.listed[name]) else ""
        return (
            f"{name} is another object now than the one in the state; change that one in "
            f"place{way}, or keep it in an object that is listed"
        )

    def _note(self, name: str, thing: Any, things: Things) -> None:
        if isinstance(thing, np.number | np.bool_) and not np.iscomplexobj(thing):
            self.values[name] = thing.item()
        elif isinstance(thing, bool | int | float | str):
            self.values[name] = thing
        elif isinstance(thing, list | dict | set | deque):
            self.lengths[name] = len(thing)
            if isinstance(thing, list | deque):
                self.lists.add(name)
        elif is_array(thing):
            small = thing.nbytes <= min(_LARGEST_ARRAY, self._room)
            # The bytes of an array of objects are those of pointers: it is looked at one by one.
            few = not getattr(thing.dtype, "hasobject", False) or thing.size <= _MOST_OBJECTS
            if small and few and not things.covers(thing):
                self._room -= thing.nbytes
                self.arrays[name], self.shapes[name] = things.noted(thing), tuple(thing.shape)
        elif things.meet(name, thing):
            self.bound[name] = id(thing)
        elif why := unreadable(thing):
            self._suspicious[name] = (_Reference(thing), f"{name} ({kind_of(thing)}): {why}")


class _Reference:
    """A way to know a thing again that does not keep it alive, where it allows that."""

    def __init__(self, thing: Any) -> None:
        self._id = id(thing)
        try:
            self._alive: Callable[[], Any] = weakref.ref(thing)
        except TypeError:
            self._alive = lambda: thing

    def same(self, other: _Reference) -> bool:
        """Whether both mean one thing, which is still there."""
        return self._id == other._id and self._alive() is not None


def unreadable(thing: Any) -> str | None:
    """Why a thing whose state nobody can read may make a repeat differ, None where it cannot."""
    methods = {name for kind in type(thing).__mro__ for name in vars(kind)}
    if isinstance(thing, io.IOBase):
        return "an open file, whose place is not put back"
    if "__next__" in methods:
        return (
            f"{_ITERATOR}, whose place in the data cannot be put back; make it anew in each epoch"
        )
    if {"step", "reset"} <= methods:
        return "an environment that is not in the state; list it there"
    if "apply_gradients" in methods:
        return "an optimiser whose memory is not in the state; give Part(get=..., set=...) for it"
    if attributes(thing).get("persistent_workers") is True:
        return "its workers keep random numbers out of reach; persistent_workers=False"
    return None
