"""The way in for trainers: a policy, a trainer, a driver, and what looks on."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

# What only a run needs is loaded by the first run, because importing should be quick: packages load
# a module when one of its names is first asked for, and the functions below import the rest.
from dynhp import drivers, engine, executors
from dynhp._checks import (
    require_count,
    require_functions,
    require_instance,
    require_trainer,
    takes,
)
from dynhp._lazy import later
from dynhp.advice import give_hints
from dynhp.engine.memory import Memory, RunGenerator, first_memory
from dynhp.errors import SettingsError, advise, shown
from dynhp.policy import Policy, PolicyFields, named_fields, policy_from
from dynhp.proposers import FullGrid
from dynhp.proposers.contract import searched_text
from dynhp.read_back import same_value
from dynhp.records import Candidate, History, Round
from dynhp.records.events import Callback
from dynhp.spaces import SpaceLike
from dynhp.start import (
    changed_by,
    hint_at_edges,
    hint_at_length,
    longest_run,
    policy_for,
    require_sendable,
    require_total,
    require_waves,
    with_until,
)
from dynhp.trainer import ReadsBack, Reseeds, Trainer, trained_unit
from dynhp.triggers import Trigger
from dynhp.turns import OneAtATime, Turn

if TYPE_CHECKING:
    from typing import Unpack

    from dynhp.engine.commands import Commands, Middleware
    from dynhp.middleware.display import Display, RunBegins

__all__ = ["Callback", "DynamicGridAdapter"]


class DynamicGridAdapter:
    """Adapts hyperparameters while a trainer trains: Algorithm 1 of the AdaGrid paper, and beyond.

    Every few epochs, each candidate is tried on a copy of the state; one copy is kept.

    Args:
        trainer: what trains; see ``dynhp.trainer.Trainer``.
        space: the hyperparameters and their values, unless the policy has them.
        policy: everything that decides the run; see ``dynhp.Policy``.
        executor: what carries out the tries; one after the other by default.
        epochs: the planned epochs, needed if only ``step`` is called.
        callbacks: one function or a list of them, called with each event of the run.
        middleware: what looks at each command of the run; see ``dynhp.middleware``.
        fields: fields of ``dynhp.Policy`` by their names, in place of a policy or of fields of it;
            ``adapt_every``, ``minimize`` and ``maximize`` in place of ``when`` and ``criterion``.

    >>> from dynhp import lowest
    >>> from dynhp.testing import Quadratic
    >>> adapter = DynamicGridAdapter(Quadratic(), {"lr": [0.01, 0.1, 1.0]},
    ...                              criterion=lowest("loss"), adapt_every=5, try_for=1)
    >>> [round_.candidate["lr"] for round_ in adapter.run(20)]
    [1.0, 1.0, 1.0, 1.0]
    """

    @named_fields(PolicyFields)
    def __init__(
        self,
        trainer: Trainer,
        space: SpaceLike | None = None,
        *,
        policy: Policy | None = None,
        executor: executors.Executor | None = None,
        epochs: int | None = None,
        callbacks: Callback | Sequence[Callback] = (),
        middleware: Sequence[Middleware] = (),
        **fields: Unpack[PolicyFields],
    ) -> None:
        listed: Any = (callbacks,) if callable(callbacks) else callbacks
        require_functions("callbacks", listed, "functions of an event")
        require_trainer(trainer)
        _require_middleware(middleware)
        policy = policy_from(policy, {"space": space, **fields}, caller="DynamicGridAdapter")
        executor = executors.Serial() if executor is None else executor
        require_instance("executor", executor, executors.Executor, "an Executor such as Serial()")
        require_sendable(policy, executor)
        self.trainer = trainer
        self.policy = policy_for(policy, trainer)
        self.epochs = None if epochs is None else require_count("epochs", epochs)
        self.callbacks: tuple[Callback, ...] = tuple(listed)
        self.middleware: tuple[Middleware, ...] = (self._told, *middleware)
        self.described: dict[str, str] = {}  # the policy in words, once a round has begun
        self.per_epoch = 1  # how many values of a schedule an epoch has; hooks may move them more
        start = self.policy.space.candidate(self.policy.initial or {})
        self._unit = trained_unit(trainer)
        require_waves(self.policy, start, planned=self.epochs, unit=self._unit)
        self.memory: Memory = first_memory(start, seed=self.policy.seed)
        self.table = drivers.StateTable(trainer, self.policy.snapshots.store())
        self.executor = executor
        self.driver: drivers.Driver = drivers.TrainerDriver(trainer, self.table, executor)
        self.hints = give_hints(
            self.policy.space, policy.criterion, trainer, tail=policy.tail is not None
        )
        self._can_reseed = isinstance(trainer, Reseeds)
        self._rng = RunGenerator()
        self._guard = OneAtATime()

    def __repr__(self) -> str:
        policy, every = self.policy, self.policy.adapt_every
        when = f"when={policy.when!r}" if every is None else f"adapt_every={every}"
        return (
            f"DynamicGridAdapter({policy.space!r}, {policy.criterion!r}, {when}, "
            f"try_for={policy.try_for}, {_search_text(policy, self.current)}epoch={self.epoch})"
        )

    @property
    def history(self) -> History:
        """The rounds so far."""
        return History(self.memory.rounds[:])

    @property
    def epoch(self) -> int:
        """The epochs of the main line so far."""
        return self.memory.epoch

    @property
    def current(self) -> Candidate:
        """The value in force: that of the last round, or the one at the start."""
        return self.memory.current

    @property
    def is_over(self) -> bool:
        """Whether the main line has all its planned epochs, or has ended before by ``until``.

        Not while a rescue is due at its end.
        """
        return self.epochs is not None and engine.is_over(self.policy, self.memory, self.epochs)

    @property
    def check_is_due(self) -> bool:
        """Whether the next round with tries carries out one of them twice more, to compare."""
        return engine.check_is_due(self.policy, self.memory)

    def run(
        self,
        epochs: int | None = None,
        *,
        at_most: int | None = None,
        until: Trigger | None = None,
        progress: bool | Display = False,
    ) -> History:
        """Train until the main line has that many epochs; ``progress`` shows how far it is.

        With ``until``, here or in the policy, it ends when that says so, at the latest after
        ``at_most`` epochs.
        """
        for _ in self.rounds(epochs, at_most=at_most, until=until, progress=progress):
            pass
        return self.history

    def rounds(
        self,
        epochs: int | None = None,
        *,
        at_most: int | None = None,
        until: Trigger | None = None,
        progress: bool | Display = False,
    ) -> Iterator[Round]:
        """Like ``run``, a round at a time; a round without tries is one too."""
        from dynhp.middleware.display import chosen_display

        policy = self.policy
        if until is None and self.memory.rounds and self.memory.rounds[-1].ended:
            advise(
                f"the run has ended by until={shown(policy.until)} after {self.epoch}; nothing is "
                "trained unless another rule is given, as run(at_most=..., until=...)",
                about=object(),  # each run is another
            )
        length: object = epochs
        if until is not None:
            policy = with_until(policy, until, self.trainer)
        if until is not None or at_most is not None:
            length = longest_run(epochs, at_most, policy.until)
        total = require_total(length, self.epoch)
        return self._rounds_until(total, policy, chosen_display(progress))

    def _rounds_until(
        self, epochs: int, policy: Policy, display: Display | None
    ) -> Iterator[Round]:
        self._guard.require_free()  # a round under way keeps its plan
        if policy is not self.policy:
            self.policy, self.described = policy, {}
            self.memory = self.memory._replace(line=None)  # it may have noted less than is read now
        if self.memory.rounds:
            hint_at_length(self.policy, self.epochs, epochs)
        self.epochs = epochs
        with self.showing(display):
            while not self.is_over:
                yield self.step()

    def step(self) -> Round:
        """Carry out one round; if anything goes wrong, the trainer is back where it started."""
        with self.turn():
            self.driver.carry_out(self.commands(), self.memory, self.take)
        self.hint_at_edges()
        newest: Round = self.memory.rounds[-1]
        return newest

    def report(self, path: str | os.PathLike[str], *, title: str | None = None) -> None:
        """Write a page of the run so far: its rounds, plan, settings, versions and command.

        ``docs/reading-a-report.md`` says how it is read. The title is the name of the file unless
        one is given.
        """
        later("dynhp.report.page.html", "report_run")(path, self, title=title)

    def state_dict(self, *, since: int = 0) -> dict[str, Any]:
        """All that decides the adapter's own future, with the rounds from ``since`` on."""
        from dynhp.saved import state_of

        return state_of(self.policy, self.memory, self.epochs, self.table, since=since)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take back what ``state_dict`` gave; the trainer's state must be set back likewise."""
        self.load(state, compare_start=self.start_is_given(state))

    # ---- for drivers, loops and storage ----
    def load(self, state: Mapping[str, Any], *, compare_start: bool) -> None:
        """As ``load_state_dict``; whether the value at the start is compared is known already."""
        from dynhp.saved import memory_of, parse_state

        saved = parse_state(self.policy, state, compare_start=compare_start)
        held = [each.adopted(self.table) for each in saved.held]
        self.table.end_round({each.ref for each in held})
        self.table.here = None  # the trainer is set back from outside
        space = self.policy.space.given.including(saved.start)
        self.policy = replace(self.policy, space=space, initial=saved.start)
        self.memory = memory_of(saved, held)
        self.epochs = saved.epochs
        self.described = {}
        self._guard.ended = None

    def turn(self) -> Turn:
        """One round at a time, in a ``with`` block: two at once would undo each other's work."""
        return self._guard.enter()

    def commands(self, left_open: Round | None = None) -> Commands:
        """The next round for a driver, through all middleware, or one that was left open."""
        from dynhp.saved import policy_text

        self.described = self.described or policy_text(self.policy)
        conditions = engine.Conditions(
            self.epochs, self._unit, self._can_reseed, self._rng, self.described, self.per_epoch
        )
        commands = engine.one_round(self.policy, self.memory, conditions, left_open=left_open)
        for each in self.middleware:
            commands = each(commands, self.memory)
        return commands

    def take(self, memory: Memory) -> None:
        """A round has ended: from here on it has been, whatever interrupts."""
        self.memory = memory

    def hint_at_edges(self) -> None:
        """Give a hint if the best value of the last two rounds is the last one of its axis."""
        if not self.policy.dry_run:
            hint_at_edges(self.policy.space, self.memory.tried)

    @contextmanager
    def through(self, middleware: Middleware, *, first: bool = False) -> Iterator[None]:
        """Let commands of the rounds in this block pass through one more middleware.

        It is the last one that sees a command, before the driver; with ``first`` it is the first.
        """
        before = self.middleware
        self.middleware = (middleware, *before) if first else (*before, middleware)
        try:
            yield
        finally:
            self.middleware = before

    @contextmanager
    def showing(self, display: Display | None) -> Iterator[None]:
        """Show the rounds of this block on a display."""
        if display is None:
            yield
            return
        from dynhp.middleware.display import ShownRun

        run = ShownRun(display, self._begins)
        with self.through(run):
            try:
                yield
            except BaseException as failure:
                run.close(failure)
                raise
            finally:
                run.close(None)

    def _begins(self) -> RunBegins:
        from dynhp.middleware.display import RunBegins

        return RunBegins(
            policy=self.policy,
            history=self.history,
            values=self.current,
            planned=self.epochs,
            unit=self._unit,
            checked=self.memory.checked,
        )

    def _told(self, commands: Commands, memory: Memory) -> Commands:
        if not self.callbacks:
            return commands
        from dynhp.middleware.looking import told

        return told(self.callbacks)(commands, memory)

    def start_is_given(self, state: Any) -> bool:
        """Whether the start of this adapter is a setting, and not what the trainer said.

        Not if it joined the space, or if the trainer is in the saved state already.
        """
        policy, trainer = self.policy, self.trainer
        if policy.space is not policy.space.given:
            return False
        from dynhp.saved import values_left

        moving = () if policy.course is None else changed_by(policy.course, policy.space)
        left = values_left(state, {name: self.current[name] for name in moving})
        restored = self.current in left
        if self.memory.rounds or not restored or not isinstance(trainer, ReadsBack):
            return True
        in_force = trainer.hyperparameters()
        start = self.current
        return not all(
            name in in_force and same_value(in_force[name], start[name]) for name in start
        )


def _require_middleware(middleware: Any) -> None:
    """Refuse what cannot be called with the commands of a round and the memory before it."""
    listed = isinstance(middleware, Sequence) and not isinstance(middleware, str)
    if not listed or not all(callable(each) and takes(each, 2) for each in middleware):
        raise SettingsError(
            "middleware must be a list of functions of the commands of a round and the memory "
            f"before it, got {shown(middleware)}; write middleware=[looking(before=...)]"
        )


def _search_text(policy: Policy, current: Candidate) -> str:
    """What decides the tries besides the grid, if anything does: what is really searched."""
    grid = isinstance(policy.proposer, FullGrid)
    parts = {
        "proposer": None if grid else policy.proposer,
        "tail": policy.tail,
        "course": policy.course,
        "then": policy.then,
    }
    named = [f"{name}={part!r}" for name, part in parts.items() if part is not None]
    words = {
        name: searched_text(policy.proposer, axis, current[name])
        for name, axis in policy.space.items()
    }
    named += [f"{name} {text}" for name, text in words.items() if text is not None]
    return "".join(f"{each}, " for each in named)
