"""Middleware from functions: they see each command before it is answered, and its reply after."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dynhp.engine.commands import Command, Commands, Middleware, Tell
from dynhp.engine.memory import Memory
from dynhp.records.events import Callback

__all__ = ["looking", "pass_on", "told"]


def pass_on(
    commands: Commands,
    before: Callable[[Command], Command],
    after: Callable[[Command, Any], None] | None = None,
) -> Commands:
    """Pass on what ``before`` returns for each command, and call ``after`` with each reply."""
    reply = None
    try:
        while True:
            try:
                command = commands.send(reply)
            except StopIteration as end:
                memory: Memory = end.value
                return memory
            reply = yield before(command)
            if after is not None:
                after(command, reply)
    finally:
        commands.close()


def looking(
    before: Callable[[Command], None] | None = None,
    after: Callable[[Command, Any], None] | None = None,
) -> Middleware:
    """Middleware that calls ``before(command)`` and ``after(command, reply)`` for each command.

    It changes nothing. If it raises, the round is undone and the run ends.

    >>> from dynhp import DynamicGridAdapter
    >>> from dynhp.engine.commands import Attempt
    >>> from dynhp.testing import Quadratic
    >>> def print_attempts(command):
    ...     if isinstance(command, Attempt): print(command.job.candidate)
    >>> adapter = DynamicGridAdapter(
    ...     Quadratic(), {"lr": [0.1, 0.5]}, minimize="loss", adapt_every=4, try_for=1, check="off",
    ...     middleware=[looking(before=print_attempts)])
    >>> round_ = adapter.step()
    Candidate(lr=0.1)
    Candidate(lr=0.5)
    """

    def unchanged(command: Command) -> Command:
        if before is not None:
            before(command)
        return command

    def middleware(commands: Commands, memory: Memory) -> Commands:
        return pass_on(commands, unchanged, after)

    return middleware


def told(callbacks: Sequence[Callback]) -> Middleware:
    """Middleware that tells callbacks what happens: rounds that start, tries and rounds that end.

    >>> from dynhp import DynamicGridAdapter
    >>> from dynhp.testing import Quadratic
    >>> adapter = DynamicGridAdapter(
    ...     Quadratic(), {"lr": [0.1, 0.5]}, minimize="loss", adapt_every=4, try_for=1,
    ...     middleware=[told([lambda event: print(type(event).__name__)])])
    >>> round_ = adapter.step()
    RoundStarted
    Try
    Try
    Round
    """

    def tell(command: Command) -> None:
        if type(command) is Tell and command.final:
            for callback in callbacks:
                callback(command.event)

    return looking(before=tell)
