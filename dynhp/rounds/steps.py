"""The steps of a round, which a driver carries out: tries, and the main line's stretch."""

from __future__ import annotations

import functools
import logging
import weakref
from collections.abc import Callable, Generator
from dataclasses import dataclass, field, replace
from typing import Any, Concatenate, ParamSpec, Protocol, TypeAlias

from dynhp.errors import DynhpError, LoopError, StateLost
from dynhp.records import Candidate, Metrics, Round
from dynhp.rounds.attempt import advance, error_text, put_in_force
from dynhp.rounds.jobs import Beat, Executor, Job, Outcome
from dynhp.trainer import State, Trainer

__all__ = ["CarryOutTries", "JobStage", "OneAtATime", "Step", "TrainStretch", "WatchesMainLine"]
__all__ += ["carry_out", "guard_of", "one_at_a_time", "stretch_left"]


class JobStage(Protocol):
    """Jobs that are carried out side by side, and who takes what comes of them."""

    def jobs(self) -> list[Job]:
        """What to train from where."""
        ...

    def begun(self) -> list[int]:
        """The epochs that each job's line has already, counted from the round's origin."""
        ...

    def places(self) -> list[int | None]:
        """The place of each job's try among the tries of the round; None for a repeat."""
        ...

    def take_outcome(self, outcome: Outcome) -> None:
        """Take what came of the next job."""
        ...


@dataclass(slots=True)
class CarryOutTries:
    """A step: carry out the stage's jobs and let it take the outcomes; the trainer is at ``at``."""

    stage: JobStage
    at: State


class WatchesMainLine(Protocol):
    """Looks at the main line while it is trained."""

    needs_metrics: bool  # whether each epoch must be measured

    def until(self) -> int | None:
        """Up to which epoch the main line may be trained without a look; None: to the end."""
        ...

    def look(self, epoch: int, metrics: Metrics | None) -> bool:
        """Look at it after this epoch; whether it ends here, because a round is due."""
        ...

    def rescues(self) -> bool:
        """Whether an exception on the main line begins a round instead of ending the run."""
        ...


@dataclass(slots=True)
class TrainStretch:
    """A step: train the main line on; a driver that stops early says so in ``epochs``.

    Also where no epoch is left, the values must be in force afterwards. ``watch`` ends it early.
    """

    candidate: Candidate
    epochs: int
    recorder: Callable[[TrainStretch], Round]
    kept: int | None = None  # the place of the try whose epochs are now of the main line
    metrics: Metrics = field(default_factory=dict)
    measured: list[tuple[int, Metrics]] = field(default_factory=list)  # with epochs' numbers
    start: int = 0  # the number of its first epoch
    watch: WatchesMainLine | None = None
    failure: str | None = None  # what ended it, where that is rescued
    beat: Beat | None = None  # called after each epoch, or look, with those done so far

    def take(self, epochs: int, metrics: Metrics | None) -> bool:
        """Take in that so many more epochs were trained; whether the stretch ends here."""
        self.epochs += epochs
        self.metrics = metrics or {}
        end = self.start + self.epochs
        if metrics is not None:
            self.measured.append((end - 1, metrics))
        if self.beat is not None:
            self.beat(self.epochs, metrics)
        return self.watch is not None and self.watch.look(end, metrics)

    def fail(self, failure: Exception) -> bool:
        """Take in that the next epoch raised; false where that must end the run."""
        if self.watch is None or isinstance(failure, DynhpError) or not self.watch.rescues():
            return False
        self.failure = error_text(failure)
        logging.getLogger("dynhp").info("the main line failed", exc_info=failure)
        return True

    def record(self) -> Round:
        """The round as it is with what has been trained of this stretch."""
        return self.recorder(self)


Given = ParamSpec("Given")

Step: TypeAlias = CarryOutTries | TrainStretch
"""What a driver of a round carries out next."""


def stretch_left(begun: Round, epochs: int) -> TrainStretch:
    """The step that brings a round, as it was recorded when it was left, to so many epochs."""
    tried = 0 if begun.restarted or not begun.tries else begun.winner.own.epochs
    return TrainStretch(
        begun.candidate,
        epochs - begun.epochs,
        functools.partial(_longer, begun),
        measured=[each for each in begun.measured if each[0] >= begun.start + tried],
        start=begun.start + begun.epochs,
    )


def _longer(begun: Round, stretch: TrainStretch) -> Round:
    epochs = begun.epochs + stretch.epochs
    return replace(
        begun,
        epochs=epochs,
        metrics=stretch.metrics if stretch.epochs else begun.metrics,
        failure=stretch.failure,
        stretch=tuple(each for each in stretch.measured if each[0] < begun.start + epochs - 1),
    )


def carry_out(step: Step, trainer: Trainer, executor: Executor) -> None:
    """Carry out one step with a trainer that trains by itself."""
    if isinstance(step, CarryOutTries):
        for outcome in executor.run(trainer, step.stage.jobs(), at=step.at):
            step.stage.take_outcome(outcome)
    elif step.watch is not None:
        _train_watched(step, step.watch, trainer)
    elif step.epochs:
        step.metrics = advance(trainer, step.candidate, step.epochs)
    else:
        put_in_force(trainer, step.candidate)


def _train_watched(step: TrainStretch, watch: WatchesMainLine, trainer: Trainer) -> None:
    """Train a stretch in pieces, from one look to the next."""
    end, step.epochs = step.start + step.epochs, 0
    while (epoch := step.start + step.epochs) < end:
        epochs = min(watch.until() or end, end) - epoch
        try:
            metrics = advance(trainer, step.candidate, epochs)
        except Exception as failure:
            if step.fail(failure):
                return
            raise
        if step.take(epochs, metrics):
            return


class Turn:
    """Whose turn it is; held by the one whose it is, so that it ends with it, whatever happens."""

    __slots__ = ("__weakref__",)


class OneAtATime:
    """Gives a turn to one at a time and refuses all others. Not a lock: nobody waits.

    >>> guard = OneAtATime()
    >>> turn = guard.enter()
    >>> try:
    ...     guard.enter()
    ... except LoopError as error:
    ...     print(str(error).partition(";")[0])
    a round of this adapter is under way
    """

    __slots__ = ("_turns", "lost")

    def __init__(self) -> None:
        self._turns: dict[str, weakref.ref[Turn]] = {}
        self.lost = False  # whether a round has left the trainer in a state that nobody knows

    def enter(self) -> Turn:
        """Give a turn, or refuse it."""
        self.require_free()
        if self.lost:
            raise StateLost(
                "a round before could not put the trainer back, so nothing can be trained from "
                "where it is; make trainer and adapter anew, or load a checkpoint into both"
            )
        turn = Turn()
        given = weakref.ref(turn)
        while self._turns.setdefault("now", given) is not given:  # one step for all threads
            self.require_free()
        return turn

    def leave(self) -> None:
        """End the turn."""
        self._turns.pop("now", None)

    def require_free(self) -> None:
        """Refuse where somebody has a turn; one whose holder is gone has ended."""
        before = self._turns.get("now")
        if before is None:
            return
        if before() is not None:
            raise LoopError(
                "a round of this adapter is under way; wait until it has ended, and give each "
                "thread an adapter and a trainer of its own"
            )
        self.leave()

    def __reduce__(self) -> tuple[type[OneAtATime], tuple[()]]:
        return OneAtATime, ()  # a copy belongs to another adapter, which is not under way


def guard_of(adapter: object) -> OneAtATime:
    """The guard of an adapter's rounds."""
    guard: OneAtATime = vars(adapter).setdefault("_guard", OneAtATime())
    return guard


def one_at_a_time(
    steps: Callable[Concatenate[Any, Given], Generator[Step, None, None]],
) -> Callable[Concatenate[Any, Given], Generator[Step, None, None]]:
    """Guard the rounds of an adapter: two of them at once would undo each other's work."""

    @functools.wraps(steps)
    def guarded(
        adapter: Any, /, *args: Given.args, **kwargs: Given.kwargs
    ) -> Generator[Step, None, None]:
        guard = guard_of(adapter)
        turn = guard.enter()  # noqa: F841, held until this ends, also where Ctrl-C comes right here
        try:
            yield from steps(adapter, *args, **kwargs)
        except StateLost:
            guard.lost = True
            raise
        finally:
            guard.leave()

    return guarded
