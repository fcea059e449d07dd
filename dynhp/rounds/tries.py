"""The tries of one round while they run: scored as they come, losers' states dropped at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from dynhp.errors import ContractError
from dynhp.records import Candidate, Metrics, Try
from dynhp.rounds.jobs import UNKNOWN_STATE, Job, Outcome
from dynhp.selection import Ranking, Stage
from dynhp.trainer import State

__all__ = ["RoundTries", "RunningTry", "Heat"]


@dataclass(slots=True, eq=False)
class RunningTry:
    """One try under way: its record so far, and its state for as long as it may still win."""

    record: Try
    state: State
    parked: Outcome | None = None  # its state is still in the trainer and not taken out yet

    def absorb(self, outcome: Outcome, judge: Callable[[Sequence[Metrics]], float]) -> None:
        """Add what came of a job to the record."""
        series = self.record.series + outcome.series
        self.state = UNKNOWN_STATE  # where it started from has served
        self.record = Try(
            candidate=self.record.candidate,
            series=series,
            epochs=self.record.epochs + outcome.epochs,
            score=math.nan if outcome.error else judge(series),
            error=outcome.error,
            seed=self.record.seed,
            seconds=self.record.seconds + outcome.seconds,
        )

    def take(self) -> State:
        """The state, taken out of the trainer where that has not been done yet."""
        if self.parked is not None:
            self.state, self.parked = self.parked.keep(), None
        return self.state

    def drop(self) -> None:
        """Let the state go."""
        self.state, self.parked = UNKNOWN_STATE, None


@dataclass(slots=True, eq=False, kw_only=True)
class Heat:
    """One stage of a wave of tries: jobs to carry out, told one by one what came of them."""

    entrants: list[RunningTry]
    stage: Stage
    judge: Callable[[Sequence[Metrics]], float]
    ranking: Ranking
    watch: tuple[str, ...]
    current: Candidate
    leaders: list[RunningTry]  # those that would go on if the heat ended now, the best first
    pool: list[RunningTry]  # the leaders and the value in force, in the order they came
    told: int = 0

    def jobs(self) -> list[Job]:
        """What to train from where; made anew each time, so that no state is held for longer."""
        return [
            Job(
                origin=entrant.state,
                candidate=entrant.record.candidate,
                epochs=self.stage.epochs,
                seed=None if entrant.record.epochs else entrant.record.seed,
                watch=self.watch,
            )
            for entrant in self.entrants
        ]

    def tell(self, outcome: Outcome) -> None:
        """Take the next outcome; states that can no longer win are let go before one is taken."""
        if self.told == len(self.entrants):
            raise ContractError(f"an executor gave more outcomes than its {self.told} jobs")
        entrant = self.entrants[self.told]
        self.told += 1
        entrant.absorb(outcome, self.judge)
        # Those behind the leaders cannot come back, so that a try costs the same in any company.
        self.pool.append(entrant)
        order = self.ranking([each.record for each in self.pool])
        leaders = [self.pool[place] for place in order[: self.stage.keep]]
        if not all(each is entrant or each in self.leaders for each in leaders):
            raise ContractError(
                f"the ranking {self.ranking!r} went back to a try it had put behind another; "
                "with one try more, those already in front may only stay or fall behind it"
            )
        for each in self.leaders:
            if each not in leaders:
                each.drop()
        self.leaders = leaders
        held = next((each for each in self.pool if each.record.candidate == self.current), None)
        self.pool = [each for each in self.pool if each is held or each in leaders]
        if entrant in leaders:
            if outcome.in_place and self.told == len(self.entrants):
                entrant.parked = outcome  # nothing follows that could overwrite it: wait and see
            else:
                entrant.state = outcome.keep()


class RoundTries:
    """All tries of a round, holding as few states as can be: origin, best and the one under way."""

    def __init__(
        self,
        origin: State,
        *,
        current: Candidate,
        judge: Callable[[Sequence[Metrics]], float],
        ranking: Ranking,
        watch: tuple[str, ...],
        announce: Callable[[Try], None],
    ) -> None:
        self._origin = origin
        self._current = current
        self._judge = judge
        self._ranking = ranking
        self._watch = watch
        self._announce = announce
        self._entrants: list[RunningTry] = []
        self._finalist: RunningTry | None = None

    @property
    def tries(self) -> tuple[Try, ...]:
        """The records of all tries, in the order they were proposed."""
        return tuple(entrant.record for entrant in self._entrants)

    def heats(
        self, wave: Sequence[tuple[Candidate, int | None]], stages: Sequence[Stage]
    ) -> Iterator[Heat]:
        """Take a wave of (candidate, seed) through its stages, one heat after the other."""
        entrants = [self._entrant(candidate, seed) for candidate, seed in wave]
        self._entrants += entrants
        rivals = () if self._finalist is None else (self._finalist,)
        for number, stage in enumerate(stages, start=1):
            last = number == len(stages)
            heat = self._heat(entrants, stage, rivals if last else ())
            if entrants:
                yield heat
            if heat.told < len(entrants):
                raise ContractError(
                    f"an executor gave only {heat.told} outcomes for {len(entrants)} jobs"
                )
            leaders = heat.leaders
            for entrant in entrants:
                if last or entrant not in leaders:
                    self._announce(entrant.record)
            entrants = [entrant for entrant in entrants if entrant in leaders]
            self._finalist = leaders[0] if leaders else None

    def _entrant(self, candidate: Candidate, seed: int | None) -> RunningTry:
        record = Try(candidate=candidate, series=(), epochs=0, score=math.nan, seed=seed)
        return RunningTry(record, self._origin)

    def _heat(
        self, entrants: list[RunningTry], stage: Stage, rivals: tuple[RunningTry, ...]
    ) -> Heat:
        for entrant in self._entrants:
            entrant.take()  # the jobs to come will use the trainer
        return Heat(
            entrants=entrants,
            stage=stage,
            judge=self._judge,
            ranking=self._ranking,
            watch=self._watch,
            current=self._current,
            leaders=list(rivals),
            pool=list(rivals),
        )

    def winner(self) -> int | None:
        """The place of the try that is kept, None where all failed."""
        return None if self._finalist is None else self._entrants.index(self._finalist)

    def settle(self) -> State:
        """The winner's state (UNKNOWN_STATE: the trainer is in it already); all are let go."""
        winner = self._finalist
        assert winner is not None
        state = UNKNOWN_STATE if winner.parked is not None else winner.state
        for entrant in self._entrants:
            entrant.drop()
        return state


@dataclass(slots=True)
class Tries:
    """Carry out the heat's jobs and tell it each outcome in order; the trainer is at ``at``."""

    heat: Heat
    at: State


@dataclass(slots=True)
class Stretch:
    """Train the main line on; a driver that stops early says so in ``epochs``."""

    candidate: Candidate
    epochs: int
    metrics: Metrics = field(default_factory=dict)


Work: TypeAlias = Tries | Stretch
