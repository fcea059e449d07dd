"""What names lead to, a few steps deep: where forgotten parts of a state are looked for."""

from __future__ import annotations

import functools
import inspect
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from types import BuiltinFunctionType, CodeType, FrameType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from dynhp.selfcheck.owners import (
    is_installed,
    is_library_kind,
    is_our_code,
    is_our_kind,
    is_users_module,
)

__all__ = ["attributes", "in_reach", "is_array", "is_module"]

_DEPTH = 3
_MOST_THINGS = 20_000
_LONGEST = 64  # a longer list holds data, not parts of a loop
_MOST_ARRAYS = 2_000  # a list of so many may be averaged weights, and only a longer one is data
_ARRAYS = ("torch", "jax", "jaxlib", "cupy")  # whose tensors and arrays have bytes to compare
_ATOMS = (type(None), bool, int, float, complex, str, bytes)
_CLOSED = (BuiltinFunctionType, CodeType, FrameType)
_WAYS = (FunctionType, MethodType, functools.partial, ModuleType, type)  # they lead to things
_OPEN_LIBRARY = ("argparse", "builtins", "collections", "functools", "types")
# What torch keeps in every module of its own accord; parameters and modes are in its snapshot.
_OF_EVERY_MODULE = {"_parameters", "_buffers", "_non_persistent_buffers_set", "training"}


def in_reach(names: Mapping[str, Any]) -> dict[str, Any]:
    """All that these names lead to, each thing once, with the name by which its user knows it.

    Only what is stored is looked at (no property, no method is called), a few steps deep.

    >>> from types import SimpleNamespace
    >>> run = SimpleNamespace(steps=3, scales=[0.5])
    >>> list(in_reach({"run": run}))
    ['run', 'run.steps', 'run.scales', 'run.scales[0]']
    """
    reached: dict[str, Any] = {}
    seen: dict[int, Any] = {}
    ahead = deque((name, thing, _DEPTH) for name, thing in names.items())
    arrays: deque[tuple[str, Any, int]] = deque()  # they may be many and lead nowhere: they wait
    while (ahead or arrays) and len(reached) < _MOST_THINGS:
        name, thing, depth = (ahead or arrays).popleft()
        if type(thing) in _ATOMS:
            if name not in reached or reached[name] is not thing:  # else a function sees it too
                reached[_free(name, reached)] = thing
        elif id(thing) not in seen:
            seen[id(thing)] = thing
            with suppress(Exception):  # a proxy whose thing is gone, a length that raises
                is_way = isinstance(thing, _WAYS)
                if isinstance(thing, _CLOSED) or (not is_way and is_our_kind(type(thing))):
                    continue
                parts = list(_inside(name, thing))
                if not is_way:
                    reached[_free(name, reached)] = thing
                for inner, part, cost in parts:
                    if depth >= cost:
                        (arrays if is_array(part) else ahead).append((inner, part, depth - cost))
    return reached


def _free(name: str, taken: Mapping[str, Any]) -> str:
    """The name itself, or with a number where another variable has the same one."""
    number, free = 2, name
    while free in taken:
        number, free = number + 1, f"{name} #{number}"
    return free


def attributes(thing: Any) -> dict[str, Any]:
    """What is stored in an object under a name, without calling any code of its class."""
    try:
        stored = object.__getattribute__(thing, "__dict__")
    except Exception:  # no such dictionary
        stored = {}
    named = dict(stored) if isinstance(stored, dict) else {}
    for kind in type(thing).__mro__:
        slots = vars(kind).get("__slots__", ())
        for slot in (slots,) if isinstance(slots, str) else slots:
            descriptor = vars(kind).get(slot)
            if inspect.ismemberdescriptor(descriptor):
                try:
                    named[slot] = descriptor.__get__(thing)
                except AttributeError:  # it has no value yet
                    continue
    return named


def is_module(thing: Any) -> bool:
    """Whether this is a module of torch, seen by how it is made, since torch is not known here."""
    stored = attributes(thing)
    return isinstance(stored.get("_modules"), dict) and "_parameters" in stored


def _inside(name: str, thing: Any) -> Iterator[tuple[str, Any, int]]:
    """What is inside a thing: the name of each, the thing, and how many steps away it is."""
    if isinstance(thing, dict):
        yield from _items(name, dict.items(thing), len(thing))
    elif isinstance(thing, list | tuple | deque):
        yield from _items(name, enumerate(thing), len(thing))
    elif isinstance(thing, MethodType):
        yield f"{name}.__self__", thing.__self__, 1
    elif isinstance(thing, functools.partial):
        yield f"{name}.func", thing.func, 1
        yield f"{name}.args", thing.args, 1
        yield f"{name}.keywords", thing.keywords, 1
    elif isinstance(thing, FunctionType):
        yield from _of_function(name, thing)
    elif isinstance(thing, ModuleType | type):
        module = thing.__name__ if isinstance(thing, ModuleType) else thing.__module__
        if is_users_module(module):
            yield from ((f"{name}.{key}", part, 1) for key, part in _public(thing))
    elif _is_open(thing):
        yield from _of_object(name, thing)


def _items(
    name: str, items: Iterable[tuple[Any, Any]], number: int
) -> Iterator[tuple[str, Any, int]]:
    """The items of a list or dictionary that is not too long for what it begins with."""
    for place, (key, part) in enumerate(items):
        if place == 0 and number > (_MOST_ARRAYS if is_array(part) else _LONGEST):
            return
        known = type(key) in _ATOMS  # others need not have a short text, or one at all
        yield f"{name}[{key!r}]" if known else f"{name}.values()[{place}]", part, 1


def is_array(thing: Any) -> bool:
    """Whether this is an array of numpy, or a tensor or array of a library like it.

    >>> is_array(np.zeros(1)), is_array([0.0])
    (True, False)
    """
    if isinstance(thing, np.ndarray):
        return True
    kinds = type(thing).__mro__
    return any(
        kind.__module__.partition(".")[0] in _ARRAYS and "__array__" in vars(kind) for kind in kinds
    )


def _public(thing: Any) -> list[tuple[str, Any]]:
    """What a module or a class of the user's keeps, but for its code."""
    code = (FunctionType, ModuleType, type, property, classmethod, staticmethod)
    kept = ((key, part) for key, part in vars(thing).items() if not isinstance(part, code))
    return [(key, part) for key, part in kept if not key.startswith("_")]


def _of_object(name: str, thing: Any) -> Iterator[tuple[str, Any, int]]:
    stored = attributes(thing)
    module, optimizer = is_module(thing), "param_groups" in stored
    library = is_library_kind(type(thing))
    for key, part in stored.items():
        if optimizer and not key.endswith("_hooks"):  # its parameters and their memory are many
            continue
        if module and key == "_modules":  # however deep a model is, it counts as one thing
            yield from ((f"{name}.{child}", inner, 0) for child, inner in part.items())
        elif module and (key in _OF_EVERY_MODULE or "_hooks" in key):
            continue
        elif not library:
            yield f"{name}.{key}", part, 1
        elif isinstance(part, dict | list | tuple | deque):
            parts = _inside(f"{name}.{key}", part)
            yield from (each for each in parts if not _is_book_keeping(each[1]))
        elif not _is_book_keeping(part):
            yield f"{name}.{key}", part, 1


def _is_book_keeping(part: Any) -> bool:
    """Numbers, texts and iterators inside an object of a library are its own affair."""
    return isinstance(part, _ATOMS) or any("__next__" in vars(kind) for kind in type(part).__mro__)


def _of_function(name: str, function: FunctionType) -> Iterator[tuple[str, Any, int]]:
    """What a function takes from around it, and what it keeps; of ours, what it was given."""
    code = function.__code__
    if is_installed(code.co_filename):
        return
    for variable, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield variable, cell.cell_contents, 0  # it sees them as if they were its own
        except ValueError:  # a variable that has no value yet
            continue
    if not is_our_code(code, function.__module__ or ""):
        for variable in code.co_names:
            if variable in function.__globals__:
                yield variable, function.__globals__[variable], 1
        values = function.__defaults__ or ()
        last = code.co_varnames[code.co_argcount - len(values) : code.co_argcount]
        defaults = {**dict(zip(last, values, strict=True)), **(function.__kwdefaults__ or {})}
        yield from ((f"{name}({given})", part, 1) for given, part in defaults.items())
        yield from ((f"{name}.{key}", part, 1) for key, part in vars(function).items())


def _is_open(thing: Any) -> bool:
    """Whether to look inside: not into locks, files and the like."""
    root, _, rest = type(thing).__module__.partition(".")
    if root == "dynhp" and rest == "loops.counter":
        return False
    return root not in sys.stdlib_module_names or root in _OPEN_LIBRARY
