"""What the core is told about torch: whose objects are whose, its files, its generators."""

from __future__ import annotations

import io
from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from dynhp.frameworks import Integration

__all__ = ["INTEGRATION"]


def _unpack(packed: bytes) -> Any:
    return torch.load(io.BytesIO(packed), weights_only=False)


def _hold_generators() -> Callable[[], None]:
    return partial(torch.set_rng_state, torch.get_rng_state())


INTEGRATION = Integration(
    package="dynhp_torch",
    frameworks=("torch",),
    for_users=("averaging",),
    loop_owners=("torch",),  # its decorators are around the loops of others
    own_adapt="is a torch object, and torch's generators belong to the state too; use adapt of "
    "dynhp_torch (pip install 'dynhp[torch]')",
    unpack=_unpack,
    hold_generators=_hold_generators,
)
