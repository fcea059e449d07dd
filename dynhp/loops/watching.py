"""The watch over a loop: what the code around it can reach by name, beside the state."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from dynhp.adapter import DynamicGridAdapter
from dynhp.errors import LoopError, advise
from dynhp.loops.epoch import Epoch, Passes
from dynhp.loops.parts import CopyOf, Parts
from dynhp.loops.text import never_used, not_reported, unreported, unreported_end
from dynhp.rounds.jobs import Job, Outcome
from dynhp.rounds.steps import TrainStretch
from dynhp.selfcheck.names import loop_names
from dynhp.selfcheck.reach import in_reach
from dynhp.selfcheck.things import kind_of
from dynhp.selfcheck.watch import Watch
from dynhp.tails.lengths import tail_epochs, try_epochs
from dynhp.trainer import Trainer

__all__ = [
    "is_judged",
    "is_unrecorded",
    "names_of",
    "require_reported",
    "require_used",
    "require_watched",
    "rescues",
    "watched",
]


def watched(
    trainer: Trainer,
    parts: Parts,
    *,
    inside: Sequence[Any],
    read: Callable[[Any], Callable[[], Any] | None],
) -> Trainer:
    """Give a loop's trainer the watch over what is in reach, and the names of its parts."""
    made: Any = trainer
    said: set[Any] = set()  # a hint comes once in a run, whatever its numbers are then
    made.watch = lambda tolerance: Watch(
        lambda: in_reach(loop_names()), inside, read, tolerance=tolerance, said=said
    )
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


def is_judged(job: Job, outcome: Outcome) -> bool:
    """Whether a try has a report, and where it has a tail, one in there."""
    last = outcome.reported[-1] if outcome.reported else len(outcome.series)
    return last > (job.epochs if job.tail else 0)


def is_unrecorded(work: TrainStretch, epoch: int) -> bool:
    """Whether a stretch that was left has epochs, or a failure, that no round holds yet."""
    return work.failure is not None or work.start + work.epochs > epoch


def require_reported(adapter: DynamicGridAdapter, start: int, steps: int) -> None:
    """Refuse a try without a report, except where the end of the run has made it shorter.

    So many steps as a try has hold a report, or none could be judged; fewer need not hold one.
    """
    if adapter.epochs is None or adapter.epochs - adapter.epoch >= try_epochs(adapter):
        raise LoopError(unreported(start, steps))
    advise(unreported_end(start, steps))


def require_used(passes: Passes, bound: Collection[str]) -> None:
    """Refuse a hyperparameter that is not bound, and that no pass of a whole try has read."""
    for name in passes.values:
        if name not in bound and name not in passes.read:
            raise LoopError(never_used(name))


def require_watched(
    adapter: DynamicGridAdapter, work: TrainStretch, epoch: Epoch, *, silent: int, unit: str
) -> None:
    """Refuse a main line that is not reported though a trigger watches it.

    ``silent`` is for how many passes in a row it was not. Steps are measured now and then, but at
    least once in as many as a try has: otherwise no try could be judged either.
    """
    if work.watch is None or not work.watch.needs_metrics:
        return
    if silent > (0 if unit == "epochs" else max(1, try_epochs(adapter) + tail_epochs(adapter))):
        raise LoopError(not_reported(adapter.when, epoch, silent, unit))


def rescues(work: TrainStretch) -> bool:
    """Whether an exception in this stretch begins a round instead of ending the run."""
    return work.watch is not None and work.watch.rescues()
