"""The options of ``adapt`` that integrations pass on as they are, said once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypedDict

from dynhp.adapter import Callback
from dynhp.criteria import Criterion
from dynhp.main_line import Snapshots
from dynhp.proposers import Proposer
from dynhp.records import Value
from dynhp.selection import Selection
from dynhp.triggers import Trigger

__all__ = ["LoopOptions"]


class LoopOptions(TypedDict, total=False):
    """Keyword arguments of ``dynhp.adapt`` that mean the same in every framework.

    ``adapt`` of an integration takes them as ``**options: Unpack[LoopOptions]`` and hands them on;
    a test compares them with the arguments of ``dynhp.adapt``, where each is described.

    >>> options = LoopOptions(minimize="val_loss", seed=1)
    >>> options["seed"]
    1
    """

    when: Trigger | None
    start_from: Literal["here", "best", "before"]
    snapshots: Snapshots | None
    max_rounds: int | None
    max_rescues: int
    record_every: int | None
    steps: int | None
    criterion: Criterion | None
    minimize: str | None
    maximize: str | None
    proposer: Proposer | None
    selection: Selection | None
    keep: Literal["winner", "value"]
    keep_best: bool | Criterion
    randomness: Literal["common", "independent"] | None
    initial: Mapping[str, Value] | None
    seed: int
    callbacks: Callback | Sequence[Callback]
    check: Literal["first", "every", "off"]
    tolerance: float | None
    dry_run: bool
