"""The algorithm: every few epochs, try each candidate on a copy, keep the best copy and go on."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from dynhp._checks import require_count
from dynhp.advice import hints_for
from dynhp.criteria import Criterion, metrics_of, score
from dynhp.errors import AllTriesFailed, ContractError
from dynhp.executors import Executor, Serial
from dynhp.proposers import FullGrid, Known, Proposer
from dynhp.records import (
    Candidate,
    Event,
    History,
    Progress,
    Round,
    RoundStarted,
    Try,
    Value,
)
from dynhp.rounds import saved, settings
from dynhp.rounds.attempt import advance, reseed
from dynhp.rounds.jobs import UNKNOWN_STATE, close
from dynhp.rounds.plain import history_to_plain
from dynhp.rounds.tries import RoundTries, Stretch, Tries, Work
from dynhp.selection import Best, Selection, reason
from dynhp.spaces import Space, SpaceLike
from dynhp.trainer import Trainer

__all__ = ["Callback", "DynamicGridAdapter"]

Callback: TypeAlias = Callable[[Event], None]
"""Told each event of a run; it sees records, never the trainer."""


class DynamicGridAdapter:
    """Adapts hyperparameters while a trainer trains: Algorithm 1 of the AdaGrid paper, and beyond.

    Every ``adapt_every`` epochs, each candidate that ``proposer`` names trains for ``try_for``
    epochs on a copy of the state; ``criterion`` scores the copies, ``selection`` keeps one, and
    the main line goes on from it with its value. ``executor`` carries out the tries.
    ``keep="winner"`` goes on from the winning copy, ``"value"`` takes only its value back to the
    origin. ``randomness="common"`` gives all tries the same random numbers, ``"independent"``
    each its own. ``initial`` is the value in force at the start, ``epochs`` the planned epochs
    where only ``step`` is called.

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
        self.callbacks = settings.callbacks_of(callbacks)
        settings.require_settings(self)
        self.current = settings.initial_candidate(self.space, trainer, initial)
        self.proposer.waves(self.space, self.current)  # refuses a space that does not suit
        self._rng = settings.generator(seed)
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
            for work in steps:
                if isinstance(work, Tries):
                    for outcome in self.executor.run(self.trainer, work.heat.jobs(), at=work.at):
                        work.heat.tell(outcome)
                elif work.epochs:
                    work.metrics = advance(self.trainer, work.candidate, work.epochs)
        except KeyboardInterrupt:
            close(self.executor)  # wherever it came, in the tries or outside: no worker stays
            raise
        finally:
            steps.close()  # a steps broken off puts everything back
        return self._rounds[-1]

    # fmt: off
    def round_steps(self) -> Generator[Work, None, None]:
        """One round of Algorithm 1 as work for a driver: ``step``, or the loop of ``adapt``."""
        began = time.perf_counter()
        alpha, beta = settings.lengths_of(self)
        random = self._rng.bit_generator.state
        origin = self.trainer.get_state()                                # theta_{i-1}
        try:
            self._tell(RoundStarted(index=len(self._rounds), start=self.epoch, epochs=alpha))
            contest, at = self._contest(origin), origin
            while wave := self._wave(contest.tries):                     # line 3: for each q of Q
                for heat in contest.heats(wave, self.selection.stages(len(wave), beta)):
                    yield Tries(heat, at)                                # line 4: train for beta
                    at = UNKNOWN_STATE
            chosen = self._winner(contest)                               # line 6: argmax of f
            done, seed = self._go_on(contest, chosen, origin)            # theta_{i,q_opt}
            stretch = Stretch(contest.tries[chosen].candidate, alpha - done)
            yield stretch                                                # line 7: alpha - beta
            round_ = self._round(contest.tries, chosen, stretch, done, seed, began)
            self._tell(round_)
        except BaseException:
            self.trainer.set_state(origin)
            self._rng.bit_generator.state = random
            raise
        self._rounds.append(round_)
        self.current = round_.candidate
    # fmt: on

    def _contest(self, origin: Any) -> RoundTries:
        progress = Progress(self.epoch, self.epochs)
        return RoundTries(
            origin,
            current=self.current,
            judge=lambda series: score(self.criterion, series, progress),
            ranking=self.selection.ranking(self._rounds, self.current),
            watch=metrics_of(self.criterion),
            announce=self._tell,
        )

    def _wave(self, tries: tuple[Try, ...]) -> list[tuple[Candidate, int | None]]:
        known = Known(space=self.space, current=self.current, history=self._rounds, tries=tries)
        wave = self.proposer.propose(known, self._rng)
        if not wave and not tries:
            raise ContractError(f"{self.proposer!r} proposed nothing for a new round")
        common = self.randomness == "common"
        return [(self._entry(candidate), None if common else self._seed()) for candidate in wave]

    def _entry(self, candidate: Candidate) -> Candidate:
        if not self.space.admits(candidate):
            raise ContractError(
                f"{self.proposer!r} proposed {candidate!r}, which is not in {self.space!r}"
            )
        return self.space.cast(candidate)

    def _seed(self) -> int:
        return int(self._rng.integers(2**63))

    def _winner(self, contest: RoundTries) -> int:
        chosen = contest.winner()
        if chosen is None:
            lines = (
                f"  {dict(try_.candidate)}: "
                f"{(try_.error or 'overtaken by one that failed later').splitlines()[0]}"
                for try_ in contest.tries
            )
            raise AllTriesFailed(
                f"all tries of round {len(self._rounds)} failed; the trainer is back at the "
                "round's start. Widen the space or mend the trainer:\n" + "\n".join(lines)
            )
        return chosen

    def _go_on(self, contest: RoundTries, chosen: int, origin: Any) -> tuple[int, int | None]:
        """Bring the main line to where it goes on: epochs it has of this round, and its seed."""
        winner, state = contest.tries[chosen], contest.settle()
        if self.keep == "value" and self.randomness == "independent":
            seed = self._seed()
            self.trainer.set_state(origin)
            reseed(self.trainer, seed)
            return 0, seed
        # Under common random numbers the way back would lead through the winner's copy again.
        if state is not UNKNOWN_STATE:
            self.trainer.set_state(state)
        return winner.epochs, winner.seed

    def _round(
        self,
        tries: tuple[Try, ...],
        chosen: int,
        stretch: Stretch,
        done: int,
        seed: int | None,
        began: float,
    ) -> Round:
        return Round(
            index=len(self._rounds),
            start=self.epoch,
            epochs=done + stretch.epochs,
            previous=self.current,
            tries=tries,
            chosen=chosen,
            reason=reason(tries, chosen, self.current),
            metrics=stretch.metrics if stretch.epochs else tries[chosen].series[-1],
            seed=seed,
            restarted=done == 0,
            seconds=time.perf_counter() - began,
        )

    def _tell(self, event: Event) -> None:
        for callback in self.callbacks:
            callback(event)

    def state_dict(self) -> dict[str, Any]:
        """All that decides the adapter's own future, as plain data; the trainer has its own state.

        Settings are in it only to be compared: loading into an adapter with others is refused.
        """
        return {
            "version": saved.STATE_VERSION,
            "settings": saved.settings_of(self),
            "epochs": self.epochs,
            "current": dict(self.current),
            "generator": self._rng.bit_generator.state,
            "history": history_to_plain(self.history),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take back what ``state_dict`` gave; the trainer's state must be set back likewise."""
        restored = saved.parse_state(self, state)
        self._rng.bit_generator.state = restored.generator
        self._rounds = list(restored.history)
        self.current = restored.current
        self.epochs = restored.epochs
