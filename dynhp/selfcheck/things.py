"""Things with a state of their own: which are watched, and which are in the state."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import BuiltinMethodType, FunctionType, MethodType
from typing import Any, TypeVar

import numpy as np

from dynhp.selfcheck.fingerprint import Fingerprint, fingerprint
from dynhp.selfcheck.reach import attributes, is_array, is_module

__all__ = ["Things", "ids_inside", "kind_of", "of_module", "used_by"]

_Key = TypeVar("_Key")
_PLAIN = (type(None), int, float, complex, str, bytes, tuple)


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
