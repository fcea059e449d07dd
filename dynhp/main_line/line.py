"""The main line of a run: whether a round is due on it, and from which state that starts."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from dynhp.criteria.contract import score
from dynhp.errors import RescuesSpent
from dynhp.main_line.held import HeldStates
from dynhp.main_line.inner import InnerRule
from dynhp.main_line.origin import Origin
from dynhp.main_line.seen import SeenLine
from dynhp.main_line.settings import watched_trigger
from dynhp.main_line.watch import StretchWatch
from dynhp.records import Metrics, Progress, Round
from dynhp.rounds.attempt import move_to
from dynhp.tails.lengths import restarts
from dynhp.triggers import Due, Every, LineSoFar
from dynhp.triggers.contract import ask, goes_by_epochs

if TYPE_CHECKING:
    from dynhp.rounds.settings import AdapterView
    from dynhp.rounds.steps import TrainStretch
    from dynhp.rounds.tries import RoundTries

__all__ = ["MainLine", "Origin"]


class _Back(NamedTuple):
    """The main line was put back, and a round is due there: the one with this index."""

    round: int
    epoch: int
    due: Due


class MainLine:
    """The main line of one adapter.

    All of it follows from the rounds that are recorded, and from what belongs to the round of one
    index: so whatever interrupts a round, it is that of the rounds that have been.
    """

    def __init__(self, adapter: AdapterView) -> None:
        self._adapter = adapter
        self.trigger = watched_trigger(adapter)
        self.clockwork = goes_by_epochs(self.trigger)  # and need not see what was measured
        self.held = HeldStates(adapter.start_from, adapter.snapshots)
        self.seen = SeenLine(adapter, measured=not self.clockwork)
        self._back: _Back | None = None
        # A round of Every ends when the next one is due, so that nothing looks inside of it.
        self._in_whole_rounds = (
            isinstance(adapter.when, Every)
            and adapter.start_from == "here"
            and adapter.record_every is None
        )

    def _put_back(self, rounds: Sequence[Round]) -> _Back | None:
        return self._back if self._back and self._back.round == len(rounds) else None

    def epoch(self, rounds: Sequence[Round]) -> int:
        """The epochs of the main line so far."""
        back = self._put_back(rounds)
        return _end(rounds) if back is None else back.epoch

    def tried(self, rounds: Sequence[Round]) -> Sequence[Round]:
        """The rounds with tries: all that proposers and selections look at."""
        if self._adapter.adapt_every is not None and self._adapter.record_every is None:
            return rounds  # the very same list, which grows
        return [round_ for round_ in rounds if round_.tries]

    def due(self, rounds: Sequence[Round], begun: Round | None = None) -> Due | None:
        """Whether the next round (or the one that was begun) has tries, and why."""
        if begun is not None:
            return Due(because=begun.because, alarm=begun.rescue) if begun.tries else None
        try:
            return self._due_next(rounds)
        except RescuesSpent:  # a loop was left in what broke
            broken = ask(self.trigger, self.seen.line) or Due()
            healthy = self.held.pick(len(rounds), broken, self.seen.line.epoch)
            if healthy is not None:
                move_to(self._adapter.trainer, self.held.get(healthy))
            raise

    def _due_next(self, rounds: Sequence[Round]) -> Due | None:
        if back := self._put_back(rounds):
            return back.due
        return self.ask(self.seen.before(rounds, _end(rounds)), rounds)

    def ask(
        self, line: LineSoFar, rounds: Sequence[Round], under_way: Due | None = None
    ) -> Due | None:
        """What the trigger answers, where there may be another round after these."""
        due, adapter = ask(self.trigger, line), self._adapter
        if due is None or (adapter.max_rounds is None and not self.is_rescue(due)):
            return due
        had = self.had(rounds, under_way)
        if not self.is_rescue(due):
            return due if had[False] < (adapter.max_rounds or 0) else None
        if had[True] < adapter.max_rescues:
            return due
        raise RescuesSpent(
            f"the main line broke after {line.epoch} epochs ({due.because}), and all "
            f"{adapter.max_rescues} rescues are spent; the trainer is back in a healthy state from "
            "before. Lower the value at the start, or allow more with max_rescues="
        )

    def had(self, rounds: Sequence[Round], under_way: Due | None) -> Counter[bool]:
        """How many rounds with tries there were, by whether they were rescues."""
        had = Counter(round_.rescue for round_ in rounds if round_.tries)
        if under_way is not None:
            had[self.is_rescue(under_way)] += 1
        return had

    def is_rescue(self, due: Due | None) -> bool:
        """Whether such a round is a rescue."""
        return due is not None and due.alarm and self._adapter.max_rescues > 0

    def is_over(self, rounds: Sequence[Round], epochs: int) -> bool:
        """Whether the main line has so many epochs, and nothing broke in the last of them."""
        if self.epoch(rounds) < epochs:
            return False
        try:
            return not (self._adapter.max_rescues and self.is_rescue(self._due_next(rounds)))
        except RescuesSpent:
            return False  # going on says so, in a healthy state

    def begin(self, rounds: Sequence[Round], due: Due | None, begun: Round | None = None) -> Origin:
        """Bring the trainer to where the next round starts, or take up the one that was begun."""
        if begun is not None:
            return self._take_up(rounds, begun)
        trainer, index = self._adapter.trainer, len(rounds)
        if self.held.start_from == "here":
            epoch = self.seen.before(rounds, _end(rounds)).epoch
            self.seen.begin()
            return Origin(trainer.get_state(), epoch, 0)
        epoch, failed = self.epoch(rounds), bool(rounds) and rounds[-1].failure is not None
        chosen = None
        if self._put_back(rounds) is None:
            if not failed and not (due and due.alarm):
                self._hold_newest(rounds, epoch)
            chosen = None if due is None else self.held.pick(index, due, epoch)
        if chosen is None or (chosen.epoch == epoch and not failed):
            state = trainer.get_state()
        else:
            state, epoch = self.held.get(chosen), chosen.epoch
            move_to(trainer, state)
            self._back = _Back(index, epoch, due or Due())
        self.seen.before(rounds, epoch)
        self.seen.begin()
        self.held.begin(index, epoch, state)
        return Origin(state, epoch, _end(rounds) - epoch, inner=self._inner_rule(epoch))

    def _inner_rule(self, epoch: int) -> InnerRule | None:
        """Which states inside of a try are wanted, should the main line go on from its end."""
        adapter = self._adapter
        if self.held.start_from != "best" or restarts(adapter):
            return None
        best = self.held.best_score()
        return InnerRule(criterion=adapter.criterion, start=epoch, planned=adapter.epochs, bar=best)

    def _hold_newest(self, rounds: Sequence[Round], epoch: int) -> None:
        """The epoch after which a round is due, or a loop was left, may itself be the best."""
        newest = rounds[-1].measured[-1:] if rounds and self.held.start_from == "best" else ()
        for number, metrics in newest:
            self.hold(epoch, metrics if number == epoch - 1 else None)

    def _take_up(self, rounds: Sequence[Round], begun: Round) -> Origin:
        """Go on in the middle of a round, in whose stretch the trainer is."""
        due = self.due(rounds, begun)
        if due is not None and begun.abandoned:
            self._back = _Back(len(rounds), begun.start, due)
        line = self.seen.before([*rounds, begun], begun.start + begun.epochs)
        self.seen.begin()
        self.held.take_up(len(rounds))
        over = False
        if line.epoch > max(line.since, begun.start):  # it was left before its last epoch was seen
            try:
                over = self.ask(line, rounds, due) is not None
            except RescuesSpent:  # it was left in what broke; where the round began, nobody has
                move_to(self._adapter.trainer, self.held.newest())
                raise
            if not over:
                self.hold(line.epoch, dict(begun.measured).get(line.epoch - 1))
        return Origin(self._adapter.trainer.get_state(), begun.start, begun.abandoned, over)

    def tries_ended(self, origin: Origin, tries: RoundTries, done: int) -> None:
        """The main line goes on from a kept try, whose state the trainer is in."""
        winner = tries.winner().own
        self.seen.tries_ended(origin.epoch + origin.abandoned, origin.epoch, winner, done)
        # A state that no trigger has looked at is not called healthy; a score speaks for itself.
        if done and self.held.start_from == "best":
            if (inner := tries.take_inner()) is not None:
                self.held.look(inner.epoch, lambda: inner.score, lambda: inner.state)
            self.hold(origin.epoch + done, dict(winner.measured).get(done - 1))

    def hold(self, epoch: int, metrics: Metrics | None) -> None:
        """Keep the state that the main line is in after this epoch, where that is wanted."""
        adapter = self._adapter

        def worth() -> float:
            if metrics is None:
                return math.nan
            return score(adapter.criterion, [metrics], Progress(epoch, adapter.epochs))

        self.held.look(epoch, worth, adapter.trainer.get_state)

    def watch_over(self, stretch: TrainStretch, rounds: Sequence[Round], due: Due | None) -> None:
        """Have a stretch looked at where that is needed; it is over where a round is due at once.

        That is asked where tries have ended; of those that led back to their start, no epoch is on
        the main line, and it was asked there already.
        """
        if self._in_whole_rounds:
            return
        line = self.seen.line
        if due is not None and stretch.epochs and (line.began or 0) < line.epoch == line.since:
            stretch.epochs = 0 if self.ask(line, rounds, due) is not None else stretch.epochs
        watch = StretchWatch(self, rounds, due, max_rescues=self._adapter.max_rescues)
        stretch.watch = watch if watch.looks_within(stretch.epochs) else None

    def state(self, rounds: Sequence[Round]) -> dict[str, Any]:
        """What decides the future beside the rounds; nothing where rounds start from here."""
        plain: dict[str, Any] = {}
        if held := self.held.plain(len(rounds)):
            plain["held"] = held
        if growing := self.held.grown(len(rounds)):
            plain["growing"] = growing
        if back := self._put_back(rounds):
            due = {"because": back.due.because, "alarm": back.due.alarm}
            plain["back"] = {"epoch": back.epoch, **due}
        return plain

    def load(self, rounds: Sequence[Round], plain: Mapping[str, Any]) -> None:
        """Take back what ``state`` gave."""
        self.seen.begin()  # what was seen before belongs to other rounds
        self.held.load(len(rounds), plain.get("held", ()), plain.get("growing", ()))
        self._back = None
        if back := plain.get("back"):
            due = Due(because=str(back["because"]), alarm=bool(back["alarm"]))
            self._back = _Back(len(rounds), int(back["epoch"]), due)


def _end(rounds: Sequence[Round]) -> int:
    return rounds[-1].start + rounds[-1].epochs if rounds else 0
