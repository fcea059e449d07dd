"""Tries while their round goes on: records so far, which lead, and their states until they lose."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from dynhp.errors import ContractError
from dynhp.main_line.inner import InnerRule, InnerState, KeptAndInner
from dynhp.records import Candidate, Metrics, Try, Unit
from dynhp.rounds.jobs import UNKNOWN_STATE, Outcome
from dynhp.selection import Ranking
from dynhp.trainer import State

__all__ = ["RunningTry", "Standings", "begun_try", "standings"]


def begun_try(candidate: Candidate, seed: int | None, unit: Unit) -> Try:
    """The record of a try before its first epoch."""
    return Try(candidate=candidate, series=(), epochs=0, score=math.nan, seed=seed, unit=unit)


@dataclass(slots=True, eq=False)
class RunningTry:
    """One try under way: its record so far, and its state for as long as it may still win."""

    record: Try
    state: State
    place: int = 0  # among the tries of its round
    in_trainer: Outcome | None = None  # where its end state is in the trainer, not yet taken out
    inner: InnerState | None = None  # the best of its epochs before the end, where that is wanted

    def add(
        self, outcome: Outcome, score: Callable[[Sequence[Metrics], int], float], *, tail: int = 0
    ) -> None:
        """Add what came of a job to the record; its last epochs may have been those of a tail."""
        series = self.record.series + outcome.series
        reported = _reported(self.record, outcome)
        epochs = self.record.epochs + outcome.epochs
        own = epochs - tail
        in_tail = max(0, len(series) - own)
        if reported:
            in_tail = sum(number > own for number in reported)
        self.state = UNKNOWN_STATE  # the state it started from is not needed any more
        self.record = Try(
            candidate=self.record.candidate,
            series=series,
            epochs=epochs,
            score=score(series, in_tail) if series and not outcome.error else math.nan,
            error=outcome.error,
            seed=self.record.seed,
            seconds=self.record.seconds + outcome.seconds,
            reported=reported,
            tail=tail,
            unit=self.record.unit,
        )

    def take_state(self) -> None:
        """Take the state out of the trainer, where that has not been done yet."""
        if self.in_trainer is not None:
            self.state, self.in_trainer = self.in_trainer.keep(), None

    def keep(self, kept: State) -> None:
        """Keep the state that is kept of a job, and a better one inside of it, where it has one."""
        if isinstance(kept, KeptAndInner):
            kept, self.inner = kept.state, kept.inner
        self.state = kept

    def go_on(self, rule: InnerRule) -> None:
        """Another stage follows: where this one ended is then inside of the try."""
        epochs = self.record.epochs
        metrics = dict(self.record.measured).get(epochs - 1)
        worth = None if metrics is None else rule.worth(epochs, metrics, self.inner)
        if worth is not None:
            self.inner = rule.state(epochs, worth, self.state)

    def drop_state(self) -> None:
        """Forget the states, so that their memory is free."""
        self.state, self.in_trainer, self.inner = UNKNOWN_STATE, None, None


def _reported(record: Try, outcome: Outcome) -> tuple[int, ...]:
    """Which epochs of the whole try the series belongs to; empty where there is no gap."""
    if not record.reported and not outcome.reported and len(record.series) == record.epochs:
        return ()
    new = outcome.reported or range(1, len(outcome.series) + 1)
    before = record.reported or range(1, len(record.series) + 1)
    return (*before, *(record.epochs + number for number in new))


class Standings(Protocol):
    """The tries that would go on if the stage ended now."""

    leaders: list[RunningTry]  # the best first

    def add(self, running: RunningTry) -> bool:
        """Rank the tries with one more; whether that is one of the leaders."""
        ...


def standings(
    ranking: Ranking, keep: int, leaders: Sequence[RunningTry], current: Candidate
) -> Standings:
    """The standings of a stage that begins with these leaders, of earlier waves."""
    key = getattr(ranking, "key", None)  # isinstance with a Protocol takes ten times as long
    if key is not None:
        return _ByKey(key, keep, list(leaders))
    in_force = next((each for each in leaders if each.record.candidate == current), None)
    return _Asked(ranking, keep, current, list(leaders), list(leaders), in_force)


@dataclass(slots=True, eq=False)
class _ByKey:
    """By keys: a try finds its place by halving, so that n of them take n log n."""

    key: Callable[[Try], Any]
    keep: int
    leaders: list[RunningTry]

    def add(self, running: RunningTry) -> bool:
        key: Any = self._key(running)
        if key is None:
            return False
        place = bisect_right(self.leaders, key, key=self._key)
        if place >= self.keep:
            return False
        self.leaders.insert(place, running)
        if len(self.leaders) > self.keep:
            self.leaders.pop().drop_state()
        return True

    def _key(self, running: RunningTry) -> Any:
        return self.key(running.record)


@dataclass(slots=True, eq=False)
class _Asked:
    """By a ranking of its own, which is asked again each time."""

    ranking: Ranking
    keep: int
    current: Candidate
    leaders: list[RunningTry]
    compared: list[RunningTry]  # the leaders and the value in force, in the order they came
    in_force: RunningTry | None  # the first try of the value in force, once it has come

    def add(self, running: RunningTry) -> bool:
        # A try that fell behind is never ranked again: its state is gone.
        self.compared.append(running)
        order = self.ranking([each.record for each in self.compared])
        leaders = [self.compared[place] for place in order[: self.keep]]
        now = set(map(id, leaders))
        if not now.difference(map(id, self.leaders)) <= {id(running)}:
            raise ContractError(
                f"the ranking {self.ranking!r} went back to a try it had put behind "
                "another; with one try more, those already in front may only stay or fall behind it"
            )
        for each in self.leaders:
            if id(each) not in now:
                each.drop_state()
        self.leaders = leaders
        if self.in_force is None and running.record.candidate == self.current:
            self.in_force = running
        self.compared = [each for each in self.compared if each is self.in_force or id(each) in now]
        return id(running) in now
