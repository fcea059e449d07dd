"""Where a round of the main line starts."""

from __future__ import annotations

from typing import NamedTuple

from dynhp.main_line.inner import InnerRule
from dynhp.trainer import State

__all__ = ["Origin"]


class Origin(NamedTuple):
    """Where a round starts: the state, after how many epochs, and how many were left behind.

    ``over`` says that a round that was begun is not to go on, because the next one is due;
    ``inner`` says which states inside of its tries are wanted, None: none of them.
    """

    state: State
    epoch: int
    abandoned: int
    over: bool = False
    inner: InnerRule | None = None
