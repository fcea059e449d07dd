"""The commands of the engine: what answers them in tests, and how they are written down."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from dynhp import DynamicGridAdapter
from dynhp.engine.commands import (
    Agree,
    Announce,
    Attempt,
    Command,
    Drop,
    Hold,
    Job,
    Keep,
    Look,
    Reach,
    Reached,
    Restore,
    Snapshot,
    StartFrom,
    StateRef,
    Tell,
    Train,
    Tried,
)
from dynhp.middleware import looking
from dynhp.records import Metrics, Round, RoundStarted, Try
from dynhp.selfcheck.fingerprint import fingerprint

T = TypeVar("T")


def answered(commands: Generator[Command, Any, T], answer: Callable[[Command], Any]) -> T:
    """Carry out commands by a function of each, and give back what they return."""
    reply = None
    while True:
        try:
            command = commands.send(reply)
        except StopIteration as end:
            result: T = end.value
            return result
        reply = answer(command)


@dataclass
class ScriptedWatcher:
    """A watcher that gives what it is made with, and counts how often a first try has ended."""

    left: Sequence[str] = ()
    likely: Sequence[str] = ()
    other: Sequence[str] = ()
    firsts: list[None] = field(default_factory=list)


@dataclass
class CheckAnswers:
    """Answers the commands of a self-check: states are whatever a test says they are."""

    watch: ScriptedWatcher = field(default_factory=ScriptedWatcher)
    part_names: Sequence[str] = ()
    in_a_loop: bool = True
    agree: Callable[[Any], list[Any]] = lambda said: [said]
    repeats: list[Tried] = field(default_factory=list)  # what comes of jobs that are asked for
    commands: list[Command] = field(default_factory=list)  # all of them so far
    states: dict[StateRef, Any] = field(default_factory=dict)

    def tried(
        self, state: Any, *series: Metrics, error: str | None = None, epochs: int = 2, **more: Any
    ) -> Tried:
        """A job that came to this, with a name for its state."""
        ref = StateRef(len(self.states) + 1)
        self.states[ref] = state
        return Tried(series=series, epochs=epochs, error=error, end=ref, kept=ref, **more)

    def __call__(self, command: Command) -> Any:
        """Answer one."""
        self.commands.append(command)
        if isinstance(command, Look):
            state = self.states[command.ref]
            return None if state is UNSEEN else fingerprint(state, tolerance=command.tolerance)
        if isinstance(command, Agree):
            return self.agree(command.said)
        if isinstance(command, Attempt):
            return self.repeats.pop(0) if len(self.repeats) > 1 else self.repeats[0]
        if isinstance(command, Reach):
            return self._reached(command.moment)
        return None

    def _reached(self, moment: str) -> Reached:
        if moment == "first try":
            self.watch.firsts.append(None)
        elif moment == "differs":
            return Reached(
                suspects=self.watch.likely, part_names=self.part_names, in_a_loop=self.in_a_loop
            )
        elif moment == "equal":
            return Reached(
                left_behind=self.watch.left, hints=self.watch.other, in_a_loop=self.in_a_loop
            )
        return Reached()


UNSEEN = object()
"""A state into which nobody can look any more."""


def protocol_of(adapter: DynamicGridAdapter) -> list[str]:
    """Carry out one round, and write its commands down, one line each."""
    written = Written()
    with adapter.through(looking(after=written)):
        adapter.step()
    return written.lines


class Written:
    """Writes commands and replies down; states are called A, B, ... in the order they appear."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._names: dict[StateRef, str] = {}

    def __call__(self, command: Command, reply: Any) -> None:
        """Write one down."""
        self.lines.append(self._line(command, reply))

    def _name(self, ref: StateRef) -> str:
        return self._names.setdefault(ref, chr(ord("A") + len(self._names)))

    def _line(self, command: Command, reply: Any) -> str:
        name = type(command).__name__
        if isinstance(command, Snapshot):
            return f"Snapshot -> {self._name(reply)}"
        if isinstance(command, Announce):
            return f"Announce {len(command.jobs)}"
        if isinstance(command, Attempt):
            return f"Attempt {self._job(command.job)} -> {self._tried(reply)}"
        if isinstance(command, Restore):
            seeded = "" if command.seed is None else ", seeded"
            return f"Restore {self._name(command.ref)}{seeded}"
        if isinstance(command, Keep):
            inner = "" if reply is None else f" -> inner {self._name(reply.ref)}"
            return f"Keep {self._name(command.ref)}{inner}"
        if isinstance(command, Hold | Look | Drop | StartFrom):
            return f"{name} {self._name(command.ref)}"
        if isinstance(command, Train):
            return f"Train {_values(command.values)} {_range(command)}{_came_to(reply)}"
        if isinstance(command, Tell):
            return f"Tell {_event(command.event)}{'' if command.final else ' so far'}"
        if isinstance(command, Reach):
            return f"Reach {command.moment}"
        assert isinstance(command, Agree)
        return f"Agree {command.said}"

    def _job(self, job: Job) -> str:
        tail = f" + {len(job.tail)}" if job.tail else ""
        again = ", again" if job.repeat else ""
        return f"{_values(job.candidate)} {job.epochs}{tail} from {self._name(job.origin)}{again}"

    def _tried(self, tried: Tried) -> str:
        if tried.error is not None:
            return tried.error
        if tried.kept == tried.end:
            return self._name(tried.end)
        return f"{self._name(tried.kept)}, {self._name(tried.end)} at its end"


def _values(values: Any) -> str:
    return ", ".join(f"{name}={value}" for name, value in values.items())


def _range(command: Train) -> str:
    return f"{command.start}:{command.start + command.epochs}"


def _came_to(trained: Any) -> str:
    return "" if trained.failure is None else f" -> {trained.failure}"


def _event(event: Any) -> str:
    if isinstance(event, RoundStarted):
        return f"round {event.index} starts"
    if isinstance(event, Round):
        return f"round {event.index} ends"
    assert isinstance(event, Try)
    return f"try {_values(event.candidate)}"
