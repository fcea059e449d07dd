"""The tries of one round while they run: scored as they end, losers' states dropped at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from dynhp.errors import AllTriesFailed, ContractError
from dynhp.main_line.inner import InnerRule, InnerState
from dynhp.records import Candidate, Metrics, RoundStarted, Try
from dynhp.records.text import failures_text
from dynhp.rounds.jobs import UNKNOWN_STATE, Job, Outcome, kept_and_end
from dynhp.rounds.record import round_record
from dynhp.rounds.repeat import REPEATS, RepeatRun, SelfCheck
from dynhp.rounds.running_try import RunningTry, Standings, standings
from dynhp.rounds.steps import TrainStretch
from dynhp.selection import Ranking, Stage
from dynhp.tails.rules import NO_TAIL, TailRules
from dynhp.trainer import State

__all__ = ["RoundTries", "StageRun"]


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
        tries, record, epochs = self.round_tries, running.record, self.stage.epochs
        rule = tries.inner_rule
        return Job(
            origin=running.state,
            candidate=record.candidate,
            epochs=epochs,
            seed=None if record.epochs else record.seed,
            watch=tries.watch,
            hold=None if rule is None else rule.of_job(record.epochs, epochs, running.inner),
            **tries.rules.of_job(record.candidate, checked=tries.check is not None),
        )

    def take_outcome(self, outcome: Outcome) -> None:
        """Take the next outcome; states that can no longer win are dropped before its own."""
        if self.outcomes_taken == len(self.tries):
            raise ContractError(
                f"an executor gave more outcomes than its {self.outcomes_taken} jobs"
            )
        round_tries, running = self.round_tries, self.tries[self.outcomes_taken]
        self.outcomes_taken += 1
        check = None if running.record.epochs else round_tries.check
        look = None if check is None else partial(check.look_at, self._job(running))
        tail = max(0, outcome.epochs - self.stage.epochs)
        running.add(outcome, round_tries.score, tail=tail)
        leads = self.standings.add(running)
        state = UNKNOWN_STATE if look is None else look(outcome)
        if leads and round_tries.rules.keeps:
            if state is not UNKNOWN_STATE:
                running.keep(state)
            elif outcome.in_place and self.outcomes_taken == len(self.tries):
                running.in_trainer = outcome  # nothing follows that could overwrite it
            else:
                running.keep(kept_and_end(outcome.keep())[0])
        elif running.inner is not None:
            running.drop_state()  # it may have led up to here
        if self.last:
            round_tries.announce(running.record)


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
    inner_rule: InnerRule | None = None  # which states inside of tries are wanted
    inner: InnerState | None = None  # the winner's, until it is handed on
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
        record = Try(candidate=candidate, series=(), epochs=0, score=math.nan, seed=seed)
        return RunningTry(record, self.origin, place)

    def _stage_run(
        self, tries: list[RunningTry], stage: Stage, leaders: list[RunningTry], *, last: bool
    ) -> StageRun:
        self._take_states()
        if self.inner_rule is not None:
            for running in tries:
                running.go_on(self.inner_rule)
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
        state, self.inner = self.best.state, self.best.inner
        for running in self.tries:
            running.drop_state()
        return state

    def take_inner(self) -> InnerState | None:
        """The best state inside of the winner, where there is one; it is held here no longer."""
        inner, self.inner = self.inner, None
        return inner

    def stretch(self, epochs: int, *, done: int, seed: int | None, began: float) -> TrainStretch:
        """The step that trains the main line on, until the round has so many epochs."""
        winner = None if self.best is None else self.best.record.candidate
        corrected = self.rules.corrected(winner)  # once: nobody says that it is the same again
        record = partial(round_record, self, corrected, done=done, seed=seed, began=began)
        return TrainStretch(
            corrected or winner or self.current,
            epochs - done,
            record,
            kept=self.best.place if self.best is not None and done else None,
            start=self.started.start + done,
        )
