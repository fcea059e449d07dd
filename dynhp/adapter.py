"""The algorithm: every few epochs, try each candidate on a copy, keep the best copy and go on."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np

from dynhp._checks import require_count
from dynhp.advice import hints_for
from dynhp.criteria import Criterion
from dynhp.criteria.contract import metrics_of, score
from dynhp.errors import ContractError
from dynhp.executors import Executor, Serial
from dynhp.proposers import FullGrid, Known, Proposer
from dynhp.records import Candidate, Event, History, Progress, Round, RoundStarted, Try, Value
from dynhp.rounds.attempt import advance, reseed
from dynhp.rounds.jobs import UNKNOWN_STATE, close
from dynhp.rounds.saved import parse_state, state_of
from dynhp.rounds.settings import initial_candidate, require_settings, round_lengths
from dynhp.rounds.tries import CarryOutTries, RoundTries, Step, TrainStretch
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
        criterion: what a try is worth, such as ``highest("val_auc")``.
        adapt_every: the epochs of a round (alpha in the paper).
        try_for: the epochs of a try (beta).
        proposer: which candidates a round tries; all of the grid by default.
        selection: which tries go on, and which one is kept; the best by default.
        executor: what carries out the tries; one after the other by default.
        keep: go on from the "winner", its copy, or take only its "value" back to the origin.
        randomness: "common" random numbers for all tries of a round, or "independent" ones.
        initial: the value in force at the start; the trainer's own, or the middle, by default.
        epochs: the planned epochs, needed where only ``step`` is called.
        seed: of the adapter's own generator.
        callbacks: called with each event of the run.

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
        criterion: Criterion,
        adapt_every: int,
        try_for: int,
        proposer: Proposer | None = None,
        selection: Selection | None = None,
        executor: Executor | None = None,
        keep: Literal["winner", "value"] = "winner",
        randomness: Literal["common", "independent"] | None = None,
        initial: Mapping[str, Value] | None = None,
        epochs: int | None = None,
        seed: int = 0,
        callbacks: Sequence[Callback] = (),
    ) -> None:
        self.trainer = trainer
        self.space = space if isinstance(space, Space) else Space(space)
        self.criterion = criterion
        self.adapt_every = adapt_every
        self.try_for = try_for
        self.proposer: Proposer = FullGrid() if proposer is None else proposer
        self.selection: Selection = Best() if selection is None else selection
        self.executor: Executor = Serial() if executor is None else executor
        self.keep = keep
        self.randomness = randomness or getattr(self.proposer, "randomness", "common")
        self.epochs = epochs
        self.seed = seed
        self.callbacks = callbacks
        require_settings(self)
        self.callbacks = tuple(callbacks)
        self.current = initial_candidate(self.space, trainer, initial)
        self.proposer.waves(self.space, self.current)  # refuses a space that does not suit
        self._rng = np.random.default_rng(seed)
        self._rounds: list[Round] = []
        self.hints = hints_for(self.space, criterion)
        for hint in self.hints:
            logging.getLogger("dynhp").info(hint)

    def __repr__(self) -> str:
        return (
            f"DynamicGridAdapter({self.space!r}, {self.criterion!r}, "
            f"adapt_every={self.adapt_every}, try_for={self.try_for}, epoch={self.epoch})"
        )

    @property
    def history(self) -> History:
        """The rounds so far."""
        return History(tuple(self._rounds))

    @property
    def epoch(self) -> int:
        """The epochs of the main line so far."""
        return self._rounds[-1].start + self._rounds[-1].epochs if self._rounds else 0

    def run(self, epochs: int) -> History:
        """Train until the main line has that many epochs, and give the whole history."""
        for _ in self.rounds(epochs):
            pass
        return self.history

    def rounds(self, epochs: int) -> Iterator[Round]:
        """Like ``run``, a round at a time."""
        require_count("epochs", epochs)  # now, not when the first round is asked for
        return self._rounds_until(epochs)

    def _rounds_until(self, epochs: int) -> Iterator[Round]:
        self.epochs = epochs
        while self.epoch < epochs:
            yield self.step()

    def step(self) -> Round:
        """Carry out one round; whatever goes wrong in it, the trainer is back at its origin."""
        steps = self.round_steps()
        try:
            for step in steps:
                if isinstance(step, CarryOutTries):
                    for outcome in self.executor.run(self.trainer, step.stage.jobs(), at=step.at):
                        step.stage.take_outcome(outcome)
                elif step.epochs:
                    step.metrics = advance(self.trainer, step.candidate, step.epochs)
        except KeyboardInterrupt:
            close(self.executor)  # whether it came in the tries or outside: no worker stays
            raise
        finally:
            steps.close()  # a round that is interrupted puts everything back
        return self._rounds[-1]

    # fmt: off
    def round_steps(self) -> Generator[Step, None, None]:
        """One round of Algorithm 1 as steps for a driver: ``step``, or the loop of ``adapt``."""
        began = time.perf_counter()
        alpha, beta = round_lengths(self)
        random_state = self._rng.bit_generator.state
        origin = self.trainer.get_state()                                # theta_{i-1}
        try:
            started = RoundStarted(index=len(self._rounds), start=self.epoch, epochs=alpha)
            self._announce(started)
            tries, at = self._round_tries(started, origin), origin
            while wave := self._wave(tries.records):                     # line 3: for each q of Q
                for stage in tries.stages(wave, self.selection.stages(len(wave), beta)):
                    yield CarryOutTries(stage, at)                       # line 4: train for beta
                    at = UNKNOWN_STATE
            winner = tries.winner()                                      # line 6: argmax of f
            done, seed = self._go_on(winner, tries.take_winner_state(), origin)  # theta_{i,q_opt}
            stretch = TrainStretch(winner.candidate, alpha - done)
            yield stretch                                                # line 7: alpha - beta
            seconds = time.perf_counter() - began
            round_ = tries.record_round(stretch, done=done, seed=seed, seconds=seconds)
            self._announce(round_)
        except BaseException:
            self.trainer.set_state(origin)
            self._rng.bit_generator.state = random_state
            raise
        self._rounds.append(round_)
        self.current = round_.candidate
    # fmt: on

    def _round_tries(self, started: RoundStarted, origin: State) -> RoundTries:
        progress = Progress(self.epoch, self.epochs)
        return RoundTries(
            started=started,
            origin=origin,
            current=self.current,
            score=lambda series: score(self.criterion, series, progress),
            ranking=self.selection.ranking(self._rounds, self.current),
            watch=metrics_of(self.criterion),
            announce=self._announce,
        )

    def _wave(self, tries: tuple[Try, ...]) -> list[tuple[Candidate, int | None]]:
        """The next candidates, each with the seed of its try."""
        known = Known(space=self.space, current=self.current, history=self._rounds, tries=tries)
        wave = self.proposer.propose(known, self._rng)
        if not wave and not tries:
            raise ContractError(f"{self.proposer!r} proposed nothing for a new round")
        common = self.randomness == "common"
        return [(self._cast(each), None if common else self._draw_seed()) for each in wave]

    def _cast(self, candidate: Candidate) -> Candidate:
        if not self.space.admits(candidate):
            raise ContractError(
                f"{self.proposer!r} proposed {candidate!r}, which is not in {self.space!r}"
            )
        return self.space.cast(candidate)

    def _draw_seed(self) -> int:
        return int(self._rng.integers(2**63))

    def _go_on(self, winner: Try, state: State, origin: State) -> tuple[int, int | None]:
        """Bring the main line to where it goes on: epochs it has of this round, and its seed."""
        if self.keep == "value" and self.randomness == "independent":
            seed = self._draw_seed()
            self.trainer.set_state(origin)
            reseed(self.trainer, seed)
            return 0, seed
        # Under common random numbers the way back would lead through the winner's copy again.
        if state is not UNKNOWN_STATE:
            self.trainer.set_state(state)
        return winner.epochs, winner.seed

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
        self._rounds = list(saved.history)
        self.current = saved.current
        self.epochs = saved.epochs
