"""The algorithm: every few epochs, try each candidate on a copy, keep the best copy and go on."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np

from dynhp._checks import plain_int
from dynhp.advice import give_hints
from dynhp.criteria import Criterion, chosen_criterion
from dynhp.executors import Executor, Serial
from dynhp.proposers import FullGrid, Proposer
from dynhp.records import Candidate, Event, History, Round, RoundStarted, Value
from dynhp.rounds import settings
from dynhp.rounds.attempt import put_back
from dynhp.rounds.jobs import UNKNOWN_STATE, close
from dynhp.rounds.saved import parse_state, state_of
from dynhp.rounds.start import go_on, next_wave, require_waves, round_tries
from dynhp.rounds.steps import (
    CarryOutTries,
    Step,
    TrainStretch,
    carry_out,
    guard_of,
    one_at_a_time,
    stretch_left,
)
from dynhp.selection import Best, Selection
from dynhp.spaces import Space, SpaceLike
from dynhp.trainer import State, Trainer

__all__ = ["Callback", "DynamicGridAdapter"]

Callback: TypeAlias = Callable[[Event], None]
"""Called with each event of a run; it sees records, never the trainer."""


class DynamicGridAdapter:
    """Adapts hyperparameters while a trainer trains: Algorithm 1 of the AdaGrid paper, and beyond.

    Every ``adapt_every`` epochs, each proposed candidate trains for ``try_for`` epochs on a copy of
    the state; the copies are scored, one is kept, and the main line goes on with its value.

    Args:
        trainer: what trains; see ``dynhp.trainer.Trainer``.
        space: the hyperparameters and their values: a ``Space``, or a mapping it can be made of.
        adapt_every: the epochs of a round (alpha in the paper).
        try_for: the epochs of a try (beta).
        criterion: what a try is worth, such as ``smoothed(highest("val_auc"))``.
        minimize: in place of a criterion, the metric that is better when lower.
        maximize: in place of a criterion, the metric that is better when higher.
        proposer: which candidates a round tries; all of the grid by default.
        selection: which tries go on, and which one is kept; the best by default.
        executor: what carries out the tries; one after the other by default.
        keep: go on from the "winner", its copy, or take only its "value" back to the origin.
        randomness: "common" random numbers for all tries of a round, or "independent" ones.
        initial: the value at the start; the trainer's own (which joins the space) or the middle.
        epochs: the planned epochs, needed where only ``step`` is called.
        seed: of the adapter's own generator.
        callbacks: one function or a list of them, called with each event of the run.
        check: prove in the "first" round (also after a resume), in "every" round or never ("off")
            that one try, carried out twice more, comes to the same in metrics and state.
        tolerance: how far that repeat may be off; by default what the trainer declares, or 0.
        dry_run: try all candidates but always keep the value in force: the same as no adaptation,
            or an error that says what leaked.

    >>> from dynhp import lowest
    >>> from dynhp.testing import Quadratic
    >>> adapter = DynamicGridAdapter(
    ...     Quadratic(), {"lr": [0.01, 0.1, 1.0]}, criterion=lowest("loss"),
    ...     adapt_every=5, try_for=1,
    ... )
    >>> history = adapter.run(20)
    >>> [round_.candidate["lr"] for round_ in history]
    [1.0, 1.0, 1.0, 1.0]
    """

    def __init__(
        self,
        trainer: Trainer,
        space: SpaceLike,
        *,
        adapt_every: int,
        try_for: int,
        criterion: Criterion | None = None,
        minimize: str | None = None,
        maximize: str | None = None,
        proposer: Proposer | None = None,
        selection: Selection | None = None,
        executor: Executor | None = None,
        keep: Literal["winner", "value"] = "winner",
        randomness: Literal["common", "independent"] | None = None,
        initial: Mapping[str, Value] | None = None,
        epochs: int | None = None,
        seed: int = 0,
        callbacks: Callback | Sequence[Callback] = (),
        check: Literal["first", "every", "off"] = "first",
        tolerance: float | None = None,
        dry_run: bool = False,
    ) -> None:
        self.trainer = trainer
        self.space = space if isinstance(space, Space) else Space(space)
        self.criterion = chosen_criterion(criterion, minimize, maximize)
        self.adapt_every: int = plain_int(adapt_every)
        self.try_for: int = plain_int(try_for)
        self.proposer: Proposer = FullGrid() if proposer is None else proposer
        self.selection: Selection = Best() if selection is None else selection
        self.executor: Executor = Serial() if executor is None else executor
        self.keep = keep
        self.randomness = randomness or getattr(self.proposer, "randomness", "common")
        self.epochs: int | None = plain_int(epochs)
        self.seed: int = plain_int(seed)
        self.callbacks: Any = (callbacks,) if callable(callbacks) else callbacks
        self.check = check
        self.tolerance = getattr(trainer, "tolerance", 0.0) if tolerance is None else tolerance
        self.dry_run = dry_run
        settings.require_settings(self)
        self.callbacks = tuple(self.callbacks)
        self._rounds: list[Round] = []
        self.space, self._start = settings.starting_point(self.space, trainer, initial)
        require_waves(self)
        self._rng = np.random.default_rng(self.seed)
        self._checked = False  # whether a round has proved its promise in this process
        self.hints = give_hints(self.space, self.criterion, getattr(trainer, "kinds", None))

    def __repr__(self) -> str:
        lengths = f"adapt_every={self.adapt_every}, try_for={self.try_for}, epoch={self.epoch}"
        return f"DynamicGridAdapter({self.space!r}, {self.criterion!r}, {lengths})"

    @property
    def history(self) -> History:
        """The rounds so far."""
        return History(tuple(self._rounds))

    @property
    def epoch(self) -> int:
        """The epochs of the main line so far."""
        return self._rounds[-1].start + self._rounds[-1].epochs if self._rounds else 0

    @property
    def current(self) -> Candidate:
        """The value in force: that of the last round, or the one at the start."""
        return self._rounds[-1].candidate if self._rounds else self._start

    @property
    def check_is_due(self) -> bool:
        """Whether the next round carries out one try once more, to compare."""
        if self.check == "off":
            return False
        return self.check == "every" or self.dry_run or not self._checked

    def run(self, epochs: int) -> History:
        """Train until the main line has that many epochs, and give the whole history."""
        for _ in self.rounds(epochs):
            pass
        return self.history

    def rounds(self, epochs: int) -> Iterator[Round]:
        """Like ``run``, a round at a time."""
        # Refused now, not when the first round is asked for.
        return self._rounds_until(settings.require_total(epochs, self.epoch))

    def _rounds_until(self, epochs: int) -> Iterator[Round]:
        guard_of(self).require_free()  # a round under way keeps its plan
        self.epochs = epochs
        while self.epoch < epochs:
            yield self.step()

    def step(self) -> Round:
        """Carry out one round; whatever goes wrong, the trainer is back at its origin."""
        steps = self.round_steps()
        try:
            for step in steps:
                carry_out(step, self.trainer, self.executor)
        except KeyboardInterrupt:
            close(self.executor)  # whether it came in the tries or outside: no worker stays
            raise
        finally:
            steps.close()  # a round that is interrupted puts everything back
        return self._rounds[-1]

    # fmt: off
    @one_at_a_time
    def round_steps(self, begun: Round | None = None) -> Generator[Step, None, None]:
        """One round as steps for a driver; ``begun``: one that was left in its stretch."""
        index, random_state = len(self._rounds), self._rng.bit_generator.state
        alpha, beta = settings.round_lengths(self)
        origin = self.trainer.get_state()                                # theta_{i-1}
        try:
            if begun is None:
                stretch = yield from self._choice(origin, alpha, beta)   # lines 3 to 6
            else:
                stretch = stretch_left(begun, alpha)
            yield stretch                                                # line 7: alpha - beta
            round_ = stretch.record()
            self._announce(round_)
            self._rounds.append(round_)  # from here on it has been, whatever interrupts
        except BaseException as failure:
            if len(self._rounds) == index:
                self._rng.bit_generator.state = random_state
                put_back(self.trainer, origin, failure)
            raise
        self._checked |= begun is None and round_.checked > 0
        settings.hint_at_edges(self.space, self._rounds)

    def _choice(
        self, origin: State, alpha: int, beta: int
    ) -> Generator[Step, None, TrainStretch]:
        """The tries of a round, and the stretch that follows the one that is kept."""
        began = time.perf_counter()
        started = RoundStarted(index=len(self._rounds), start=self.epoch, epochs=alpha)
        self._announce(started)
        tries, at = round_tries(self, self._rounds, started, origin, self._announce), origin
        while wave := next_wave(self, self._rounds, tries, self._rng):
            for stage in tries.stages(wave, self.selection.stages(len(wave), beta)):
                yield CarryOutTries(stage, at)              # lines 3, 4: train each q of Q for beta
                at = UNKNOWN_STATE
        for repeat in tries.repeats():                                   # the promise, proved
            self.trainer.set_state(origin)
            repeat.check.watch.back_at_origin()
            yield CarryOutTries(repeat, origin)
        winner = tries.winner(in_force=self.dry_run)                     # line 6: argmax of f
        state = tries.take_winner_state()
        done, seed = go_on(self, winner, state, origin, self._rng)       # theta_{i,q_opt}
        return tries.stretch(alpha, done=done, seed=seed, began=began)
    # fmt: on

    def _announce(self, event: Event) -> None:
        for callback in self.callbacks:
            callback(event)

    def state_dict(self, *, since: int = 0) -> dict[str, Any]:
        """All that decides the adapter's own future, as plain data; the trainer has its own state.

        Settings are in it only to be compared: loading into an adapter with others is refused.
        Who has kept the first rounds already asks only for those ``since`` so many.
        """
        return state_of(self, self._rng, since=since)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take back what ``state_dict`` gave; the trainer's state must be set back likewise."""
        saved = parse_state(self, state)
        self._rng.bit_generator.state = saved.generator
        self._rounds, self._start = list(saved.history), saved.start
        self.space = self.space.given.including(saved.start)
        self.epochs, self._checked = saved.epochs, False  # another process may lack what this had
        guard_of(self).lost = False
