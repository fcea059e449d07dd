"""How a run leads to its display what it does, without waiting for it or falling with it."""

from __future__ import annotations

import functools
import math
import random
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from time import monotonic
from typing import Any, Concatenate, ParamSpec, TypeAlias

from dynhp.display.contract import (
    Display,
    Moment,
    StretchBegins,
    TriesBegin,
    TryScored,
    default_display,
)
from dynhp.errors import Hint, SettingsError, advise, shown
from dynhp.records import Metrics, Round, RoundStarted, Try, Unit
from dynhp.rounds.jobs import Job, Outcome
from dynhp.rounds.steps import CarryOutTries, JobStage, Step
from dynhp.trainer import trained_unit

__all__ = ["shown_on", "shows_steps"]

BEATS = 0.05
"""Seconds from one beat to the next at least: nobody sees more, and a run must not wait for it."""
QUICK = 0.05
"""Seconds: of a round that will be over sooner, a display that wants to be quiet sees the ends."""


def shown_on(adapter: Any, progress: bool | Display) -> AbstractContextManager[None]:
    """Show the rounds of an adapter on a display, from the first of them to the end of the block.

    >>> with shown_on(None, "yes"): pass
    Traceback (most recent call last):
    dynhp.errors.SettingsError: progress must be True, False or a display with open, beat and \
close, got 'yes'
    """
    if progress is False or progress is None:
        return nullcontext()
    if progress is not True and (isinstance(progress, type) or not isinstance(progress, Display)):
        raise SettingsError(
            "progress must be True, False or a display with open, beat and close, got "
            f"{shown(progress)}"
        )
    display = default_display() if progress is True else progress
    return _shown(adapter, display, trained_unit(adapter.trainer))


@contextmanager
def _shown(adapter: Any, display: Display, unit: Unit) -> Iterator[None]:
    before, lead = adapter.callbacks, Lead(adapter, display, unit)
    adapter.callbacks = (*before, lead)
    try:
        yield
    except BaseException as failure:
        lead.close(failure)
        raise
    finally:
        adapter.callbacks = before
        lead.close(None)


class Lead:
    """Leads what a run does to its display, which is opened by the first of it."""

    def __init__(self, adapter: Any, display: Display, unit: Unit) -> None:
        self._open: Callable[[], None] | None = functools.partial(display.open, adapter, unit=unit)
        self._display: Display | None = display
        self.next_beat = 0.0  # not before
        self._pace, self._overhead = math.inf, 0  # seconds of an epoch, the most epochs in tries
        self._skips = False  # whether the round under way is seen at its ends only

    def __call__(self, moment: Moment) -> None:
        """Hand on what happened."""
        display = self._display
        if display is None or (self._skips and type(moment) is Try):
            return
        self._safely(display, moment)
        if type(moment) is RoundStarted:
            self._safely(self._look_ahead, display, moment)
        elif type(moment) is Round:
            self._skips = False
            self._pace = moment.seconds / max(1, moment.epochs + moment.overhead)
            self._overhead = max(self._overhead, moment.overhead)

    def _look_ahead(self, display: Display, round_: RoundStarted) -> None:
        """Whether a round is over before its display shows anything again."""
        seconds = self._pace * (round_.epochs + self._overhead)
        quiet = getattr(display, "quiet_until", 0.0)
        self._skips = seconds < QUICK and monotonic() < quiet

    def beat(self, now: float, place: int | None, epochs: int, metrics: Metrics | None) -> None:
        """Hand on a beat, and none for a while."""
        if self._display is not None:
            self._safely(self._display.beat, place, epochs, metrics)
        self.next_beat = now + BEATS

    def close(self, failure: BaseException | None) -> None:
        """The run has ended; a display that was never opened is not closed."""
        display, self._display = self._display, None
        if display is not None and self._open is None:
            self._safely(display.close, failure)

    def lead(self, step: Step) -> None:
        """Hand on that a step begins, and let it beat."""
        if self._skips:
            return
        if isinstance(step, CarryOutTries):
            step.stage = ShownStage(step.stage, self)
            return
        step.beat = Beating(self, None)
        begins = StretchBegins(
            candidate=step.candidate, start=step.start, epochs=step.epochs, kept=step.kept
        )
        self(begins)

    def _safely(self, tell: Callable[..., None], *what: Any) -> None:
        try:
            if self._open is not None:
                open_, self._open = self._open, None
                with _same_random_numbers():
                    open_()
            tell(*what)
        except Exception as failure:
            self._switch_off(failure)

    def _switch_off(self, failure: Exception) -> None:
        self.close(failure)
        with suppress(Hint):  # where warnings are errors, a display still ends no run
            advise(f"the display of this run is off, because it raised {shown(failure)}")


@contextmanager
def _same_random_numbers() -> Iterator[None]:
    """Leave Python's generator as it was: who imports rich draws from it, and a loop goes on."""
    state = random.getstate()
    try:
        yield
    finally:
        random.setstate(state)


class Beating:
    """What a job or a stretch calls after each epoch; a copy in another process is nothing."""

    __slots__ = ("_lead", "_place")

    def __init__(self, lead: Lead, place: int | None) -> None:
        self._lead, self._place = lead, place

    def __call__(self, epochs: int, metrics: Metrics | None) -> None:
        """So many epochs are done; mostly nothing more than a look at the clock comes of it."""
        now = monotonic()
        if now >= self._lead.next_beat:
            self._lead.beat(now, self._place, epochs, metrics)

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        return type(None), ()


class ShownStage:
    """A stage of tries that is shown: what it does is what the stage inside does."""

    def __init__(self, stage: JobStage, lead: Lead) -> None:
        self._stage, self._lead, self._taken = stage, lead, 0

    def jobs(self) -> list[Job]:
        """Those of the stage inside, which now beat."""
        jobs, places = self._stage.jobs(), self._stage.places()
        candidates = tuple(job.candidate for job in jobs)
        self._lead(TriesBegin(places=tuple(places), candidates=candidates, epochs=jobs[0].epochs))
        for job, place in zip(jobs, places, strict=True):
            # A job of our own, made anew by the stage; a copy would cost more than all the rest.
            object.__setattr__(job, "beat", Beating(self._lead, place))
        return jobs

    def begun(self) -> list[int]:
        """As inside."""
        return self._stage.begun()

    def places(self) -> list[int | None]:
        """As inside."""
        return self._stage.places()

    def take_outcome(self, outcome: Outcome) -> None:
        """As inside; then the score is known."""
        self._stage.take_outcome(outcome)
        tries = getattr(self._stage, "tries", ())  # a repeat is nobody's try
        if tries:
            scored = tries[self._taken]
            self._taken += 1
            self._lead(TryScored(place=scored.place, try_=scored.record))


Given = ParamSpec("Given")
Steps: TypeAlias = Generator[Step, None, None]


def shows_steps(
    steps: Callable[Concatenate[Any, Given], Steps],
) -> Callable[Concatenate[Any, Given], Steps]:
    """Lead the steps of a round to the displays among the adapter's callbacks, if any."""

    @functools.wraps(steps)
    def led(adapter: Any, /, *args: Given.args, **kwargs: Given.kwargs) -> Steps:
        leads = [each for each in adapter.callbacks if isinstance(each, Lead)]
        round_ = steps(adapter, *args, **kwargs)
        return _led(round_, leads) if leads else round_

    return led


def _led(steps: Steps, leads: list[Lead]) -> Steps:
    try:
        for step in steps:
            for lead in leads:
                lead.lead(step)
            yield step
    finally:
        steps.close()  # as ``yield from`` would: a round that is left puts everything back
