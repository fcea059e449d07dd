"""Things with a state of their own: how it is read, and which of them are in the state."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import BuiltinMethodType, FunctionType, GeneratorType, MethodType
from typing import Any, Final, TypeVar

import numpy as np

from dynhp.selfcheck.contents import attributes, closure_variables, generator_reader, has_methods
from dynhp.selfcheck.fingerprint import Fingerprint, fingerprint
from dynhp.selfcheck.reach import is_array, is_module

__all__ = [
    "Things",
    "has_ended",
    "ids_inside",
    "is_estimator",
    "kind_of",
    "of_module",
    "read_state",
    "unreadable",
    "used_by",
]

AN_ITERATOR: Final = "an iterator kept across epochs"

_Key = TypeVar("_Key")
_PLAIN = (type(None), int, float, complex, str, bytes, tuple)


def read_state(thing: Any) -> Callable[[], Any] | None:
    """Give a function that reads the thing's own state, or None if it has none.

    >>> generator = np.random.default_rng(0)
    >>> read = read_state(generator); before = read()
    >>> _ = generator.random(); read() == before
    False
    >>> read_state([1, 2, 3])
    """
    if (read := generator_reader(thing)) is not None:
        return read
    if has_methods(thing, "get_state", "set_state"):
        return lambda: thing.get_state()
    if has_methods(thing, "state_dict", "load_state_dict"):
        return lambda: thing.state_dict()
    if is_estimator(thing):
        return lambda: attributes(thing)
    return None


def is_estimator(thing: Any) -> bool:
    """Whether it is an estimator that is fitted, whose state is what it stores."""
    return has_methods(thing, "get_params") and any(
        has_methods(thing, name) for name in ("fit", "partial_fit")
    )


def unreadable(thing: Any) -> str | None:
    """Why a thing whose state cannot be read may make a repeat differ, or None if it cannot."""
    if isinstance(thing, io.IOBase):  # it decides nothing, and what is written stays written
        return None
    methods = {name for kind in type(thing).__mro__ for name in vars(kind)}
    if "__next__" in methods:
        return (
            f"{AN_ITERATOR}, whose place in the data cannot be put back; make it anew in each epoch"
        )
    if {"step", "reset"} <= methods:
        return "an environment that is not in the state; list it there"
    if "apply_gradients" in methods:
        return "an optimiser whose memory is not in the state; give Part(get=..., set=...) for it"
    if attributes(thing).get("persistent_workers") is True:
        return "its workers keep random numbers out of reach; persistent_workers=False"
    return None


def has_ended(thing: Any) -> bool:
    """Whether this is a generator of Python's that has nothing more to give.

    >>> has_ended(n for n in []), has_ended([])
    (False, False)
    """
    return isinstance(thing, GeneratorType) and thing.gi_frame is None


class Things:
    """The things whose state is watched, each held so that it stays the thing it is."""

    def __init__(
        self,
        read: Callable[[Any], Callable[[], Any] | None],
        inside: Mapping[int, Any],
        tolerance: float = 0.0,
    ) -> None:
        self._read = read
        self._tolerance = tolerance
        self._listed = set(inside)
        self._inside = dict(inside)
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

    def tensors(self) -> list[Any]:
        """All tensors that are in the state."""
        return [thing for thing in self._inside.values() if is_array(thing)]

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

        def read_content(thing: Any) -> Callable[[], Any] | None:
            return (lambda: thing) if is_array(thing) else self._read(thing)

        reads = {name: read_content(thing) for name, thing in listed.items()}
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
        noted = {}
        for key, read in reads.items():
            try:
                noted[key] = self.noted(read())
            except Exception:  # it can hand out no state now, so nothing is said about it
                continue
        return noted


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


def used_by(function: Any) -> list[Any]:
    """What a function takes from around it, such as the object of a ``Part``'s ``get``."""
    if isinstance(function, MethodType | BuiltinMethodType):
        return [function.__self__]
    if isinstance(function, FunctionType):
        return list(closure_variables(function).values())
    return []


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
