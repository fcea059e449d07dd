"""What a value holds at any depth, taken note of and written back into the very same objects."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from dynhp.loops import Part
from dynhp_torch.parts.modules import module_part
from dynhp_torch.parts.records import is_record
from dynhp_torch.parts.tensor_notes import TensorNote
from dynhp_torch.parts.tensors import MAPPINGS, copied_tree
from dynhp_torch.parts.torch_part import torch_part

__all__ = ["GENERATORS", "Notes", "frozen", "is_plain"]

_ATOMS = (type(None), bool, int, float, complex, str, bytes, torch.dtype, torch.device)
_SERIES = (list, deque)
GENERATORS = (torch.Generator, np.random.Generator, np.random.RandomState, random.Random)


def is_plain(value: Any) -> bool:
    """Whether a value never changes by itself, so that a reference is as good as a copy.

    >>> is_plain(0.5), is_plain([0.5])
    (True, False)
    """
    return isinstance(value, _ATOMS)


def frozen(value: Any) -> Any:
    """A copy of tensors, arrays and containers at any depth; other objects are kept as they are.

    >>> losses = [torch.ones(1)]
    >>> then = frozen(losses); losses[0].zero_(); then
    tensor([0.])
    [tensor([1.])]
    """
    return copied_tree(value, _frozen_leaf)


def _frozen_leaf(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.detach().clone()
    return value.copy() if isinstance(value, np.ndarray) else value


class Notes:
    """What some values hold, each object once: two names of one list are so again afterwards.

    Contents are written back into the objects that held them, and not into those that stand in
    their place now. A try may have given one tensor two names (the last loss is the best one):
    written into through both, it would end with the content of the one that came last.

    Args:
        covered: objects that are taken care of elsewhere; only which ones they are is noted.

    >>> best, last = torch.tensor(0.5), torch.tensor(0.6)
    >>> notes = Notes(); noted = [notes.of(best), notes.of(last)]
    >>> _ = last.fill_(0.1)
    >>> back = Notes.put_back(); [back(note) for note in noted]
    [tensor(0.5000), tensor(0.6000)]
    """

    def __init__(self, covered: Sequence[Any] = ()) -> None:
        self._known: dict[int, _Note] = {id(each): _Note(each, _Whose) for each in covered}
        self._records = dict.fromkeys(self._known, True)
        self._ahead: list[_Note] = []

    def of(self, value: Any) -> Any:
        """The value itself where it cannot change, else a note of what it holds."""
        noted = self._noted(value)
        while self._ahead:  # not one inside the other: a chain of objects may be long
            note = self._ahead.pop()
            note.content = self._content(note.thing)
        return noted

    def _noted(self, value: Any) -> Any:
        if type(value) is tuple:
            return _Tuple(tuple(map(self._noted, value)))
        if isinstance(value, _ATOMS):
            return value
        if (known := self._known.get(id(value))) is not None:
            return known
        # Known before its items are, because it may be one of them.
        note = self._known[id(value)] = _Note(value, None)
        self._ahead.append(note)
        return note

    def _content(self, value: Any) -> Any:
        if (part := _part_of(value)) is not None:
            return _OfPart(part)
        if isinstance(value, Tensor):
            return _Whose if isinstance(value, nn.Parameter) else TensorNote(value)
        if isinstance(value, np.ndarray):
            return value.copy()
        if type(value) in MAPPINGS:
            return [(key, self._noted(item)) for key, item in value.items()]
        if type(value) in (*_SERIES, set):
            return [self._noted(item) for item in value]
        if is_record(value, self._records):
            return {key: self._noted(item) for key, item in vars(value).items()}
        return _Whose

    @staticmethod
    def put_back() -> _PutBack:
        """A function that gives the value of a note, with what it held."""
        return _PutBack()


class _Whose:
    """Stands for the content of an object that is not ours to copy: only which one it is."""


class _Tuple:
    """The items of a tuple, which is made anew."""

    __slots__ = ("items",)

    def __init__(self, items: tuple[Any, ...]) -> None:
        self.items = items


class _OfPart:
    """The state of a thing that has one of its own."""

    __slots__ = ("part", "state")

    def __init__(self, part: Part) -> None:
        self.part, self.state = part, part.get()


class _Note:
    """An object, and what it held."""

    __slots__ = ("content", "thing")

    def __init__(self, thing: Any, content: Any) -> None:
        self.thing, self.content = thing, content


class _PutBack:
    """Writes back each object once, however many names it has."""

    def __init__(self) -> None:
        self._done: dict[int, Any] = {}
        self._ahead: list[_Note] = []

    def __call__(self, note: Any) -> Any:
        value, sets = self._value(note), []
        while self._ahead:
            each = self._ahead.pop()
            if type(each.thing) is set:
                sets.append((each.thing, [self._value(item) for item in each.content]))
            else:
                self._fill(each.thing, each.content)
        for thing, members in sets:  # last, because a hash may depend on what a member holds
            thing.clear()
            thing.update(members)
        return value

    def _value(self, note: Any) -> Any:
        if isinstance(note, _Tuple):
            return tuple(map(self._value, note.items))
        if not isinstance(note, _Note):
            return note
        if id(note) not in self._done:
            self._done[id(note)] = self._written(note)
        return self._done[id(note)]

    def _written(self, note: _Note) -> Any:
        thing, content = note.thing, note.content
        if content is _Whose:
            return thing
        if isinstance(content, TensorNote):
            return content.put_into(thing)
        if isinstance(thing, np.ndarray):
            return _array_with(thing, content)
        if isinstance(content, _OfPart):
            content.part.set(content.state)
        else:
            self._ahead.append(note)
        return thing

    def _fill(self, thing: Any, content: Any) -> None:
        if type(thing) in MAPPINGS:
            items = [(key, self._value(note)) for key, note in content]
            thing.clear()
            for key, item in items:  # Counter.update would add
                thing[key] = item
        elif isinstance(content, dict):
            values = {key: self._value(note) for key, note in content.items()}
            vars(thing).clear()
            vars(thing).update(values)
        else:
            members = [self._value(note) for note in content]
            thing.clear()
            thing.extend(members)


def _part_of(value: Any) -> Part | None:
    """The part of a thing that has a state of its own."""
    if isinstance(value, GENERATORS):
        return torch_part(value)
    if isinstance(value, nn.Module):
        return module_part(value)
    return None


def _array_with(array: Any, content: Any) -> Any:
    if array.shape != content.shape or not array.flags.writeable:
        return content.copy()
    array[...] = content
    return array
