"""How the state of a torch object outside a run's state is read, to notice a change of it."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import Any

import torch
from torch import nn
from torch.nn.parameter import is_lazy
from torch.optim import Optimizer
from torch.utils.data import DataLoader

from dynhp.selfcheck.things import read_state as read_other_state
from dynhp_torch.parts.optimizers import optimizer_part
from dynhp_torch.parts.shards import local, reshard

__all__ = ["read_state"]

_LARGEST = 2**30  # bytes of a module, beyond which looking at it costs more than it is worth


def read_state(thing: Any) -> Callable[[], Any] | None:
    """Give a function that reads the thing's own state, or None where it has none.

    Of a module its tensors are read, not its gradients and modes, which each step makes anew. A
    loader is not asked: some make an iterator on that occasion; its generators are seen by name.

    >>> layer = nn.Linear(2, 1)
    >>> read = read_state(layer); sorted(read())
    ['bias', 'weight']
    """
    if isinstance(thing, nn.Module):
        tensors = chain(thing.parameters(), thing.buffers())
        small = sum(tensor.nbytes for tensor in tensors if not is_lazy(tensor)) <= _LARGEST
        return (lambda: _tensors(thing)) if small else None
    if isinstance(thing, Optimizer):
        return optimizer_part(thing).get
    if isinstance(thing, DataLoader):
        return None
    return read_other_state(thing)


def _tensors(module: nn.Module) -> dict[str, torch.Tensor]:
    reshard(module)
    named = chain(module.named_parameters(), module.named_buffers())
    return {name: local(tensor).detach() for name, tensor in named if not is_lazy(tensor)}
