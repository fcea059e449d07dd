"""One look at what is in reach: the states of things, counts, lengths and arrays, by name."""

from __future__ import annotations

import io
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import BuiltinMethodType, FunctionType, MethodType
from typing import Any, TypeVar

import numpy as np

from dynhp.selfcheck.fingerprint import Fingerprint, fingerprint
from dynhp.selfcheck.reach import attributes, is_array, is_module

__all__ = ["Moment", "Things", "ids_inside", "kind_of", "of_module", "unreadable"]
__all__ += ["used_by"]

_LARGEST_ARRAY = 16 * 2**20  # bytes
_LARGEST_LOOK = 64 * 2**20  # of all arrays together

_Key = TypeVar("_Key")
_PLAIN = (type(None), int, float, complex, str, bytes, tuple)
_ITERATOR = "an iterator kept across epochs"


class Things:
    """The things whose state is watched, each held so that it stays the thing it is."""

    def __init__(
        self,
        read: Callable[[Any], Callable[[], Any] | None],
        inside: Mapping[int, Any],
        tolerance: float = 0.0,
    ) -> None:
        self._read, self._tolerance = read, tolerance
        self._inside, self._listed = dict(inside), set(inside)
        self._known: dict[int, tuple[str, Any, Callable[[], Any]]] = {}

    def meet(self, name: str, thing: Any) -> bool:
        """Whether this thing is watched or in the state; it keeps the first name that it has."""
        if self.covers(thing) or id(thing) in self._known:
            return True
        if (read := self._read(thing)) is None:
            return False
        self._known[id(thing)] = (name, thing, read)
        if is_module(thing):
            self._inside |= {id(part): part for part in of_module(thing) if part is not thing}
        return True

    def in_state(self, thing: Any) -> bool:
        """Whether this very thing is in the state; numbers and texts are no things."""
        return id(thing) in self._listed and not isinstance(thing, _PLAIN)

    def covers(self, thing: Any) -> bool:
        """Whether this is in the state, or a wrapper around modules that all are."""
        if id(thing) in self._inside:
            return True
        if not is_module(thing):
            return False
        modules = attributes(thing)["_modules"].values()
        own = [part for part in _tensors(thing) if id(part) not in self._inside]
        return bool(modules) and not own and all(self.covers(module) for module in modules)

    def shapes(self) -> set[tuple[int, ...]]:
        """The shapes of all tensors that are in the state."""
        shapes = (getattr(thing, "shape", None) for thing in self._inside.values())
        return {tuple(shape) for shape in shapes if shape is not None}

    def named(self, key: int) -> str:
        """A thing that is watched, in words."""
        name, thing, _ = self._known[key]
        return f"{name} ({kind_of(thing)})"

    def states(self) -> dict[int, Fingerprint]:
        """The state of everything that is watched; what cannot be read now is left out."""
        return self._readable({key: read for key, (_, _, read) in self._known.items()})

    def contents(self, listed: Mapping[str, Any]) -> dict[str, Fingerprint]:
        """What these things of the state hold; what has no content of its own is left out."""
        reads = {name: _itself(thing) or self._read(thing) for name, thing in listed.items()}
        return self._readable({name: read for name, read in reads.items() if read is not None})

    def noted(self, thing: Any) -> Fingerprint:
        """What something holds now; arrays that are kept to compare are copies, as it goes on."""
        noted = fingerprint(thing, tolerance=self._tolerance)
        places = {
            place: value.copy() if isinstance(value, np.ndarray) else value
            for place, value in noted.places.items()
        }
        return Fingerprint(places, self._tolerance)

    def _readable(self, reads: Mapping[_Key, Callable[[], Any]]) -> dict[_Key, Fingerprint]:
        """What can be read now; of what can hand out no state, nothing is said."""
        noted = {}
        for key, read in reads.items():
            try:
                noted[key] = self.noted(read())
            except Exception:
                continue
        return noted


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
            if not things.covers(thing) and thing.nbytes <= min(_LARGEST_ARRAY, self._room):
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


def _itself(thing: Any) -> Callable[[], Any] | None:
    return (lambda: thing) if is_array(thing) else None


def ids_inside(things: Iterable[Any]) -> dict[int, Any]:
    """What is in the state, by its identity: the things, what their functions use, submodules."""
    inside: dict[int, Any] = {}
    for thing in things:
        functions = [part for part in attributes(thing).values() if callable(part)]
        for part in [thing, *(used for function in functions for used in used_by(function))]:
            inside[id(part)] = part
            if is_module(part):
                inside |= {id(each): each for each in of_module(part)}
            for group in attributes(part).get("param_groups", ()):
                inside |= {id(each): each for each in group.get("params", ())}
    return inside


def kind_of(thing: Any) -> str:
    """The name of a thing's class."""
    return type(thing).__name__


def used_by(function: Any) -> Iterator[Any]:
    """What a function takes from around it, such as the object of a ``Part``'s ``get``."""
    if isinstance(function, MethodType | BuiltinMethodType):
        yield function.__self__
    elif isinstance(function, FunctionType):
        for cell in function.__closure__ or ():
            try:
                yield cell.cell_contents
            except ValueError:  # a variable that has no value yet
                continue


def of_module(module: Any) -> Iterator[Any]:
    """A module, all modules below it, and their tensors."""
    ahead, met = [module], {id(module)}
    for part in ahead:
        yield part
        yield from _tensors(part)
        for child in attributes(part)["_modules"].values():
            if child is not None and id(child) not in met:
                met.add(id(child))
                ahead.append(child)


def _tensors(module: Any) -> list[Any]:
    stored = attributes(module)
    kept = (*stored["_parameters"].values(), *stored.get("_buffers", {}).values())
    return [tensor for tensor in kept if tensor is not None]


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
