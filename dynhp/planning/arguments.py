"""What presets give: keyword arguments of ``DynamicGridAdapter`` and ``adapt``, as types."""

from __future__ import annotations

from typing import Literal, TypedDict

from dynhp.criteria import Criterion
from dynhp.proposers import Proposer
from dynhp.selection import Selection
from dynhp.spaces import Axis, Ordered
from dynhp.tails import Correction, Tail
from dynhp.triggers import Trigger

__all__ = ["Arguments", "LadderArguments", "Recommendation", "SearchArguments"]


class Arguments(TypedDict):
    """Keyword arguments of ``DynamicGridAdapter`` and ``adapt``."""

    criterion: Criterion
    adapt_every: int
    try_for: int
    proposer: Proposer
    selection: Selection


class Recommendation(Arguments):
    """The same, with the space."""

    space: dict[str, Ordered]


class _Start(TypedDict, total=False):
    initial: dict[str, float]  # where a start was given; else the value in force is the start


class SearchArguments(_Start):
    """Keyword arguments of ``DynamicGridAdapter`` and ``adapt`` for a search before the run."""

    criterion: Criterion
    when: Trigger
    try_for: int
    tail: Tail
    keep: Literal["value"]
    then: Correction
    proposer: Proposer
    selection: Selection


class LadderArguments(SearchArguments):
    """The same, with the space."""

    space: dict[str, Axis]
