"""Displays: what a display must be able to do, and the middleware that shows it a run."""

from __future__ import annotations

import importlib
import math
import random
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any, Protocol, TypeAlias, runtime_checkable

from dynhp.engine.commands import Announce, Attempt, Command, Commands, Tell, Train
from dynhp.engine.memory import Memory
from dynhp.errors import Hint, SettingsError, advise, shown
from dynhp.middleware.looking import pass_on
from dynhp.policy import Policy
from dynhp.records import Candidate, Event, History, Metrics, Round, RoundStarted, Try
from dynhp.records.units import Unit

__all__ = ["Display", "Moment", "RunBegins", "ShownRun", "StretchBegins", "TriesBegin", "TryScored"]
__all__ += ["chosen_display"]

BEATS = 0.05
"""The least seconds between two beats: nothing faster can be seen, and the run must not wait."""
QUICK = 0.05
"""A quiet display is told only the start and the end of a round that takes fewer seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunBegins:
    """The first round is about to begin, or a run goes on after these rounds.

    >>> from dynhp import lowest, paper
    >>> from dynhp.records import History
    >>> policy = paper({"ratio": [0.2, 0.8]}, alpha=5, beta=1)
    >>> RunBegins(policy=policy, history=History(()), values=Candidate({"ratio": 0.2}), planned=20,
    ...           unit="epochs").planned
    20
    """

    policy: Policy
    history: History
    values: Candidate  # in force
    planned: int | None
    unit: Unit
    checked: bool = False  # whether this process has carried out a self-check already


@dataclass(frozen=True, slots=True, kw_only=True)
class TriesBegin:
    """Tries begin, or go on: their places in the round, their values, and epochs for each.

    The place is None if a try is repeated only to compare.

    >>> TriesBegin(places=(0, 1), candidates=(Candidate({"lr": 1}), Candidate({"lr": 2})), epochs=1)
    TriesBegin(places=(0, 1), candidates=(Candidate(lr=1), Candidate(lr=2)), epochs=1)
    """

    places: tuple[int | None, ...]
    candidates: tuple[Candidate, ...]
    epochs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StretchBegins:
    """The main line goes on: with which values, from which epoch, for how many at most.

    ``kept`` is the place of the try that it goes on from, or None if it goes on from the origin.

    >>> StretchBegins(candidate=Candidate({"lr": 1}), start=1, epochs=9, kept=0).epochs
    9
    """

    candidate: Candidate
    start: int
    epochs: int
    kept: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TryScored:
    """A try has a score; in a race it may get another one later.

    >>> from dynhp import complete_search, lowest
    >>> from dynhp.testing import Quadratic
    >>> [round_] = complete_search(Quadratic(), {"lr": [2, 3]}, criterion=lowest("loss"), epochs=1)
    >>> TryScored(place=1, try_=round_.tries[1]).try_.score
    -2.0
    """

    place: int
    try_: Try


Moment: TypeAlias = Event | TriesBegin | TryScored | StretchBegins
"""What a display is called with: the events of callbacks, and what happens between them."""


@runtime_checkable
class Display(Protocol):
    """Shows a run while it goes on: give it as ``progress=`` in place of True.

    It looks and changes nothing. If it raises, it is switched off and the run goes on. A display
    with an attribute ``quiet_until``, a time of ``time.monotonic()``, is told only the start and
    the end of very quick rounds until then.

    >>> from dynhp import DynamicGridAdapter, lowest
    >>> from dynhp.testing import Quadratic
    >>> class Dots:
    ...     def open(self, run): print(run.planned, run.unit, end=" ")
    ...     def __call__(self, moment): print("!" if isinstance(moment, TryScored) else ".", end="")
    ...     def beat(self, place, epochs, metrics): pass
    ...     def close(self, failure): print(" done")
    >>> history = DynamicGridAdapter(Quadratic(), {"lr": [0.1, 0.5]}, criterion=lowest("loss"),
    ...                              adapt_every=5, try_for=1).run(5, progress=Dots())
    5 epochs ...!.!.... done
    """

    def open(self, run: RunBegins) -> None:
        """The first round is about to begin."""
        ...

    def __call__(self, moment: Moment) -> None:
        """Something happened."""
        ...

    def beat(self, place: int | None, epochs: int, metrics: Metrics | None) -> None:
        """The try at ``place`` (None: the stretch) has trained ``epochs``; called now and then."""
        ...

    def close(self, failure: BaseException | None) -> None:
        """The run has ended, by ``failure`` if it is not None."""
        ...


def chosen_display(progress: Any) -> Display | None:
    """The display that the argument ``progress`` means; None: nothing is shown.

    >>> chosen_display("yes")
    Traceback (most recent call last):
    dynhp.errors.SettingsError: progress must be True, False or a display with open, beat and \
close, got 'yes'
    """
    if progress is False or progress is None:
        return None
    if progress is True:
        # Looked up here, because runs import no reports.
        default: Display = importlib.import_module("dynhp.report.live").LiveDisplay()
        return default
    if isinstance(progress, type) or not isinstance(progress, Display):
        raise SettingsError(
            "progress must be True, False or a display with open, beat and close, got "
            f"{shown(progress)}"
        )
    return progress


class ShownRun:
    """Middleware that shows a run to a display, and opens it when there is something to show."""

    def __init__(self, display: Display, begins: Callable[[], RunBegins]) -> None:
        self._display: Display | None = display
        self._begins = begins
        self._opened = False
        self._next_beat = 0.0  # not before
        self._pace = math.inf  # seconds of an epoch
        self._overhead = 0  # the most epochs that a round had in tries
        self._skips = False  # whether only the end of the round under way will be shown
        self._in_stretch = False

    def __call__(self, commands: Commands, memory: Memory) -> Commands:
        """Pass commands on, and let those that train beat after each epoch."""
        self._in_stretch = False
        return pass_on(commands, self._seen)

    def close(self, failure: BaseException | None) -> None:
        """The run has ended; a display that was never opened is not closed."""
        display, self._display = self._display, None
        if display is not None and self._opened:
            self._safely(display.close, failure)

    def beat(self, now: float, place: int | None, epochs: int, metrics: Metrics | None) -> None:
        """Pass a beat on, and then none for a while."""
        if now >= self._next_beat:
            if self._display is not None:
                self._safely(self._display.beat, place, epochs, metrics)
            self._next_beat = now + BEATS

    def _seen(self, command: Command) -> Command:
        """Show what a command means; return it, with a beat if it trains."""
        if self._display is None:
            return command
        if type(command) is Tell:
            self._told(command)
        elif self._skips:
            return command
        elif type(command) is Announce:
            jobs = command.jobs
            self._show(
                TriesBegin(
                    places=tuple(job.place for job in jobs),
                    candidates=tuple(job.candidate for job in jobs),
                    epochs=jobs[0].epochs,
                )
            )
            return Announce(tuple(replace(job, beat=Beating(self, job.place)) for job in jobs))
        elif type(command) is Attempt:
            return Attempt(replace(command.job, beat=Beating(self, command.job.place)))
        elif type(command) is Train:
            if not self._in_stretch:  # the first piece
                self._in_stretch = True
                self._show(
                    StretchBegins(
                        candidate=command.values,
                        start=command.start,
                        epochs=command.planned,
                        kept=command.from_try,
                    )
                )
            before = command.start - command.first
            return replace(command, beat=Beating(self, None, before=before))
        return command

    def _told(self, command: Tell) -> None:
        event = command.event
        if command.final and (not self._skips or isinstance(event, RoundStarted | Round)):
            self._show(event)
        if isinstance(event, RoundStarted):
            self._safely(self._look_ahead, event)
        elif isinstance(event, Round):
            self._skips = False
            self._pace = event.seconds / max(1, event.epochs + event.overhead)
            self._overhead = max(self._overhead, event.overhead)
        elif isinstance(event, Try) and command.place is not None and not self._skips:
            self._show(TryScored(place=command.place, try_=event))

    def _look_ahead(self, round_: RoundStarted) -> None:
        """Skip a round that will be over before its display shows anything again."""
        seconds = self._pace * (round_.epochs + self._overhead)
        quiet = getattr(self._display, "quiet_until", 0.0)
        self._skips = seconds < QUICK and monotonic() < quiet

    def _show(self, moment: Moment) -> None:
        if self._display is not None:
            self._safely(self._display, moment)

    def _safely(self, tell: Callable[..., None], *what: Any) -> None:
        """Call the display; if it raises, the run goes on without it."""
        try:
            if not self._opened and self._display is not None:
                self._opened = True
                state = random.getstate()  # importing rich draws from it, and a loop may use it
                try:
                    self._display.open(self._begins())
                finally:
                    random.setstate(state)
            tell(*what)
        except Exception as failure:
            self.close(failure)
            with suppress(Hint):  # even if warnings are errors, a display never ends a run
                advise(f"the display of this run is off, because it raised {shown(failure)}")


class Beating:
    """What a job or a stretch calls after each epoch; in another process it becomes None."""

    __slots__ = ("_before", "_place", "_run")

    def __init__(self, run: ShownRun, place: int | None, *, before: int = 0) -> None:
        self._run = run
        self._place = place
        self._before = before  # the epochs of the stretch before this piece

    def __call__(self, epochs: int, metrics: Metrics | None) -> None:
        """Tell the run how far this is; most calls only look at the clock."""
        self._run.beat(monotonic(), self._place, self._before + epochs, metrics)

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        return type(None), ()
