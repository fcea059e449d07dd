"""The tries of one round while they run: scored as they end, losers' states dropped at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from dynhp.errors import AllTriesFailed, ContractError
from dynhp.records import Candidate, Metrics, Round, RoundStarted, Try
from dynhp.rounds.jobs import UNKNOWN_STATE, Job, Outcome
from dynhp.selection import Ranking, Stage, reason
from dynhp.trainer import State

__all__ = ["CarryOutTries", "RoundTries", "RunningTry", "StageRun", "Step", "TrainStretch"]


@dataclass(slots=True, eq=False)
class RunningTry:
    """One try under way: its record so far, and its state for as long as it may still win."""

    record: Try
    state: State
    in_trainer: Outcome | None = None  # where its end state is in the trainer, not yet taken out

    def add(self, outcome: Outcome, score: Callable[[Sequence[Metrics]], float]) -> None:
        """Add what came of a job to the record."""
        series = self.record.series + outcome.series
        self.state = UNKNOWN_STATE  # the state it started from is not needed any more
        self.record = Try(
            candidate=self.record.candidate,
            series=series,
            epochs=self.record.epochs + outcome.epochs,
            score=math.nan if outcome.error else score(series),
            error=outcome.error,
            seed=self.record.seed,
            seconds=self.record.seconds + outcome.seconds,
        )

    def take_state(self) -> None:
        """Take the state out of the trainer, where that has not been done yet."""
        if self.in_trainer is not None:
            self.state, self.in_trainer = self.in_trainer.keep(), None

    def drop_state(self) -> None:
        """Forget the state, so that its memory is free."""
        self.state, self.in_trainer = UNKNOWN_STATE, None


@dataclass(slots=True, eq=False, kw_only=True)
class StageRun:
    """One stage of a wave of tries: jobs to carry out, and their outcomes, taken one by one."""

    round_tries: RoundTries
    tries: list[RunningTry]
    stage: Stage
    leaders: list[RunningTry]  # those that would go on if the stage ended now, the best first
    compared: list[RunningTry]  # the leaders and the value in force, in the order they came
    outcomes_taken: int = 0

    def jobs(self) -> list[Job]:
        """What to train from where; made again each time, so that no state is held for longer."""
        return [
            Job(
                origin=running.state,
                candidate=running.record.candidate,
                epochs=self.stage.epochs,
                seed=None if running.record.epochs else running.record.seed,
                watch=self.round_tries.watch,
            )
            for running in self.tries
        ]

    def take_outcome(self, outcome: Outcome) -> None:
        """Take the next outcome; states that can no longer win are dropped before its own."""
        if self.outcomes_taken == len(self.tries):
            raise ContractError(
                f"an executor gave more outcomes than its {self.outcomes_taken} jobs"
            )
        running = self.tries[self.outcomes_taken]
        self.outcomes_taken += 1
        running.add(outcome, self.round_tries.score)
        self._rank(running)
        if running in self.leaders:
            if outcome.in_place and self.outcomes_taken == len(self.tries):
                running.in_trainer = outcome  # nothing follows that could overwrite it
            else:
                running.state = outcome.keep()

    def _rank(self, running: RunningTry) -> None:
        # A try that fell behind is never ranked again: its state is gone.
        self.compared.append(running)
        order = self.round_tries.ranking([each.record for each in self.compared])
        leaders = [self.compared[place] for place in order[: self.stage.keep]]
        if not all(each is running or each in self.leaders for each in leaders):
            raise ContractError(
                f"the ranking {self.round_tries.ranking!r} went back to a try it had put behind "
                "another; with one try more, those already in front may only stay or fall behind it"
            )
        for each in self.leaders:
            if each not in leaders:
                each.drop_state()
        self.leaders = leaders
        in_force = (
            each for each in self.compared if each.record.candidate == self.round_tries.current
        )
        first = next(in_force, None)
        self.compared = [each for each in self.compared if each is first or each in leaders]


@dataclass(slots=True)
class CarryOutTries:
    """A step: carry out the stage's jobs and let it take the outcomes; the trainer is at ``at``."""

    stage: StageRun
    at: State


@dataclass(slots=True)
class TrainStretch:
    """A step: train the main line on; a driver that stops early says so in ``epochs``."""

    candidate: Candidate
    epochs: int
    metrics: Metrics = field(default_factory=dict)


Step: TypeAlias = CarryOutTries | TrainStretch
"""What a driver of a round carries out next."""


@dataclass(slots=True, eq=False, kw_only=True)
class RoundTries:
    """All tries of a round, holding as few states as possible: origin, best and current."""

    started: RoundStarted
    origin: State
    current: Candidate  # the value in force
    score: Callable[[Sequence[Metrics]], float]
    ranking: Ranking
    watch: tuple[str, ...]  # metrics that must stay finite
    announce: Callable[[Try], None]
    tries: list[RunningTry] = field(default_factory=list)
    best: RunningTry | None = None

    @property
    def records(self) -> tuple[Try, ...]:
        """The records of all tries, in the order they were proposed."""
        return tuple(running.record for running in self.tries)

    def stages(
        self, wave: Sequence[tuple[Candidate, int | None]], stages: Sequence[Stage]
    ) -> Iterator[StageRun]:
        """Take a wave of (candidate, seed) through its stages, one after the other."""
        tries = [self._running(candidate, seed) for candidate, seed in wave]
        self.tries += tries
        best_of_earlier_waves = [] if self.best is None else [self.best]
        for number, stage in enumerate(stages, start=1):
            last = number == len(stages)
            stage_run = self._stage_run(tries, stage, best_of_earlier_waves if last else [])
            if tries:
                yield stage_run
            if stage_run.outcomes_taken < len(tries):
                raise ContractError(
                    f"an executor gave only {stage_run.outcomes_taken} outcomes for "
                    f"{len(tries)} jobs"
                )
            leaders = stage_run.leaders
            for running in tries:
                if last or running not in leaders:
                    self.announce(running.record)
            tries = [running for running in tries if running in leaders]
            self.best = leaders[0] if leaders else None

    def _running(self, candidate: Candidate, seed: int | None) -> RunningTry:
        record = Try(candidate=candidate, series=(), epochs=0, score=math.nan, seed=seed)
        return RunningTry(record, self.origin)

    def _stage_run(
        self, tries: list[RunningTry], stage: Stage, leaders: list[RunningTry]
    ) -> StageRun:
        for running in self.tries:
            running.take_state()  # the jobs to come will use the trainer
        return StageRun(
            round_tries=self, tries=tries, stage=stage, leaders=leaders, compared=list(leaders)
        )

    def winner(self) -> Try:
        """The try that is kept, or an error that lists each candidate with what went wrong."""
        if self.best is not None:
            return self.best.record
        lines = (
            f"  {dict(try_.candidate)}: "
            f"{(try_.error or 'overtaken by one that failed later').splitlines()[0]}"
            for try_ in self.records
        )
        raise AllTriesFailed(
            f"all tries of round {self.started.index} failed; the trainer is back at the round's "
            "start. Widen the space or fix the trainer:\n" + "\n".join(lines)
        )

    def take_winner_state(self) -> State:
        """The winner's state (UNKNOWN_STATE: the trainer is in it already); all are dropped."""
        assert self.best is not None
        state = self.best.state
        for running in self.tries:
            running.drop_state()
        return state

    def record_round(
        self, stretch: TrainStretch, *, done: int, seed: int | None, seconds: float
    ) -> Round:
        """The record of the round, after its stretch."""
        assert self.best is not None
        chosen, winner = self.tries.index(self.best), self.best.record
        return Round(
            index=self.started.index,
            start=self.started.start,
            epochs=done + stretch.epochs,
            previous=self.current,
            tries=self.records,
            chosen=chosen,
            reason=reason(self.records, chosen, self.current),
            metrics=stretch.metrics if stretch.epochs else winner.series[-1],
            seed=seed,
            restarted=done == 0,
            seconds=seconds,
        )
