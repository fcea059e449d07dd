"""Which objects of a script are nothing but data, such as a meter of losses."""

from __future__ import annotations

import random
import sys
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Iterable
from enum import Enum
from importlib.machinery import EXTENSION_SUFFIXES
from io import IOBase
from pathlib import PurePath
from types import BuiltinFunctionType, FunctionType, SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.utils.data import DataLoader, Dataset, Sampler

__all__ = ["is_record"]

_DATA: tuple[type, ...] = (
    *(Tensor, np.ndarray, nn.Module, torch.Generator, random.Random),
    *(np.random.Generator, np.random.RandomState),
)
_FIXED: tuple[type, ...] = (
    *(type(None), bool, int, float, complex, str, bytes, range, slice, frozenset, type, Enum),
    *(PurePath, FunctionType, BuiltinFunctionType, np.generic, np.dtype),
    *(torch.dtype, torch.device, torch.Size),
)
_CONTAINERS = (dict, OrderedDict, defaultdict, Counter, list, tuple, set, deque)
_OTHERS = (Dataset, DataLoader, Sampler, Optimizer, IOBase)  # large, or with parts of their own
_FRAMEWORKS = {"torch", "lightning", "lightning_fabric", "lightning_utilities", "torchmetrics"}
_FRAMEWORKS |= {"pytorch_lightning", "transformers", "accelerate", "dynhp", "dynhp_torch"}


class _Bare:
    """Has nothing but names."""


def is_record(value: Any, known: dict[int, bool] | None = None) -> bool:
    """Whether an object of a script holds nothing but data, so that it can be put back whole.

    One that holds a file, a connection or a part of a framework, at any depth, is not: what is
    outside of the process would not go back with it.

    Args:
        value: the object.
        known: by ``id``, what is known of objects already. Objects that are taken care of elsewhere
            stand in it as True. What this call learns is added, so that many objects that hold
            each other are looked at once.

    >>> meter = SimpleNamespace(losses=[0.5]); is_record(meter)
    True
    >>> meter.log = open("/dev/null"); is_record(meter)
    False
    >>> meter.log.close()
    """
    known = {} if known is None else known
    if id(value) in known or not _may_be(value):
        return known.setdefault(id(value), False)
    holders: dict[int, int | None] = {id(value): None}
    ahead = [(id(value), item) for item in vars(value).values()]
    for holder, item in ahead:
        place = id(item)
        if place in holders or known.get(place) or isinstance(item, (*_FIXED, *_DATA)):
            continue
        holders[place] = holder
        if place not in known and type(item) in _CONTAINERS:
            ahead += [(place, each) for each in _items(item)]
        elif place not in known and _may_be(item):
            ahead += [(place, each) for each in vars(item).values()]
        else:
            up: int | None = place
            while up is not None:  # none of those on the way to it is a record
                known[up], up = False, holders[up]
            return False
    known.update(dict.fromkeys(holders, True))
    return True


def _may_be(value: Any) -> bool:
    """Whether it stores all that it has under names, and its class is of no framework."""
    kind = type(value)
    if kind is SimpleNamespace:
        return True
    # Whatever else an object holds, by slots or by a base written in C, makes it larger.
    bare = kind.__basicsize__ == _Bare.__basicsize__ and not issubclass(kind, SimpleNamespace)
    if not hasattr(value, "__dict__") or not bare or any(map(_is_compiled, kind.__mro__[:-1])):
        return False
    package = kind.__module__.partition(".")[0]
    return not isinstance(value, _OTHERS) and package not in _FRAMEWORKS


def _is_compiled(kind: type) -> bool:
    """Whether a class comes from a module without Python source; flags of classes do not say."""
    if kind.__module__ in sys.builtin_module_names:
        return True
    file = getattr(sys.modules.get(kind.__module__), "__file__", None) or ""
    return file.endswith(tuple(EXTENSION_SUFFIXES))


def _items(container: Any) -> Iterable[Any]:
    return container.values() if isinstance(container, dict) else container
