"""Which objects of a script are nothing but data, such as a meter of losses."""

from __future__ import annotations

import random
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Iterable, Sequence
from enum import Enum
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
_OTHERS = (Dataset, DataLoader, Sampler, Optimizer)  # large, or with parts of their own
_MADE_IN_PYTHON = 1 << 9  # the flag of a class that a class statement has made
_FRAMEWORKS = {"torch", "lightning", "lightning_fabric", "lightning_utilities", "torchmetrics"}
_FRAMEWORKS |= {"pytorch_lightning", "transformers", "accelerate", "dynhp", "dynhp_torch"}


def is_record(value: Any, covered: Sequence[Any] = ()) -> bool:
    """Whether an object of a script holds nothing but data, so that it can be put back whole.

    One that holds a file, a connection or a part of a framework, at any depth, is not: what is
    outside of the process would not go back with it. What is covered does not count.

    >>> meter = SimpleNamespace(losses=[0.5]); is_record(meter)
    True
    >>> meter.log = open("/dev/null"); is_record(meter)
    False
    >>> meter.log.close()
    """
    if not _may_be(value):
        return False
    seen = {id(each) for each in (*covered, value)}
    ahead = list(vars(value).values())
    for item in ahead:
        if id(item) in seen or isinstance(item, (*_FIXED, *_DATA)):
            continue
        seen.add(id(item))
        if type(item) in _CONTAINERS:
            ahead += _items(item)
        elif _may_be(item):
            ahead += vars(item).values()
        else:
            return False
    return True


def _may_be(value: Any) -> bool:
    """Whether it stores all that it has under names, and its class is of no framework."""
    kind = type(value)
    if kind is SimpleNamespace:
        return True
    made_here = all(each.__flags__ & _MADE_IN_PYTHON for each in kind.__mro__[:-1])
    slots = any("__slots__" in vars(each) for each in kind.__mro__)
    if not hasattr(value, "__dict__") or not made_here or slots:
        return False
    package = kind.__module__.partition(".")[0]
    return not isinstance(value, _OTHERS) and package not in _FRAMEWORKS


def _items(container: Any) -> Iterable[Any]:
    return container.values() if isinstance(container, dict) else container
