"""Middleware that looks at the main line epoch by epoch, and may end it after any of them."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import replace
from typing import Any, TypeAlias

from dynhp.engine.commands import Beat, Command, Commands, Middleware, Train, Trained
from dynhp.engine.memory import Memory
from dynhp.records import Metrics

__all__ = ["EpochLook", "each_epoch"]

EpochLook: TypeAlias = Callable[[int, Metrics], bool]
"""Called with the number of an epoch, from 0, and its metrics; true ends the main line there."""


def each_epoch(look: EpochLook) -> Middleware:
    """Middleware that calls ``look(epoch, metrics)`` after each epoch of the main line, in order.

    Where it returns true, the round ends: after that epoch, or, if that was one of a try, with the
    try. The epochs of a try are looked at when it is kept; those of other tries are not. Then the
    trainer is not asked to train any further in this round, and it is for the caller to begin no
    other one.

    Where a round starts from an earlier state, the numbers go back too.

    >>> from dynhp import DynamicGridAdapter
    >>> from dynhp.testing import Quadratic
    >>> def look(epoch, metrics):
    ...     print(epoch, metrics["loss"])
    ...     return metrics["loss"] < 0.01
    >>> adapter = DynamicGridAdapter(Quadratic(), {"lr": [0.1, 0.5]}, minimize="loss",
    ...                              adapt_every=5, try_for=1, middleware=[each_epoch(look)])
    >>> adapter.step().epochs
    0 0.125
    1 0.03125
    2 0.0078125
    3
    """

    def middleware(commands: Commands, memory: Memory) -> Commands:
        reply = None
        try:
            while True:
                try:
                    command = commands.send(reply)
                except StopIteration as end:
                    memory_after: Memory = end.value
                    return memory_after
                if isinstance(command, Train):
                    reply = yield from _looked_at(command, look)
                else:
                    reply = yield command
        finally:
            commands.close()

    return middleware


def _looked_at(command: Train, look: EpochLook) -> Generator[Command, Any, Trained]:
    """The same piece of the main line, trained epoch by epoch."""
    ends = False
    if command.from_try is not None and command.start == command.first:
        tried = command.so_far(Trained(epochs=0)).round
        ends = any(look(epoch, metrics) for epoch, metrics in tried.measured)
    whole = Trained(epochs=0)
    while whole.epochs < command.epochs and not ends:
        done = whole.epochs
        one = replace(
            command,
            epochs=1,
            start=command.start + done,
            scheduled=command.scheduled[done : done + 1],
            beat=_counted_from(done, command.beat),
        )
        trained: Trained = yield one
        whole = trained._replace(epochs=done + trained.epochs)
        if trained.failure is not None:
            return whole
        ends = any(look(epoch, metrics) for epoch, metrics in trained.measured)
    if not whole.epochs:  # which puts the values in force
        yield replace(command, epochs=0, scheduled=())
    return whole._replace(left=ends)


def _counted_from(done: int, beat: Beat | None) -> Beat | None:
    return None if beat is None else lambda epochs, metrics: beat(done + epochs, metrics)
