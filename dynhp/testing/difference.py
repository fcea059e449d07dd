"""Where two nested states differ first, bit by bit, as a path inside them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from types import BuiltinFunctionType, FunctionType
from typing import Any, TypeAlias

import numpy as np

__all__ = ["difference"]

Met: TypeAlias = dict[tuple[int, int], tuple[Any, Any]]
"""Pairs already under comparison, held so that no id is used twice: states may have cycles."""

UNKNOWN = object()
_BY_VALUE = (
    *(bool, int, str, bytes, bytearray, set, frozenset, range),
    *(type, FunctionType, BuiltinFunctionType),
)


def difference(a: Any, b: Any, name: str = "state") -> str | None:
    """Say where ``b`` differs from ``a``, or None where nothing comparable does.

    Numbers are compared by their bits (though nan equals nan), arrays and tensors of any
    framework by type, shape and elements, other objects by ``==`` or by what pickle would store.
    What allows none of these is not compared.

    >>> difference({"m": [0.0, float("nan")]}, {"m": [0.5, float("nan")]})
    "state['m'][0]: 0.0 and 0.5"
    >>> difference(np.zeros((2, 2)), np.array([[0, 0], [0, -0.0]]), "weights")
    'weights[1, 1]: 0.0 and -0.0 (1 of 4 elements)'
    """
    return _compare(a, b, name, {})


def _compare(a: Any, b: Any, path: str, met: Met) -> str | None:
    if a is b or (id(a), id(b)) in met:
        return None
    if type(a) is not type(b):
        return f"{path}: {_text(a)} of type {_kind(a)} and {_text(b)} of type {_kind(b)}"
    met[id(a), id(b)] = (a, b)
    if isinstance(a, _BY_VALUE):
        return None if a == b else f"{path}: {_text(a)} and {_text(b)}"
    if isinstance(a, Mapping):
        return _compare_mappings(a, b, path, met)
    if isinstance(a, list | tuple | deque):
        return _compare_sequences(a, b, path, met)
    numbers = _numbers(a), _numbers(b)
    if isinstance(numbers[0], np.ndarray) and isinstance(numbers[1], np.ndarray):
        return _compare_arrays(*numbers, path, met)
    return _compare_objects(a, b, path, met)


def _compare_mappings(a: Any, b: Any, path: str, met: Met) -> str | None:
    for first, second, which in ((a, b, "second"), (b, a, "first")):
        for key in first:
            if key not in second:
                return f"{path}[{key!r}]: not there in the {which}"
    return _first(_compare(a[key], b[key], f"{path}[{key!r}]", met) for key in a)


def _compare_sequences(a: Any, b: Any, path: str, met: Met) -> str | None:
    if len(a) != len(b):
        return f"{path}: length {len(a)} and {len(b)}"
    pairs = enumerate(zip(a, b, strict=True))
    return _first(_compare(x, y, f"{path}[{i}]", met) for i, (x, y) in pairs)


def _compare_arrays(a: Any, b: Any, path: str, met: Met) -> str | None:
    if a.dtype != b.dtype or a.shape != b.shape:
        return f"{path}: {a.dtype}{list(a.shape)} and {b.dtype}{list(b.shape)}"
    if a.dtype.kind == "O":
        return _compare_sequences(a.reshape(-1).tolist(), b.reshape(-1).tolist(), path, met)
    same = _same_elements(a, b)
    if same.all():
        return None
    index = tuple(int(i) for i in np.argwhere(~same)[0])
    place = f"[{', '.join(map(str, index))}]" if index else ""
    count = f" ({np.sum(~same)} of {same.size} elements)" if index else ""
    return f"{path}{place}: {_text(a[index].item())} and {_text(b[index].item())}{count}"


def _same_elements(a: Any, b: Any) -> Any:
    if a.dtype.kind == "c":
        return _same_elements(a.real, b.real) & _same_elements(a.imag, b.imag)
    same = np.asarray(a == b)
    if a.dtype.kind == "f":  # 0.0 == -0.0, but 1 divided by them is not the same
        same = same & (np.signbit(a) == np.signbit(b))
    return same | ((a != a) & (b != b))


def _numbers(value: Any) -> Any:
    """The value as a numpy array where it is a number, an array or a tensor of any framework."""
    if isinstance(value, float | complex | np.generic | np.ndarray):
        return np.asarray(value)
    try:
        if hasattr(value, "detach"):
            return _from_tensor(value.detach().cpu())
        return np.asarray(value) if hasattr(value, "__array__") else None
    except Exception:  # a tensor without a numpy form (sparse, on a meta device): by its pickle
        return None


def _from_tensor(tensor: Any) -> Any:
    try:
        return np.asarray(tensor.numpy())
    except TypeError:  # numpy has no bfloat16; as float32 each of its numbers stays itself
        return np.asarray(tensor.float().numpy())


def _compare_objects(a: Any, b: Any, path: str, met: Met) -> str | None:
    equal = _equal(a, b)
    if equal is True:
        return None
    parts = _parts(a), _parts(b)
    if parts[0] is UNKNOWN or parts[1] is UNKNOWN:
        return f"{path}: {_text(a)} and {_text(b)}" if equal is False else None
    first, second = _attributes(parts[0]), _attributes(parts[1])
    shared = [key for key in first if key in second]
    place = _first(_compare(first[key], second[key], f"{path}.{key}", met) for key in shared)
    return place or _compare(*parts, f"reduce({path})", met)


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


def _parts(value: Any) -> Any:
    """What pickle would store, as plain data to compare, or UNKNOWN where it cannot."""
    try:
        parts = value.__reduce_ex__(4)
    except Exception:
        return UNKNOWN
    if isinstance(parts, str):
        return parts
    return tuple(list(part) if isinstance(part, Iterator) else part for part in parts)


def _first(places: Iterable[str | None]) -> str | None:
    return next((place for place in places if place is not None), None)


def _kind(value: Any) -> str:
    return type(value).__qualname__


def _text(value: Any) -> str:
    try:
        text = repr(value)
    except Exception:
        text = f"<{_kind(value)}>"
    return text if len(text) <= 60 else f"{text[:57]}..."
