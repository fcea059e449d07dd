"""Where two nested states differ first, bit by bit, as a path inside them."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Set
from enum import Enum
from types import ModuleType
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from dynhp.selfcheck.contents import shown
from dynhp.selfcheck.fingerprint import fingerprint
from dynhp.selfcheck.step import UNPACKED, Kind, step

__all__ = ["Ignore", "difference", "difference_beyond"]

Ignore: TypeAlias = Callable[[Any, Any], bool]
"""Says of two unequal leaves that their difference does not count."""

_ABSENT: Final = object()


class _Pair(NamedTuple):
    """What two states have at one place."""

    place: str
    a: Any
    b: Any
    depth: int = 0  # how often what is around it was unpacked


_Pairs: TypeAlias = list[_Pair]


def difference(a: Any, b: Any, name: str = "state") -> str | None:
    """Say where ``b`` differs from ``a``, or None if nothing comparable does.

    Numbers are compared by their bits (though nan equals nan), arrays and tensors of any
    framework by type, shape and elements, pickled bytes and names of files by what they hold,
    other objects by ``==`` or by what pickle would store. Keys that are objects (as an optimiser
    may have) are compared in their order. What allows none of these is not compared.

    >>> difference({"m": [0.0, float("nan")]}, {"m": [0.5, float("nan")]})
    "state['m'][0]: 0.0 and 0.5"
    >>> difference(np.zeros((2, 2)), np.array([[0, 0], [0, -0.0]]), "weights")
    'weights[1, 1]: 0.0 and -0.0 (1 of 4 elements)'
    """
    return difference_beyond(a, b, name, ignore=lambda x, y: False)


def difference_beyond(a: Any, b: Any, name: str, *, ignore: Ignore) -> str | None:
    """Say where ``b`` differs from ``a`` apart from leaves that ``ignore`` lets pass.

    >>> difference_beyond({"lr": 1, "w": 5}, {"lr": 2, "w": 6}, "state", ignore=lambda x, y: x == 1)
    "state['w']: 5 and 6"
    """
    met: dict[tuple[int, int], tuple[Any, Any]] = {}  # held so that no id is used twice
    ahead = [_Pair(name, a, b)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of frameworks, about how their objects are looked at
        while ahead:
            pair = ahead.pop()
            x, y = pair.a, pair.b
            if x is y or (id(x), id(y)) in met:  # states may have cycles
                continue
            met[id(x), id(y)] = (x, y)
            found, inside = _compare(pair, ignore)
            for at, first, second, _ in inside:
                if first is _ABSENT or second is _ABSENT:
                    which = "first" if first is _ABSENT else "second"
                    found = found or f"{at}: not there in the {which}"
            if found is not None:
                return found
            ahead += reversed(inside)
    return None


def _compare(pair: _Pair, ignore: Ignore) -> tuple[str | None, _Pairs]:
    """Compare two values by themselves: how they differ, and what inside them is to be compared."""
    place, a, b, depth = pair
    if type(a) is not type(b):
        if ignore(a, b):
            return None, []
        kinds = type(a).__qualname__, type(b).__qualname__
        return f"{place}: {shown(a)} of type {kinds[0]} and {shown(b)} of type {kinds[1]}", []
    if isinstance(a, str | bytes | bytearray | os.PathLike) and a == b:
        return None, []
    if isinstance(a, Set):
        return _set_difference(pair, ignore), []

    x, inside_a = step(a, place, depth, closely=True)
    y, inside_b = step(b, place, depth, closely=True)
    if type(x) is not type(y):  # only one names a file, can be unpacked, has a numpy form
        return None if ignore(a, b) else f"{place}: {shown(a)} and {shown(b)}", []
    first, second = dict(inside_a), dict(inside_b)
    inside = [
        _Pair(at, first.get(at, _ABSENT), second.get(at, _ABSENT), depth + (x is UNPACKED))
        for at in {**first, **second}
    ]
    if isinstance(x, float | np.ndarray):
        arrays = _Pair(place, np.asanyarray(x), np.asanyarray(y))
        return _array_difference(arrays, ignore) or _other_kind(a, b, place), inside
    equal = None if isinstance(x, Kind) else _says_equal(x, y)
    if x is a and (equal or inside):  # an object that does not say that it is equal may be so
        return None, [] if equal else inside
    if equal is False and not ignore(x, y):
        return f"{place}: {shown(x)} and {shown(y)}", []
    return None, inside


def _set_difference(pair: _Pair, ignore: Ignore) -> str | None:
    """Compare what only one of two sets has: there may be nan, or what equals only itself."""
    place, a, b, _ = pair

    def held(item: Any) -> str:
        return repr(fingerprint(item).places)

    left = sorted((item for item in a if item not in b), key=held)
    right = sorted((item for item in b if item not in a), key=held)
    if difference_beyond(left, right, place, ignore=ignore) is None:
        return None
    return f"{place}: {shown(a)} and {shown(b)}"


def _says_equal(a: Any, b: Any) -> bool | None:
    """What ``==`` says, or None if it says nothing: identity is no answer, nor is an error."""
    if isinstance(a, type | ModuleType | Enum):  # of which there is one
        return a is b
    if getattr(type(a), "__eq__", None) is object.__eq__:
        return None
    try:
        return bool(a == b)
    except Exception:
        return None


def _array_difference(pair: _Pair, ignore: Ignore) -> str | None:
    """Say where two arrays differ; one difference all over an array may be ignored.

    >>> _array_difference(_Pair("w", np.ones(2), np.array([1.0, 2.0])), lambda x, y: False)
    'w[1]: 1.0 and 2.0 (1 of 2 elements)'
    """
    place, a, b, _ = pair
    if a.dtype != b.dtype or a.shape != b.shape:
        return f"{place}: {a.dtype}{list(a.shape)} and {b.dtype}{list(b.shape)}"
    if a.dtype.hasobject:  # whose elements are compared one by one
        return None
    if isinstance(a, np.ma.MaskedArray):
        masks = np.ma.getmaskarray(a), np.ma.getmaskarray(b)
        if np.any(masks[0] != masks[1]):
            return _array_difference(_Pair(f"{place}.mask", *masks), ignore)
        a, b = a.filled(), b.filled()
    if a.dtype.names:
        fields = (
            _array_difference(_Pair(f"{place}[{name!r}]", a[name], b[name]), ignore)
            for name in a.dtype.names
        )
        return next((found for found in fields if found is not None), None)

    unequal = ~_same_elements(a, b)
    if not unequal.any():
        return None
    index = tuple(int(i) for i in np.argwhere(unequal)[0])
    first, second = a[index].item(), b[index].item()
    alike = np.all(a[unequal] == first) and np.all(b[unequal] == second)
    if alike and ignore(first, second):
        return None

    element = f"[{', '.join(map(str, index))}]" if index else ""
    count = f" ({np.sum(unequal)} of {unequal.size} elements)" if index else ""
    return f"{place}{element}: {shown(first)} and {shown(second)}{count}"


def _same_elements(a: Any, b: Any) -> Any:
    if a.dtype.kind == "c":
        return _same_elements(a.real, b.real) & _same_elements(a.imag, b.imag)
    same = np.asarray(a == b)
    if a.dtype.kind == "f":  # 0.0 == -0.0, but 1 divided by them is not the same
        same = same & (np.signbit(a) == np.signbit(b))
    return same | ((a != a) & (b != b))


def _other_kind(a: Any, b: Any, place: str) -> str | None:
    """What a tensor's numbers do not show: bfloat16 and float32 may hold the same ones."""
    for aspect in ("dtype", "device"):
        kinds = str(getattr(a, aspect, "")), str(getattr(b, aspect, ""))
        if kinds[0] != kinds[1]:
            return f"{place}: {aspect} {kinds[0]} and {kinds[1]}"
    return None
