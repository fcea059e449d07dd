"""One step into a state: what a value is by itself, and what is at places inside of it."""

from __future__ import annotations

import os
import re
import weakref
from collections import deque
from collections.abc import Mapping, Set
from enum import Enum
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any, Final, TypeAlias

import numpy as np

from dynhp.selfcheck.contents import (
    UNKNOWN,
    closure_variables,
    digest,
    file_contents,
    generator_reader,
    numbers,
    pickled_parts,
    unpacked,
)

__all__ = ["LONG", "READ", "UNPACKED", "Inside", "Kind", "step"]

LONG = 64
"""Longer texts and bytes are noted as a digest."""

READ: Final = object()
"""The leaf of the name of a file: what the file holds is inside."""

UNPACKED: Final = object()
"""The leaf of bytes whose contents are inside."""

Inside: TypeAlias = list[tuple[str, Any]]
"""Places inside of a value and what is there."""

_HOOKS = re.compile(r"\.\w*_hooks\w*\Z")
_DEEPEST = 5  # some storages are packed into themselves again and again
_MOST_FILES = 1000  # a folder with more files is compared by its name
_MOST_BYTES = 2**28
_LEAVES = (type(None), int, float, Enum, range, type, ModuleType)
_BYTES = (bytes, bytearray, memoryview)
_SEQUENCES = (list, tuple, deque)
_CONTAINERS = (dict, *_SEQUENCES, Mapping, Set)  # the last two are slow to ask for
_FUNCTIONS = (FunctionType, BuiltinFunctionType)
_PLAIN_KEYS = (str, int, float, bytes, type(None), Enum, np.generic)


class Kind(str):
    """What a place is if its contents have places of their own; never a user's text."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def step(value: Any, place: str, depth: int = 0, *, closely: bool = False) -> tuple[Any, Inside]:
    """Give what is at a place, the leaf, and what is at places inside: a step of every walk.

    The leaf of a container is its kind, that of what has a numpy form an array. Random generators
    hold what they draw from, texts that name files and packed bytes what is in there (``depth``
    says how often it was unpacked before), other objects what pickle would store; what cannot be
    pickled holds nothing. ``closely`` also opens functions, methods, keys that are objects,
    attributes of containers, short bytes and all that is in files, which takes too long for a run.

    >>> step({"epoch": 2}, "state")
    (dict[1], [("state['epoch']", 2)])
    >>> step(np.float32(2), "state")
    (array(2., dtype=float32), [])
    """
    if isinstance(value, _LEAVES):
        return value, []
    if isinstance(value, _CONTAINERS):
        inside = _contained(value, place, closely=closely) if len(value) else []
        if closely and (stored := getattr(value, "__dict__", None)):  # of a subclass
            inside.append((f"{place}.__dict__", stored))
        return Kind(f"{type(value).__qualname__}[{len(value)}]"), inside
    if hasattr(type(value), "__fspath__"):
        value = os.fspath(value)
    if isinstance(value, str):
        return _text(value, place, closely=closely)
    if isinstance(value, _BYTES):
        packed: Any = UNKNOWN
        if depth < _DEEPEST and (closely or len(value) > LONG):
            packed = unpacked(bytes(value))
        if packed is not UNKNOWN:  # equal states may be packed into different bytes
            return UNPACKED, [(f"unpacked({place})", packed)]
        return bytes(value) if isinstance(value, memoryview) else value, []
    if isinstance(value, weakref.ref):  # a copy refers to what was copied, which is others'
        return Kind(type(value).__qualname__), []
    if isinstance(value, _FUNCTIONS):
        return _function(value, place) if closely else (value, [])
    if closely and isinstance(value, MethodType):
        is_trainer = hasattr(value.__self__, "train_k")  # which is no state
        owner = [] if is_trainer else [(f"{place}.__self__", value.__self__)]
        return Kind("method"), [(place, value.__func__), *owner]
    return _object(value, place)


def _text(text: str, place: str, *, closely: bool) -> tuple[Any, Inside]:
    """A text, or what the files hold that it names: a file may have another name each time."""
    if closely:
        contents = file_contents(text)
    elif os.sep in text:
        contents = file_contents(text, most_files=_MOST_FILES, most_bytes=_MOST_BYTES)
    else:
        return text, []
    if contents is UNKNOWN:
        return text, []
    if not closely:
        files = {os.path.splitext(text)[1]: contents} if isinstance(contents, bytes) else contents
        contents = {name: digest(content).hex() for name, content in files.items()}
    return READ, [(f"file({place})", contents)]


def _contained(container: Any, place: str, *, closely: bool) -> Inside:
    """The items of a container; those of a mapping in their order if their keys are objects."""
    if isinstance(container, _SEQUENCES):
        return [(f"{place}[{number}]", item) for number, item in enumerate(container)]
    if not isinstance(container, (dict, Mapping)):
        plain = all(map(_is_plain, container))
        texts = sorted(map(repr, container)) if plain else []
        return [(f"{place}[{text}]", text) for text in texts]
    # The keys of a framework's hooks may be counted through the process.
    hooks = "_hooks" in place and _HOOKS.search(place) is not None
    inside: Inside = []
    for number, (key, item) in enumerate(container.items()):
        if not hooks and (type(key) is str or _is_plain(key)):
            inside.append((f"{place}[{key!r}]", item))
            continue
        if closely and not hooks:  # it may equal only itself
            inside.append((f"{place}.keys()[{number}]", key))
        inside.append((f"{place}.values()[{number}]", item))
    return inside


def _is_plain(key: Any) -> bool:
    """Whether equal keys have equal texts."""
    return isinstance(key, _PLAIN_KEYS) or (type(key) is tuple and all(map(_is_plain, key)))


def _function(function: Any, place: str) -> tuple[Any, Inside]:
    """A function's code and what it brings along; trainers are left out, they are no state."""
    if isinstance(function, BuiltinFunctionType):
        return function.__name__, [(f"{place}.__self__", function.__self__)]
    brought = {
        name: item
        for name, item in closure_variables(function).items()
        if not hasattr(item, "train_k")
    }
    defaults = {"defaults": function.__defaults__, "kwdefaults": function.__kwdefaults__}
    brought |= {**defaults, "attributes": vars(function)}
    return function.__code__, [(f"closure({place})", brought)]


def _object(value: Any, place: str) -> tuple[Any, Inside]:
    """Arrays and tensors by their numbers, generators by their state, others by their pickle."""
    if (array := numbers(value)) is not None:
        return array, [(place, array.reshape(-1).tolist())] if array.dtype.hasobject else []
    if (read := generator_reader(value)) is not None:
        return Kind(type(value).__qualname__), [(f"{place}.state", read())]
    parts = pickled_parts(value)
    if isinstance(parts, str):  # the name of a global
        return parts, []
    inside: Inside = []
    for number, part in enumerate(parts[1:] if isinstance(parts, tuple) else (), start=1):
        if number == 2 and isinstance(part, dict):
            inside += [(f"{place}.{name}", item) for name, item in part.items()]
        elif part is not None:
            inside.append((f"{place}.reduced[{number}]", part))
    return value, inside
