"""Where two nested states differ first, bit by bit, as a path inside them."""

from __future__ import annotations

import os
import warnings
import weakref
from collections import deque
from collections.abc import Callable, Mapping, Set
from enum import Enum
from itertools import zip_longest
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from dynhp.selfcheck.contents import (
    UNKNOWN,
    closure_variables,
    file_contents,
    opened,
    pickled_parts,
    shown,
    unpacked,
)

__all__ = ["Ignore", "difference", "difference_beyond"]

Ignore: TypeAlias = Callable[[Any, Any], bool]
"""Says of two unequal leaves that their difference does not count."""

_ABSENT: Final = object()
_BY_VALUE = (type(None), bool, int, range, Enum, type, CodeType, ModuleType)
_PLAIN_KEYS = (str, bytes, int, float, type(None), type)
_DEEPEST = 5  # some storages are packed into themselves again and again


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
    other objects by ``==`` or by what pickle would store. Keys that are equal to themselves only
    (as an optimiser may have) are compared in their order. What allows none of these is not
    compared.

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
            ahead += (
                _Pair(at, first, second, pair.depth + more)
                for at, first, second, more in reversed(inside)
            )
    return None


def _compare(pair: _Pair, ignore: Ignore) -> tuple[str | None, _Pairs]:
    """Compare two values by themselves: how they differ, and what inside them is to be compared.

    The depth of what is inside is counted from the pair.
    """
    place, a, b, depth = pair
    if type(a) is not type(b):
        if ignore(a, b):
            return None, []
        kinds = type(a).__qualname__, type(b).__qualname__
        return f"{place}: {shown(a)} of type {kinds[0]} and {shown(b)} of type {kinds[1]}", []

    if isinstance(a, _BY_VALUE):
        return _leaf_difference(pair, ignore), []
    if isinstance(a, str | os.PathLike):  # names of files, as of checkpoints
        files = (file_contents(a), file_contents(b)) if a != b else (UNKNOWN, UNKNOWN)
        if files[0] is UNKNOWN or files[1] is UNKNOWN:
            return _leaf_difference(pair, ignore), []
        return None, [_Pair(f"file({place})", *files)]
    if isinstance(a, bytes | bytearray | memoryview):
        settled = a == b or depth >= _DEEPEST
        contents = (UNKNOWN, UNKNOWN) if settled else (unpacked(bytes(a)), unpacked(bytes(b)))
        if contents[0] is UNKNOWN or contents[1] is UNKNOWN:
            return _leaf_difference(_Pair(place, bytes(a), bytes(b)), ignore), []
        return None, [_Pair(f"unpacked({place})", contents[0], contents[1], depth=1)]

    if isinstance(a, FunctionType | BuiltinFunctionType | MethodType):
        return _compare_callables(pair, ignore)

    if isinstance(a, weakref.ref):  # a copy refers to what was copied, which belongs to others
        return None, []

    if isinstance(a, Mapping):
        return None, _items(a, b, place) + _attributes(a, b, place)
    if isinstance(a, Set):
        return _set_difference(pair, ignore), []
    if isinstance(a, list | tuple | deque):
        items = enumerate(zip_longest(a, b, fillvalue=_ABSENT))
        return None, [
            *(_Pair(f"{place}[{number}]", x, y) for number, (x, y) in items if x is not y),
            *_attributes(a, b, place),
        ]

    return _compare_objects(pair, ignore)


def _compare_callables(pair: _Pair, ignore: Ignore) -> tuple[str | None, _Pairs]:
    """Compare functions by their code and what they bring along, methods also by their owners."""
    place, a, b, _ = pair
    if isinstance(a, FunctionType):
        codes = _Pair(place, a.__code__, b.__code__)
        brought = _Pair(f"closure({place})", _brought_along(a), _brought_along(b))
        return _leaf_difference(codes, ignore), [brought]
    owners = _Pair(f"{place}.__self__", a.__self__, b.__self__)
    if isinstance(a, BuiltinFunctionType):
        return _leaf_difference(_Pair(place, a.__name__, b.__name__), ignore), [owners]
    functions = _Pair(place, a.__func__, b.__func__)
    is_trainer = hasattr(a.__self__, "train_k")  # which is no state
    return None, [functions] if is_trainer else [functions, owners]


def _compare_objects(pair: _Pair, ignore: Ignore) -> tuple[str | None, _Pairs]:
    """Compare arrays, tensors and other objects: by elements, by ==, or by what pickle stores."""
    place, a, b, _ = pair
    here, there = opened(a, place), opened(b, place)
    first, second = dict(here.inside), dict(there.inside)
    inside = [
        _Pair(at, first.get(at, _ABSENT), second.get(at, _ABSENT)) for at in {**first, **second}
    ]

    arrays = [each for each in (here.itself, there.itself) if isinstance(each, np.ndarray)]
    if len(arrays) == 2:
        found = _array_difference(_Pair(place, arrays[0], arrays[1]), ignore)
        return found or _other_kind(a, b, place), inside
    if len(arrays) == 1:  # the other is a tensor without a numpy form
        return f"{place}: {shown(a)} and {shown(b)}", []

    equal = _says_equal(a, b)
    if equal is True:
        return None, []
    if not inside:  # it cannot be pickled, or is stored as the name of a global
        names = pickled_parts(a), pickled_parts(b)
        if names[0] is UNKNOWN or names[1] is UNKNOWN:
            return _leaf_difference(pair, ignore) if equal is False else None, []
        return _leaf_difference(_Pair(place, *names), ignore), []
    return None, inside


def _leaf_difference(pair: _Pair, ignore: Ignore) -> str | None:
    place, a, b, _ = pair
    if a == b or ignore(a, b):
        return None
    return f"{place}: {shown(a)} and {shown(b)}"


def _items(a: Any, b: Any, place: str) -> _Pairs:
    """The items of two mappings: by their keys, and in their order if keys are not plain values."""
    attribute = place.rpartition(".")[2]
    # The keys of a framework's hooks may be counted through the process.
    by_order = attribute.isidentifier() and "_hooks" in attribute
    shared = [] if by_order else [key for key in a if key in b]
    pairs = [_Pair(f"{place}[{shown(key)}]", a[key], b[key]) for key in shared]
    alone = [
        [key for key in mapping if by_order or key not in other]
        for mapping, other in ((a, b), (b, a))
    ]
    if not by_order:
        for key in (key for keys in alone for key in keys if isinstance(key, _PLAIN_KEYS)):
            pairs.append(_Pair(f"{place}[{shown(key)}]", a.get(key, _ABSENT), b.get(key, _ABSENT)))
        alone = [[key for key in keys if not isinstance(key, _PLAIN_KEYS)] for keys in alone]
    for number, (x, y) in enumerate(zip_longest(*alone, fillvalue=_ABSENT)):
        if x is _ABSENT or y is _ABSENT:
            pairs.append(_Pair(f"{place}[{shown(y if x is _ABSENT else x)}]", x, y))
            continue
        if not by_order:
            pairs.append(_Pair(f"{place}.keys()[{number}]", x, y))
        pairs.append(_Pair(f"{place}.values()[{number}]", a[x], b[y]))
    return pairs


def _brought_along(function: FunctionType) -> dict[str, Any]:
    """What a function has besides its code; trainers are left out, they are no state."""
    variables = {
        name: value
        for name, value in closure_variables(function).items()
        if not hasattr(value, "train_k")
    }
    defaults = {"defaults": function.__defaults__, "kwdefaults": function.__kwdefaults__}
    return {**variables, **defaults, "attributes": vars(function)}


def _attributes(a: Any, b: Any, place: str) -> _Pairs:
    """What a subclass of a container holds besides its items."""
    first, second = getattr(a, "__dict__", None), getattr(b, "__dict__", None)
    return [_Pair(f"{place}.__dict__", first, second)] if first or second else []


def _set_difference(pair: _Pair, ignore: Ignore) -> str | None:
    place, a, b, _ = pair
    left, right = [x for x in a if x not in b], [y for y in b if y not in a]
    for x in left:  # nan, or equal to itself only: there must be a twin
        twins = (
            i for i, y in enumerate(right) if difference_beyond(x, y, "", ignore=ignore) is None
        )
        twin = next(twins, None)
        if twin is None:
            return f"{place}: {shown(a)} and {shown(b)}"
        del right[twin]
    return f"{place}: {shown(a)} and {shown(b)}" if right else None


def _says_equal(a: Any, b: Any) -> bool | None:
    """What ``==`` says, or None if it says nothing: identity is no answer, nor is an error."""
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
