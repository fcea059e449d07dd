"""The tries of one round while they run: scored as they end, losers' states dropped at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from dynhp.errors import AllTriesFailed, ContractError
from dynhp.records import Candidate, Metrics, Round, RoundStarted, Try
from dynhp.records.text import failures_text
from dynhp.rounds.jobs import UNKNOWN_STATE, Job, Outcome, kept_and_end
from dynhp.rounds.repeat import REPEATS, RepeatRun, SelfCheck
from dynhp.rounds.running_try import RunningTry, Standings, begun_try, standings
from dynhp.rounds.steps import TrainStretch
from dynhp.selection import Ranking, Stage, reason
from dynhp.tails.rules import NO_TAIL, TailRules
from dynhp.trainer import State

__all__ = ["RoundTries", "StageRun"]

NOT_DUE = "no round was due"


@dataclass(slots=True, eq=False, kw_only=True)
class StageRun:
    """One stage of a wave of tries: jobs to carry out, and their outcomes, taken one by one."""

    round_tries: RoundTries
    tries: list[RunningTry]
    stage: Stage
    standings: Standings
    last: bool  # whether a try that ends here has ended for good
    outcomes_taken: int = 0

    def jobs(self) -> list[Job]:
        """What to train from where; made again each time, so that no state is held for longer."""
        return list(map(self._job, self.tries))

    def begun(self) -> list[int]:
        """The epochs that each try has already."""
        return [running.record.epochs for running in self.tries]

    def places(self) -> list[int | None]:
        """The place of each try among those of the round."""
        return [running.place for running in self.tries]

    def _job(self, running: RunningTry) -> Job:
        return Job(
            origin=running.state,
            candidate=running.record.candidate,
            epochs=self.stage.epochs,
            seed=None if running.record.epochs else running.record.seed,
            watch=self.round_tries.watch,
            **self.round_tries.rules.of_job(
                running.record.candidate, checked=self.round_tries.check is not None
            ),
        )

    def take_outcome(self, outcome: Outcome) -> None:
        """Take the next outcome; states that can no longer win are dropped before its own."""
        if self.outcomes_taken == len(self.tries):
            raise ContractError(
                f"an executor gave more outcomes than its {self.outcomes_taken} jobs"
            )
        running = self.tries[self.outcomes_taken]
        self.outcomes_taken += 1
        check = None if running.record.epochs else self.round_tries.check
        look = None if check is None else partial(check.look_at, self._job(running))
        tail = max(0, outcome.epochs - self.stage.epochs)
        running.add(outcome, self.round_tries.score, tail=tail)
        leads = self.standings.add(running)
        state = UNKNOWN_STATE if look is None else look(outcome)
        if leads and self.round_tries.rules.keeps:
            if state is not UNKNOWN_STATE:
                running.state = state
            elif outcome.in_place and self.outcomes_taken == len(self.tries):
                running.in_trainer = outcome  # nothing follows that could overwrite it
            else:
                running.state, _ = kept_and_end(outcome.keep())
        if self.last:
            self.round_tries.announce(running.record)


@dataclass(slots=True, eq=False, kw_only=True)
class RoundTries:
    """All tries of a round, holding as few states as possible: origin, best and current."""

    started: RoundStarted
    origin: State
    current: Candidate  # the value in force
    score: Callable[[Sequence[Metrics], int], float]
    ranking: Ranking
    watch: tuple[str, ...]  # metrics that must stay finite
    announce: Callable[[Try], None]
    check: SelfCheck | None = None  # where this round proves its promise
    seed: int | None = None  # of all tries, where a rescue must not meet the same data again
    because: str = ""
    rescue: bool = False
    rules: TailRules = NO_TAIL
    tries: list[RunningTry] = field(default_factory=list)
    best: RunningTry | None = None

    @property
    def records(self) -> tuple[Try, ...]:
        """The records of all tries, in the order they were proposed."""
        return tuple([running.record for running in self.tries])  # a list is faster

    def stages(
        self, wave: Sequence[tuple[Candidate, int | None]], stages: Sequence[Stage]
    ) -> Iterator[StageRun]:
        """Take a wave of (candidate, seed) through its stages, one after the other."""
        tries = [
            self._running(candidate, seed, place)
            for place, (candidate, seed) in enumerate(wave, start=len(self.tries))
        ]
        self.tries += tries
        self.rules.require_stages(stages)
        best_of_earlier_waves = [] if self.best is None else [self.best]
        for number, stage in enumerate(stages, start=1):
            last = number == len(stages)
            leaders = best_of_earlier_waves if last else []
            stage_run = self._stage_run(tries, stage, leaders, last=last)
            if tries:
                yield stage_run
            if stage_run.outcomes_taken < len(tries):
                raise ContractError(
                    f"an executor gave only {stage_run.outcomes_taken} outcomes for "
                    f"{len(tries)} jobs"
                )
            leaders = stage_run.standings.leaders
            self.best = leaders[0] if leaders else None
            if not last:
                tries = self._going_on(tries, leaders)

    def _going_on(self, tries: list[RunningTry], leaders: list[RunningTry]) -> list[RunningTry]:
        """Those that go on after a stage; the others have ended, which is only known now."""
        on = set(map(id, leaders))
        for running in tries:
            if id(running) not in on:
                self.announce(running.record)
        return [running for running in tries if id(running) in on]

    def _running(self, candidate: Candidate, seed: int | None, place: int) -> RunningTry:
        return RunningTry(begun_try(candidate, seed, self.started.unit), self.origin, place)

    def _stage_run(
        self, tries: list[RunningTry], stage: Stage, leaders: list[RunningTry], *, last: bool
    ) -> StageRun:
        self._take_states()
        return StageRun(
            round_tries=self,
            tries=tries,
            stage=stage,
            standings=standings(self.ranking, stage.keep, leaders, self.current),
            last=last,
        )

    def _take_states(self) -> None:
        for running in self.tries:
            running.take_state()  # the jobs to come will use the trainer

    def repeats(self) -> list[RepeatRun]:
        """The repeats of one try, where this round is checked and one has succeeded."""
        if self.check is None or self.check.reference is None:
            return []
        self.check.require_used(len(self.tries))
        self._take_states()
        return [RepeatRun(self.check)] * REPEATS

    def winner(self, *, in_force: bool = False) -> Try:
        """The try that is kept, or an error that lists each candidate with what went wrong.

        ``in_force``: it must be that of the value in force, as in a dry run.
        """
        if in_force:
            its = (each for each in self.tries if each.record.candidate == self.current)
            self.best = next((each for each in its if each.record.error is None), None)
        if self.best is not None:
            return self.best.record
        raise AllTriesFailed(
            f"all tries of round {self.started.index} failed; the trainer is back at the round's "
            f"start. Widen the space or fix the trainer:\n{failures_text(self.records)}"
        )

    def take_winner_state(self) -> State:
        """The winner's state (UNKNOWN_STATE: the trainer is in it already); all are dropped."""
        assert self.best is not None
        state = self.best.state
        for running in self.tries:
            running.drop_state()
        return state

    def stretch(self, epochs: int, *, done: int, seed: int | None, began: float) -> TrainStretch:
        """The step that trains the main line on, until the round has so many epochs."""
        winner = None if self.best is None else self.best.record.candidate
        corrected = self.rules.corrected(winner)  # once: nobody says that it is the same again
        record = partial(self._record_round, corrected, done=done, seed=seed, began=began)
        return TrainStretch(
            corrected or winner or self.current,
            epochs - done,
            record,
            kept=self.best.place if self.best is not None and done else None,
            start=self.started.start + done,
        )

    def _record_round(
        self,
        corrected: Candidate | None,
        stretch: TrainStretch,
        *,
        done: int,
        seed: int | None,
        began: float,
    ) -> Round:
        """The record of the round, after its stretch; one without tries has no winner."""
        chosen, why, metrics, records = -1, NOT_DUE, stretch.metrics, self.records
        if self.best is not None:
            chosen = self.best.place
            why = reason(records, chosen, self.current)
            metrics = stretch.metrics if stretch.epochs else _at_the_end(self.best.record, done)
        end = self.started.start + done + stretch.epochs
        return Round(
            index=self.started.index,
            start=self.started.start,
            epochs=done + stretch.epochs,
            previous=self.current,
            tries=records,
            chosen=chosen,
            reason=why,
            metrics=metrics,
            seed=seed,
            restarted=done == 0 and chosen >= 0,
            checked=0 if self.check is None else self.check.epochs,
            tolerance=0.0 if self.check is None else self.check.tolerance,
            stretch=tuple([each for each in stretch.measured if each[0] < end - 1]),
            seconds=time.perf_counter() - began,
            because=self.because,
            rescue=self.rescue,
            abandoned=self.started.abandoned,
            failure=stretch.failure,
            corrected=corrected,
            unit=self.started.unit,
        )


def _at_the_end(winner: Try, done: int) -> Metrics:
    return dict(winner.own.measured).get(done - 1, {})
