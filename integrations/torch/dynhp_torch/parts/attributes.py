"""What objects keep in plain attributes: numbers, lists, tensors, generators; the rest stays."""

from __future__ import annotations

import copy
import random
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from dynhp.loops import Part
from dynhp_torch.parts.modules import module_part
from dynhp_torch.parts.torch_part import torch_part

__all__ = ["GENERATORS", "Unseen", "attributes_part", "frozen", "is_plain"]

_ATOMS = (type(None), bool, int, float, complex, str, bytes, torch.dtype, torch.device)
_MAPPINGS = (dict, OrderedDict, defaultdict, Counter)
_CONTAINERS = (list, tuple, set, deque, *_MAPPINGS)
GENERATORS = (torch.Generator, np.random.Generator, np.random.RandomState, random.Random)
# Of every module: they are in its own part, or wired once and for all.
_OF_MODULES = {"_parameters", "_buffers", "_modules", "_non_persistent_buffers_set", "training"}


class Unseen:
    """A state that is put back but not compared: attributes may hold times, names of files.

    >>> Unseen({"seconds": 3.5})
    Unseen(...)
    """

    __slots__ = ("state",)

    def __init__(self, state: Any) -> None:
        self.state = state

    def __repr__(self) -> str:
        return "Unseen(...)"

    def __reduce__(self) -> Any:
        # What a try leaves in weights and metrics is compared bit by bit; this is not.
        return Unseen, (None,)


class _Same:
    """Stands for an object whose content is not ours to copy: only which one it is."""

    __slots__ = ("thing",)

    def __init__(self, thing: Any) -> None:
        self.thing = thing


class _Inside:
    """A thing with a state of its own: which one it is, and its state."""

    __slots__ = ("part", "state", "thing")

    def __init__(self, thing: Any, part: Part) -> None:
        self.thing, self.part, self.state = thing, part, part.get()


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
    return _rebuilt(_noted(value, parameters=True))


def attributes_part(owners: Callable[[], Iterable[Any]], *, name: str, data: bool = True) -> Part:
    """All that these objects store under names, as one part; what others own stays as it is.

    Args:
        owners: gives the objects, the same ones in the same order each time.
        name: what messages call this part.
        data: whether lists, tensors and arrays are copied; without it only numbers, texts and
            generators are, as in a dataset, whose content does not change.

    >>> class Meter: pass
    >>> meter = Meter(); meter.steps, meter.losses = 1, [0.5]
    >>> part = attributes_part(lambda: [meter], name="the meter"); state = part.get()
    >>> meter.steps = 9; meter.losses.append(0.4); meter.new = True
    >>> part.set(state); vars(meter)
    {'steps': 1, 'losses': [0.5]}
    """

    def get() -> Unseen:
        return Unseen([_stored(owner, data) for owner in owners()])

    def set_state(state: Unseen) -> None:
        for owner, saved in zip(owners(), state.state, strict=True):
            _put_back(owner, saved, data)

    return Part(get=get, set=set_state, name=name)


def _names(owner: Any) -> dict[str, Any]:
    stored = vars(owner)
    if not isinstance(owner, nn.Module):
        return dict(stored)
    return {
        key: value
        for key, value in stored.items()
        if key not in _OF_MODULES and "_hooks" not in key
    }


def _stored(owner: Any, data: bool) -> dict[str, Any]:
    stored = _names(owner)
    if not data:
        stored = {k: v for k, v in stored.items() if isinstance(v, (*_ATOMS, *GENERATORS))}
    return {key: _noted(value) for key, value in stored.items()}


def _put_back(owner: Any, saved: dict[str, Any], data: bool) -> None:
    stored = vars(owner)
    if data:
        for key in _names(owner).keys() - saved.keys():
            del stored[key]
    for key, note in saved.items():
        stored[key] = _into(stored.get(key), note)


def _noted(value: Any, parameters: bool = False) -> Any:
    if isinstance(value, Tensor):
        own = isinstance(value, nn.Parameter) and not parameters  # its module takes care of it
        return _Same(value) if own else value.detach().clone()
    if isinstance(value, np.ndarray):
        return value.copy()
    if type(value) in _MAPPINGS:
        made = copy.copy(value)  # with the attributes that a module gives its state_dict
        made.update((key, _noted(item, parameters)) for key, item in value.items())
        return made
    if type(value) is deque:
        return deque((_noted(item, parameters) for item in value), value.maxlen)
    if type(value) in (list, tuple, set):
        return type(value)(_noted(item, parameters) for item in value)
    if isinstance(value, _ATOMS):
        return value
    if not parameters and isinstance(value, GENERATORS):
        return _Inside(value, torch_part(value))
    if not parameters and isinstance(value, nn.Module):
        return _Inside(value, module_part(value))
    return _Same(value)


def _rebuilt(note: Any) -> Any:
    if isinstance(note, _Same):
        return note.thing
    if isinstance(note, _Inside):
        note.part.set(note.state)
        return note.thing
    if isinstance(note, Tensor):
        return note.clone()
    if isinstance(note, np.ndarray):
        return note.copy()
    if type(note) in _MAPPINGS:
        made = copy.copy(note)
        made.update((key, _rebuilt(item)) for key, item in note.items())
        return made
    if type(note) is deque:
        return deque(map(_rebuilt, note), note.maxlen)
    if type(note) in (list, tuple, set):
        return type(note)(map(_rebuilt, note))
    return note


@torch.no_grad()
def _into(current: Any, note: Any) -> Any:
    """What was noted, in the container or tensor that is there, whom others may refer to."""
    value = _rebuilt(note)
    if type(current) is not type(value) or current is value:
        return value
    if type(value) in (list, deque):
        current.clear()
        current.extend(value)
    elif type(value) in (*_MAPPINGS, set):
        current.clear()
        current.update(value)
    elif isinstance(value, Tensor) and not isinstance(value, nn.Parameter):
        if current.shape != value.shape or current.dtype != value.dtype or current.requires_grad:
            return value
        current.copy_(value)
    else:
        return value
    return current
