"""The algorithm: every few epochs, try each candidate on a copy, keep the best copy and go on."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from dynhp._checks import plain_int
from dynhp.advice import give_hints
from dynhp.criteria import Criterion, chosen_criterion
from dynhp.display import Display, shown_on
from dynhp.display.lead import shows_steps
from dynhp.executors import Executor, Serial
from dynhp.main_line import Snapshots
from dynhp.main_line.line import MainLine, Origin
from dynhp.main_line.settings import adapter_text, chosen_trigger
from dynhp.proposers import FullGrid, Proposer
from dynhp.records import Callback, Candidate, Event, History, Round, Value
from dynhp.rounds import settings
from dynhp.rounds.attempt import put_back
from dynhp.rounds.jobs import close
from dynhp.rounds.saved import parse_state, state_of
from dynhp.rounds.start import require_waves, round_started, round_tries, try_candidates
from dynhp.rounds.steps import Step, TrainStretch, carry_out, guard_of, one_at_a_time, stretch_left
from dynhp.selection import Best, Selection
from dynhp.spaces import Space, SpaceLike
from dynhp.tails import Correction, Tail
from dynhp.trainer import Trainer
from dynhp.triggers import Due, Every, Trigger

__all__ = ["Callback", "DynamicGridAdapter"]


class DynamicGridAdapter:
    """Adapts hyperparameters while a trainer trains: Algorithm 1 of the AdaGrid paper, and beyond.

    Every ``adapt_every`` epochs, each candidate is tried on a copy of the state; one copy is kept.

    Args:
        trainer: what trains; see ``dynhp.trainer.Trainer``.
        space: the hyperparameters and their values: a ``Space``, or a mapping it can be made of.
        adapt_every: the epochs of a round (alpha in the paper).
        try_for: the epochs of a try (beta); below 1, a share of the run; 0 with a ``tail``.
        when: in place of ``adapt_every``, a trigger such as ``OnPlateau("val_loss", patience=5)``.
        start_from: a round starts "here", from the "best" state, or from a healthy one "before".
        snapshots: how many states "before" keeps, how far apart, and where.
        max_rounds: the most rounds with tries, rescues not counted.
        max_rescues: how often a main line that raises, spikes or is not finite begins a round.
        record_every: the most epochs recorded as one round; by default a 20th of the run.
        criterion: what a try is worth, such as ``smoothed(highest("val_auc"))``.
        minimize: in place of a criterion, the metric that is better when lower.
        maximize: in place of a criterion, the metric that is better when higher.
        proposer: which candidates a round tries; all of the grid by default.
        selection: which tries go on, and which one is kept; the best by default.
        executor: what carries out the tries; one after the other by default.
        tail: what a try runs before it is judged, then thrown away, as ``annealed("lr")``.
        keep: go on from the "winner", its copy, or take only its "value" back to the origin.
        then: what the winner's value becomes before it is put in force, as ``scale(0.3)``.
        randomness: "common" random numbers for all tries of a round, or "independent" ones.
        initial: the value at the start; the trainer's own (which joins the space) or the middle.
        epochs: the planned epochs, needed where only ``step`` is called.
        seed: of the adapter's own generator.
        callbacks: one function or a list of them, called with each event of the run.
        check: whether a try is repeated and compared: in the "first" round, "every" one, or "off".
        tolerance: how far that repeat may be off; by default what the trainer declares, or 0.
        dry_run: always keep the value in force: as if nothing were tried, or an error says why not.

    >>> from dynhp import lowest
    >>> from dynhp.testing import Quadratic
    >>> adapter = DynamicGridAdapter(Quadratic(), {"lr": [0.01, 0.1, 1.0]},
    ...                              criterion=lowest("loss"), adapt_every=5, try_for=1)
    >>> [round_.candidate["lr"] for round_ in adapter.run(20)]
    [1.0, 1.0, 1.0, 1.0]
    """

    def __init__(
        self,
        trainer: Trainer,
        space: SpaceLike,
        *,
        adapt_every: int | None = None,
        try_for: float,
        when: Trigger | None = None,
        start_from: Literal["here", "best", "before"] = "here",
        snapshots: Snapshots | None = None,
        max_rounds: int | None = None,
        max_rescues: int = 0,
        record_every: int | None = None,
        criterion: Criterion | None = None,
        minimize: str | None = None,
        maximize: str | None = None,
        proposer: Proposer | None = None,
        selection: Selection | None = None,
        executor: Executor | None = None,
        tail: Tail | None = None,
        keep: Literal["winner", "value"] = "winner",
        then: Correction | None = None,
        randomness: Literal["common", "independent"] | None = None,
        initial: Mapping[str, Value] | None = None,
        epochs: int | None = None,
        seed: int = 0,
        callbacks: Callback | Sequence[Callback] = (),
        check: Literal["first", "every", "off"] = "first",
        tolerance: float | None = None,
        dry_run: bool = False,
    ) -> None:
        self.trainer, self.tail, self.keep, self.then = trainer, tail, keep, then
        self.check, self.dry_run, self.start_from = check, dry_run, start_from
        self.space = space if isinstance(space, Space) else Space(space)
        self.criterion = chosen_criterion(criterion, minimize, maximize)
        self.when = chosen_trigger(adapt_every, when)
        self.adapt_every = self.when.n if isinstance(self.when, Every) else None
        self.try_for: float = plain_int(try_for)
        self.snapshots = Snapshots() if snapshots is None else snapshots
        self.max_rounds, self.max_rescues, self.record_every = max_rounds, max_rescues, record_every
        self.proposer: Proposer = FullGrid() if proposer is None else proposer
        self.selection: Selection = Best() if selection is None else selection
        self.executor: Executor = Serial() if executor is None else executor
        self.randomness = randomness or getattr(self.proposer, "randomness", "common")
        self.epochs: int | None = plain_int(epochs)
        self.seed: int = plain_int(seed)
        self.callbacks: Any = (callbacks,) if callable(callbacks) else callbacks
        self.tolerance = getattr(trainer, "tolerance", 0.0) if tolerance is None else tolerance
        self.described: dict[str, str] = {}  # the settings, once a round has begun
        settings.require_settings(self)
        self.callbacks = tuple(self.callbacks)
        self._rounds, self.main_line = list[Round](), MainLine(self)
        self.space, self._start = settings.starting_point(self.space, trainer, initial)
        require_waves(self)
        self._rng, self._checked = np.random.default_rng(self.seed), False  # not proved yet
        self.hints = give_hints(self.space, self.criterion, trainer, tail=tail is not None)

    def __repr__(self) -> str:
        return adapter_text(self)

    @property
    def history(self) -> History:
        """The rounds so far."""
        return History(tuple(self._rounds))

    @property
    def epoch(self) -> int:
        """The epochs of the main line so far."""
        return self.main_line.epoch(self._rounds)

    @property
    def current(self) -> Candidate:
        """The value in force: that of the last round, or the one at the start."""
        return self._rounds[-1].candidate if self._rounds else self._start

    @property
    def is_over(self) -> bool:
        """Whether the main line has all its planned epochs, and no rescue is due at its end."""
        return self.epochs is not None and self.main_line.is_over(self._rounds, self.epochs)

    @property
    def check_is_due(self) -> bool:
        """Whether the next round carries out one try twice more, to compare."""
        return self.check != "off" and (self.check == "every" or self.dry_run or not self._checked)

    def run(self, epochs: int, *, progress: bool | Display = False) -> History:
        """Train until the main line has that many epochs; ``progress`` shows how far it is."""
        list(self.rounds(epochs, progress=progress))
        return self.history

    def rounds(self, epochs: int, *, progress: bool | Display = False) -> Iterator[Round]:
        """Like ``run``, a round at a time; a round without tries is one too."""
        total = settings.require_total(epochs, self.epoch)
        return self._rounds_until(total, shown_on(self, progress))

    def _rounds_until(self, epochs: int, shown: Any) -> Iterator[Round]:
        guard_of(self).require_free()  # a round under way keeps its plan
        self.epochs = epochs
        with shown:
            while not self.is_over:
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
    @shows_steps
    def round_steps(self, begun: Round | None = None) -> Generator[Step, None, None]:
        """One round as steps for a driver; ``begun``: one that was left in its stretch."""
        index, random_state = len(self._rounds), self._rng.bit_generator.state
        rounds, line = self._rounds, self.main_line
        due = line.due(rounds, begun)                           # every alpha epochs, or when it is
        origin = line.begin(rounds, due, begun)                          # theta_{i-1}
        try:
            alpha, beta = settings.round_lengths(self, tries=due is not None)
            stretch = stretch_left(begun, begun.epochs if origin.over else alpha) if begun else (
                yield from self._choice(origin, due, alpha, beta))       # lines 3 to 6
            line.watch_over(stretch, rounds, due)
            yield stretch                                                # line 7: alpha - beta
            round_ = stretch.record()
            self._announce(round_)
            self._rounds.append(round_)  # from here on it has been, whatever interrupts
        except BaseException as failure:
            if len(self._rounds) == index:
                self._rng.bit_generator.state = random_state
                put_back(self.trainer, origin.state, failure)
            raise
        self._checked |= begun is None and round_.checked > 0
        line.seen.recorded(self._rounds, watched=stretch.watch is not None)
        settings.hint_at_edges(self.space, () if self.dry_run else line.tried(self._rounds))

    def _choice(self, origin: Origin, due: Due | None, alpha: int, beta: int
                ) -> Generator[Step, None, TrainStretch]:
        """The tries of a round where it is due, and the stretch that follows."""
        began, line, done, seed = time.perf_counter(), self.main_line, 0, None
        self._announce(started := round_started(self, len(self._rounds), origin, alpha))
        known = line.tried(self._rounds)
        tries = round_tries(self, known, started, origin, due, announce=self._announce)
        if due is not None:
            done, seed = yield from try_candidates(self, tries, known, beta, rng=self._rng)
            line.tries_ended(origin, tries, done)
        return tries.stretch(alpha, done=done, seed=seed, began=began)
    # fmt: on

    def _announce(self, event: Event) -> None:
        for callback in self.callbacks:
            callback(event)

    def state_dict(self, *, since: int = 0) -> dict[str, Any]:
        """All that decides the adapter's own future, with the rounds from ``since`` on."""
        return state_of(self, self._rng, self.main_line.state(self._rounds), since=since)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take back what ``state_dict`` gave; the trainer's state must be set back likewise."""
        saved = parse_state(self, state)
        self._rng.bit_generator.state = saved.generator
        self._rounds, self._start = list(saved.history), saved.start
        self.main_line.load(self._rounds, saved.main_line)
        self.space = self.space.given.including(saved.start)
        self.epochs, self._checked = saved.epochs, False  # another process may lack what this had
        guard_of(self).lost = False
