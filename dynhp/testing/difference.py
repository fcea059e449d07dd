"""Where two nested states differ first, bit by bit, as a path inside them."""

from __future__ import annotations

import warnings
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, TypeAlias

import numpy as np

from dynhp.selfcheck.contents import (
    UNKNOWN,
    closure_of,
    file_contents,
    generator_state,
    numbers,
    parts_of,
    shown,
    unpacked,
)
from dynhp.testing.arrays import Spare, array_difference, aspect_difference

__all__ = ["Spare", "difference", "difference_beyond"]

_BY_VALUE = (bool, int, range, type, CodeType, ModuleType)
_PLAIN_KEYS = (str, bytes, int, float, type(None), type)


@dataclass(frozen=True, slots=True)
class _Walk:
    """One comparison under way."""

    spare: Spare
    # Pairs already under comparison, held so that no id is used twice: states may have cycles.
    met: dict[tuple[int, int], tuple[Any, Any]] = field(default_factory=dict)

    def leaf(self, a: Any, b: Any, place: str) -> str | None:
        """The place of two leaves that differ, unless the difference is spared."""
        return None if self.spare(a, b) else place


def difference(a: Any, b: Any, name: str = "state") -> str | None:
    """Say where ``b`` differs from ``a``, or None where nothing comparable does.

    Numbers are compared by their bits (though nan equals nan), arrays and tensors of any
    framework by type, shape and elements, pickled bytes and names of files by what they hold,
    other objects by ``==`` or by what pickle would store. Keys that are equal to themselves only
    (as a torch optimiser has) are compared in their order. What allows none of these is not
    compared.

    >>> difference({"m": [0.0, float("nan")]}, {"m": [0.5, float("nan")]})
    "state['m'][0]: 0.0 and 0.5"
    >>> difference(np.zeros((2, 2)), np.array([[0, 0], [0, -0.0]]), "weights")
    'weights[1, 1]: 0.0 and -0.0 (1 of 4 elements)'
    """
    return difference_beyond(a, b, name, lambda x, y: False)


def difference_beyond(a: Any, b: Any, name: str, spare: Spare) -> str | None:
    """Say where ``b`` differs from ``a`` apart from leaves that ``spare`` lets pass.

    >>> difference_beyond({"lr": 1, "w": 5}, {"lr": 2, "w": 6}, "state", lambda x, y: x == 1)
    "state['w']: 5 and 6"
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of frameworks, about how their objects are looked at
        try:
            return _compare(a, b, name, _Walk(spare))
        except RecursionError:  # nested too deep to be walked through: copies fail in it too
            return None


def _compare(a: Any, b: Any, path: str, walk: _Walk) -> str | None:
    if a is b or (id(a), id(b)) in walk.met:
        return None
    if type(a) is not type(b):
        types = type(a).__qualname__, type(b).__qualname__
        return walk.leaf(
            a, b, f"{path}: {shown(a)} of type {types[0]} and {shown(b)} of type {types[1]}"
        )
    walk.met[id(a), id(b)] = (a, b)
    for kinds, compare in _COMPARISONS:
        if isinstance(a, kinds):
            return compare(a, b, path, walk)
    states = generator_state(a), generator_state(b)
    if states[0] is not UNKNOWN:
        return _compare(*states, f"generator({path})", walk)
    arrays = numbers(a), numbers(b)
    if isinstance(arrays[0], np.ndarray) and isinstance(arrays[1], np.ndarray):
        return _compare_numbers(*arrays, path, walk) or aspect_difference(a, b, path)
    return _compare_objects(a, b, path, walk)


def _compare_values(a: Any, b: Any, path: str, walk: _Walk) -> str | None:
    return None if a == b else walk.leaf(a, b, f"{path}: {shown(a)} and {shown(b)}")


def _compare_names(a: Any, b: Any, path: str, walk: _Walk) -> str | None:
    """Texts; those that name files, as checkpoints do, are compared by what is in the files."""
    files = (file_contents(a), file_contents(b)) if a != b else (UNKNOWN, UNKNOWN)
    if files[0] is not UNKNOWN and files[1] is not UNKNOWN:
        return _compare(files[0], files[1], f"file({path})", walk)
    return _compare_values(a, b, path, walk)


def _compare_bytes(a: Any, b: Any, path: str, walk: _Walk) -> str | None:
    if a == b:
        return None
    deep = path.count("unpacked(") > 4  # a storage of torch is packed into itself again and again
    contents = (UNKNOWN, UNKNOWN) if deep else (unpacked(a), unpacked(b))
    if contents[0] is not UNKNOWN and contents[1] is not UNKNOWN:
        return _compare(contents[0], contents[1], f"unpacked({path})", walk)
    return _compare_values(bytes(a), bytes(b), path, walk)


def _compare_mappings(a: Any, b: Any, path: str, walk: _Walk) -> str | None:
    by_order = "_hooks" in path.rpartition(".")[2]  # torch counts hooks through the process
    alike = [] if by_order else [key for key in a if key in b]
    rest = [
        [key for key in keys if by_order or key not in other] for keys, other in ((a, b), (b, a))
    ]
    for keys, which in zip(rest, ("second", "first"), strict=True):
        for key in keys:
            plain = isinstance(key, _PLAIN_KEYS) and not by_order
            if plain or len(rest[0]) != len(rest[1]):
                return f"{path}[{shown(key)}]: not there in the {which}"
    pairs = [(key, key) for key in alike] + list(zip(*rest, strict=True))
    for i, (first, second) in enumerate(pairs):
        name = shown(first) if first is second or i < len(alike) else f"key {i}"
        place = None if by_order else _compare(first, second, f"{path} key {i}", walk)
        place = place or _compare(a[first], b[second], f"{path}[{name}]", walk)
        if place is not None:
            return place
    return _compare_attributes(a, b, path, walk)


def _compare_sequences(a: Any, b: Any, path: str, walk: _Walk) -> str | None:
    if len(a) != len(b):
        return f"{path}: length {len(a)} and {len(b)}"
    pairs = enumerate(zip(a, b, strict=True))
    place = _first(_compare(x, y, f"{path}[{i}]", walk) for i, (x, y) in pairs)
    return place or _compare_attributes(a, b, path, walk)


def _compare_sets(a: Any, b: Any, path: str, walk: _Walk) -> str | None:
    left, right = [x for x in a if x not in b], [y for y in b if y not in a]
    for x in left:  # nan, or equal to itself only: there must be a twin
        twin = next((i for i, y in enumerate(right) if _compare(x, y, "", walk) is None), None)
        if twin is None:
            return f"{path}: {shown(a)} and {shown(b)}"
        del right[twin]
    return f"{path}: {shown(a)} and {shown(b)}" if right else None


def _compare_attributes(a: Any, b: Any, path: str, walk: _Walk) -> str | None:
    """What a subclass of a container holds besides its items."""
    own, others = getattr(a, "__dict__", None), getattr(b, "__dict__", None)
    return _compare(own, others, f"{path}.__dict__", walk) if own or others else None


def _compare_numbers(a: Any, b: Any, path: str, walk: _Walk) -> str | None:
    if a.dtype == b.dtype and a.shape == b.shape and a.dtype.kind == "O":
        return _compare_sequences(a.reshape(-1).tolist(), b.reshape(-1).tolist(), path, walk)
    return array_difference(a, b, path, walk.spare)


def _compare_functions(a: Any, b: Any, path: str, walk: _Walk) -> str | None:
    place = _compare_values(a.__code__, b.__code__, path, walk)
    return place or _compare(closure_of(a), closure_of(b), f"closure({path})", walk)


def _compare_methods(a: Any, b: Any, path: str, walk: _Walk) -> str | None:
    place = _compare(a.__func__, b.__func__, path, walk)
    if place or hasattr(a.__self__, "train_k"):  # a trainer is no state
        return place
    return _compare(a.__self__, b.__self__, f"{path}.__self__", walk)


def _compare_builtins(a: Any, b: Any, path: str, walk: _Walk) -> str | None:
    place = _compare_values(a.__name__, b.__name__, path, walk)
    return place or _compare(a.__self__, b.__self__, f"{path}.__self__", walk)


def _compare_references(a: Any, b: Any, path: str, walk: _Walk) -> str | None:
    alive = a() is not None and b() is not None  # a copy refers to what was copied, which may die
    return _compare(a(), b(), f"{path}()", walk) if alive else None


def _compare_objects(a: Any, b: Any, path: str, walk: _Walk) -> str | None:
    equal = _equal(a, b)
    if equal is True:
        return None
    parts = parts_of(a), parts_of(b)
    if parts[0] is UNKNOWN or parts[1] is UNKNOWN:
        return _compare_values(a, b, path, walk) if equal is False else None
    first, second = _attributes(parts[0]), _attributes(parts[1])
    shared = [key for key in first if key in second]
    place = _first(_compare(first[key], second[key], f"{path}.{key}", walk) for key in shared)
    return place or _compare(*parts, f"reduce({path})", walk)


def _attributes(parts: Any) -> dict[Any, Any]:
    """The attributes among what pickle stores, where there are any: they make better paths."""
    stored = parts[2] if isinstance(parts, tuple) and len(parts) > 2 else None
    return stored if isinstance(stored, dict) else {}


def _equal(a: Any, b: Any) -> bool | None:
    """What ``==`` says, or None where it says nothing: identity is no answer, nor is an error."""
    if getattr(type(a), "__eq__", None) is object.__eq__:
        return None
    try:
        return bool(a == b)
    except Exception:
        return None


def _first(places: Iterable[str | None]) -> str | None:
    return next((place for place in places if place is not None), None)


_Compare: TypeAlias = Callable[[Any, Any, str, _Walk], str | None]
_COMPARISONS: tuple[tuple[Any, _Compare], ...] = (
    (_BY_VALUE, _compare_values),
    (str | Path, _compare_names),
    (bytes | bytearray | memoryview, _compare_bytes),
    (FunctionType, _compare_functions),
    (BuiltinFunctionType, _compare_builtins),
    (MethodType, _compare_methods),
    (weakref.ref, _compare_references),
    (Mapping, _compare_mappings),
    (list | tuple | deque, _compare_sequences),
    (set | frozenset, _compare_sets),
)
