"""All that an environment stores, as plain data: copied out, and put back in place."""

from __future__ import annotations

import copy
import math
from collections import deque
from collections.abc import Iterator
from typing import Any

import gymnasium
import numpy as np

from dynhp_gymnasium.kinds import (
    deep_copy,
    is_constant,
    is_left,
    is_plain_object,
    is_times,
    kind_of,
    require_kind,
    require_reach,
)

__all__ = ["content_of", "generators_in", "put_back"]

_KIND = "of the class"  # no attribute can be called that

_PLAIN = (type(None), bool, int, float, complex, str, bytes, np.generic)


def content_of(thing: Any) -> Any:
    """A copy of all that decides what this thing does next, in plain data.

    >>> content_of([1, np.array([2.0])])
    ('list', [1, ('array', array([2.]))])
    """
    return _Reader().read(thing, "env")


def put_back(thing: Any, content: Any) -> Any:
    """Make the thing store what it did; it stays the same object where it can.

    >>> scores = [1, 2]
    >>> content = content_of(scores); scores.append(3)
    >>> put_back(scores, content) is scores, scores
    (True, [1, 2])
    """
    return _Writer().write(thing, content, "env")


def generators_in(thing: Any) -> Iterator[np.random.Generator]:
    """Every generator in there, always in the same order.

    >>> space = gymnasium.spaces.Discrete(3, seed=1)
    >>> len(list(generators_in([space, space.np_random])))
    1
    """
    reader = _Reader()
    reader.read(thing, "env")
    return iter(reader.generators)


class _Reader:
    """Goes through a thing once; what is met again is named by the place of the first time."""

    def __init__(self) -> None:
        self.generators: list[np.random.Generator] = []
        self._places: dict[int, str] = {}
        self._held: list[Any] = []  # so that no id is used twice

    def read(self, value: Any, place: str) -> Any:
        if isinstance(value, _PLAIN):
            return value
        if is_left(value):
            return ("left", kind_of(value))
        if id(value) in self._places:
            return ("same", self._places[id(value)])
        self._places[id(value)] = place
        self._held.append(value)
        if isinstance(value, np.random.Generator):
            self.generators.append(value)
            return ("generator", copy.deepcopy(value.bit_generator.state))
        if isinstance(value, np.ndarray):
            return ("array", copy.deepcopy(value))
        if isinstance(value, gymnasium.Space):
            return ("object", dict(self._of_space(value, place)) | {_KIND: kind_of(value)})
        kind = type(value)
        if kind in (list, tuple, deque):
            items = [self.read(each, f"{place}[{i}]") for i, each in enumerate(value)]
            return (kind.__name__, items)
        if kind is dict:
            pairs = [(key, self.read(each, f"{place}[{key!r}]")) for key, each in value.items()]
            return ("dict", pairs)
        require_reach(value, place)
        if not is_plain_object(value):
            return ("value", deep_copy(value, place))
        return ("object", self._of_object(value, place))

    def _of_object(self, value: Any, place: str) -> dict[str, Any]:
        attributes = {
            name: each for name, each in vars(value).items() if not is_constant(value, name)
        }
        return {
            name: ("count", len(each))
            if is_times(value, name)
            else self.read(each, f"{place}.{name}")
            for name, each in attributes.items()
        } | {_KIND: kind_of(value)}

    def _of_space(self, space: Any, place: str) -> Iterator[tuple[str, Any]]:
        """Only what a space draws from: its bounds never change."""
        for name, value in vars(space).items():
            inner = isinstance(value, gymnasium.Space | np.random.Generator)
            members = isinstance(value, tuple | list | dict) and any(
                isinstance(each, gymnasium.Space)
                for each in (value.values() if isinstance(value, dict) else value)
            )
            if inner or members or name == "_np_random":
                yield name, self.read(value, f"{place}.{name}")


class _Writer:
    """Writes content into things that are there, or makes them anew."""

    def __init__(self) -> None:
        self._made: dict[str, Any] = {}

    def write(self, live: Any, content: Any, place: str) -> Any:
        if not isinstance(content, tuple):
            return content
        kind = content[0]
        if kind == "left":
            require_kind(live, content[1], place)
            return live
        if kind == "same":
            return self._made[content[1]]
        write = getattr(self, f"_{kind}")
        return write(live, content[1], place)

    def _keep(self, place: str, thing: Any) -> Any:
        self._made[place] = thing
        return thing

    def _generator(self, live: Any, state: Any, place: str) -> Any:
        kind: Any = getattr(np.random, state["bit_generator"])
        if not isinstance(live, np.random.Generator) or type(live.bit_generator) is not kind:
            live = np.random.Generator(kind())
        live.bit_generator.state = copy.deepcopy(state)
        return self._keep(place, live)

    def _array(self, live: Any, saved: Any, place: str) -> Any:
        return self._keep(place, copy.deepcopy(saved))  # the live one may be in a user's records

    _value = _array

    def _count(self, live: Any, length: int, place: str) -> Any:
        while len(live) > length:
            live.pop()
        live.extend([math.nan] * (length - len(live)))  # in a new process they are not known
        return live

    def _list(self, live: Any, items: list[Any], place: str) -> Any:
        before = list(live) if type(live) is list else []
        kept = self._keep(place, live if type(live) is list else [])
        kept[:] = self._items(before, items, place)
        return kept

    def _deque(self, live: Any, items: list[Any], place: str) -> Any:
        require_kind(live, kind_of(deque()), place)  # another would have another maxlen
        written = self._items(list(self._keep(place, live)), items, place)
        live.clear()
        live.extend(written)
        return live

    def _tuple(self, live: Any, items: list[Any], place: str) -> Any:
        before = list(live) if type(live) is tuple else []
        return self._keep(place, tuple(self._items(before, items, place)))

    def _items(self, before: list[Any], items: list[Any], place: str) -> list[Any]:
        lives = before + [None] * (len(items) - len(before))
        return [
            self.write(live, content, f"{place}[{i}]")
            for i, (live, content) in enumerate(zip(lives, items, strict=False))
        ]

    def _dict(self, live: Any, pairs: list[Any], place: str) -> Any:
        kept = self._keep(place, live if type(live) is dict else {})
        written = {
            key: self.write(kept.get(key), content, f"{place}[{key!r}]") for key, content in pairs
        }
        kept.clear()
        kept.update(written)
        return kept

    def _object(self, live: Any, contents: dict[str, Any], place: str) -> Any:
        contents = dict(contents)
        require_kind(live, contents.pop(_KIND), place)
        self._keep(place, live)
        attributes = vars(live)
        if not isinstance(live, gymnasium.Space):  # of those only the generators are in a state
            for name in [name for name in attributes if name not in contents]:
                if not is_constant(live, name):
                    del attributes[name]
        for name, content in contents.items():
            attributes[name] = self.write(attributes.get(name), content, f"{place}.{name}")
        return live
