"""The watch over a loop: what the code around it can reach by name, beside the state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dynhp.adapter import DynamicGridAdapter
from dynhp.errors import LoopError
from dynhp.loops.epoch import Epoch
from dynhp.loops.parts import CopyOf, Parts
from dynhp.loops.text import not_reported
from dynhp.rounds.steps import TrainStretch
from dynhp.selfcheck.moment import kind_of
from dynhp.selfcheck.reach import in_reach, loop_names
from dynhp.selfcheck.watch import Watch
from dynhp.trainer import Trainer

__all__ = ["names_of", "require_watched", "rescues", "watched"]


def watched(
    trainer: Trainer,
    parts: Parts,
    *,
    inside: Sequence[Any],
    read: Callable[[Any], Callable[[], Any] | None],
) -> Trainer:
    """Give a loop's trainer the watch over what is in reach, and the names of its parts."""
    made: Any = trainer
    made.watch = lambda: Watch(lambda: in_reach(loop_names()), inside, read)
    made.part_names = [
        part.name or f"part {place} of the state" for place, part in enumerate(parts.parts)
    ]
    return trainer


def names_of(things: Sequence[Any]) -> list[str | None]:
    """The names under which the code around dynhp knows these things, None where it has none."""
    known: dict[int, str] = {}
    for name, thing in in_reach(loop_names()).items():
        known.setdefault(id(thing), name)
    objects = [thing.thing if isinstance(thing, CopyOf) else thing for thing in things]
    names = [known.get(id(thing)) for thing in objects]
    return [
        name and f"{name} ({kind_of(thing)})" for name, thing in zip(names, objects, strict=True)
    ]


def require_watched(
    adapter: DynamicGridAdapter, work: TrainStretch, epoch: Epoch, *, silent: int, unit: str
) -> None:
    """Refuse a main line that is not reported though a trigger watches it.

    ``silent`` is for how many passes in a row it was not. Steps are measured now and then, but at
    least once in as many as a try has: otherwise no try could be judged either.
    """
    if work.watch is None or not work.watch.needs_metrics:
        return
    if silent > (0 if unit == "epochs" else adapter.try_for):
        raise LoopError(not_reported(adapter.when, epoch, silent, unit))


def rescues(work: TrainStretch) -> bool:
    """Whether an exception in this stretch begins a round instead of ending the run."""
    return work.watch is not None and work.watch.rescues()
