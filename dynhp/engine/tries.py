"""The tries of a round: proposed in waves, run in stages, judged as they end, losers dropped."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from dynhp.best import BestRule
from dynhp.criteria.contract import score
from dynhp.engine.check import SelfCheck
from dynhp.engine.commands import (
    Announce,
    Attempt,
    Command,
    Drop,
    Job,
    Keep,
    Restore,
    Tell,
    Tried,
)
from dynhp.engine.memory import Held, Memory, StateRef
from dynhp.errors import AllTriesFailed, ContractError, shown
from dynhp.policy import Policy
from dynhp.proposers import Known
from dynhp.records import Candidate, Progress, Try
from dynhp.records.history import DRY_RUN
from dynhp.records.text import failures_text
from dynhp.records.units import Unit
from dynhp.selection import Ranking, reason
from dynhp.tails.contract import Searched, corrected, course_values, tail_values

__all__ = ["Chosen", "Setup", "try_candidates"]


class Setup(NamedTuple):
    """What the tries of a round start from, and what is known of the round."""

    policy: Policy
    memory: Memory
    origin: Held  # where each of them starts
    planned: int | None
    unit: Unit
    try_for: int  # the epochs of each try
    rng: np.random.Generator
    seed: int | None  # of all tries, if a rescue must not meet the same data again
    inner_rule: BestRule | None  # which state inside of a try is wanted, for start_from="best"
    check: SelfCheck | None
    per_epoch: int = 1  # how many values of a schedule or a tail an epoch has


class Chosen(NamedTuple):
    """The result of the tries: where the main line goes on, and with which values."""

    tries: tuple[Try, ...]
    place: int  # of the try that is kept
    on_main_line: Try | None  # the part of it that counts; None: the main line is at the origin
    seed: int | None  # that the main line goes on with
    corrected: Candidate | None
    inner: Held | None  # the best intermediate state of that try, if that is wanted
    reason: str  # why that one, in a few words

    @property
    def values(self) -> Candidate:
        """The values that the main line goes on with."""
        return self.tries[self.place].candidate if self.corrected is None else self.corrected


@dataclass(slots=True, eq=False)
class RunningTry:
    """One try under way: its record so far, and the names of its states while it may still win."""

    candidate: Candidate
    seed: int | None
    place: int  # among the tries of its round
    state: StateRef | None  # where its next job starts, or its end state after the last one
    epochs_done: int = 0
    inner: Held | None = None  # the best of its epochs before the end, if that is wanted
    record: Try = field(init=False)  # once its first job has ended


def try_candidates(setup: Setup) -> Generator[Command, Any, Chosen]:
    """Try the candidates and choose one: lines 3 to 6 of Algorithm 1.

    It leaves the trainer in the state from which the main line goes on.
    """
    policy = setup.policy
    current = setup.memory.current
    if setup.check is not None:
        yield from setup.check.begin()
    tries: list[RunningTry] = []
    records: tuple[Try, ...] = ()
    best: RunningTry | None = None
    ranking = policy.selection.ranking(setup.memory.tried, current)
    while wave := next_wave(setup, records):
        tries += wave
        best = yield from run_wave(setup, ranking, wave, best)
        records = tuple([running.record for running in tries])
    if setup.check is not None:
        yield from setup.check.prove(
            setup.origin.ref, tried=len(tries)
        )  # raises if a repeat differs
    if policy.dry_run:  # it keeps the value in force, whichever try won
        yield from drop_states(best)
        plain = (each for each in tries if each.candidate == current and each.record.error is None)
        best = next(plain, None)
    if best is None:
        raise AllTriesFailed(
            f"all tries of round {len(setup.memory.rounds)} failed; the trainer is back at the "
            f"round's start. Widen the space or fix the trainer:\n{failures_text(records)}"
        )
    inner = best.inner  # line 6: argmax of f
    seed = best.seed
    then = policy.then
    if policy.dry_run:  # with the random numbers of a run without tries
        seed = then = None
        yield Restore(setup.origin.ref)
    elif policy.restarts:
        if policy.randomness == "independent":
            seed = draw_seed(setup.rng)
        yield from drop_states(best)
        yield Restore(setup.origin.ref, seed)
    else:
        assert best.state is not None
        yield Restore(best.state)
        yield Drop(best.state)  # the trainer is there, so no copy is needed any more
    on_main_line = None if policy.restarts else best.record.own
    values = None
    if then is not None:
        searched = Searched(policy.space, records, setup.planned)
        values = corrected(then, best.candidate, searched)
    why = DRY_RUN if policy.dry_run else reason(records, best.place, current)
    return Chosen(records, best.place, on_main_line, seed, values, inner, why)


def next_wave(setup: Setup, tries: tuple[Try, ...]) -> list[RunningTry]:
    """The next tries, not begun yet; an empty list if the round has all its tries."""
    policy = setup.policy
    current = setup.memory.current
    known = Known(policy.space, current, setup.memory.tried, tries)
    wave = list(policy.proposer.propose(known, setup.rng))
    if not wave:
        if not tries:
            raise ContractError(f"{shown(policy.proposer)} proposed nothing for a new round")
        if not policy.dry_run or any(each.candidate == current for each in tries):
            return []
        wave = [current]  # a dry run keeps the value in force, so it needs its try
    common = policy.randomness == "common"
    running = []
    for place, candidate in enumerate(wave, start=len(tries)):
        seed = setup.seed if common else draw_seed(setup.rng)
        running.append(RunningTry(admitted(policy, candidate), seed, place, setup.origin.ref))
    return running


def admitted(policy: Policy, candidate: Candidate) -> Candidate:
    """A candidate as the space casts it; refused if it is not in the space."""
    if isinstance(candidate, Candidate) and candidate.admitted_by is policy.space:
        return candidate
    if not policy.space.admits(candidate):
        raise ContractError(
            f"{shown(policy.proposer)} proposed {shown(candidate)}, which is not in "
            f"{shown(policy.space)}"
        )
    cast = policy.space.cast(candidate)
    cast.admitted_by = policy.space
    return cast


def draw_seed(rng: np.random.Generator) -> int:
    """A seed for a trainer."""
    return int(rng.integers(2**63))


def run_wave(
    setup: Setup, ranking: Ranking, wave: list[RunningTry], best_so_far: RunningTry | None
) -> Generator[Command, Any, RunningTry | None]:
    """Take a wave through its stages; return the best try of this wave and of the waves before.

    In each stage, tries train for some more epochs (lines 3 and 4) and are ranked as they end. The
    best of the waves before is compared in the last stage, when all tries are equally long.
    """
    policy = setup.policy
    current = setup.memory.current
    stages = policy.stages(len(wave), setup.try_for)
    for number, stage in enumerate(stages, start=1):
        last = number == len(stages)
        before = [best_so_far] if last and best_so_far is not None else []
        standings = new_standings(ranking, stage.keep, before, current)
        jobs = tuple([next_job(setup, running, stage.epochs) for running in wave])
        if jobs:
            yield Announce(jobs)
        for running, job in zip(wave, jobs, strict=True):
            tried: Tried = yield Attempt(job)
            running.record = judged(setup, running, tried, own=stage.epochs)
            running.epochs_done = running.record.epochs
            running.state = None  # it was where this job started; what it leaves is not kept yet
            fallen = standings.add(running)
            goes_on = running not in fallen
            for other in fallen:
                if other is not running:  # the newest has nothing to drop before ``Keep``
                    yield from drop_states(other)
            inner_ref = None if running.inner is None else running.inner.ref
            if job.origin not in (setup.origin.ref, inner_ref):
                yield Drop(job.origin)  # no other job starts from it
            if setup.check is not None and not job.epochs_before:
                yield from setup.check.look_at(job, tried)
            if goes_on and policy.keeps_tries:
                running.state = tried.kept
                inner: Held | None = yield Keep(tried.kept)
                if inner is not None:
                    if running.inner is not None:
                        yield Drop(running.inner.ref)
                    running.inner = inner
            else:
                yield from drop_states(running)  # that inside of a stage before
            yield Tell(running.record, running.place, last)
        if not last:
            still_in = set(map(id, standings.leaders))
            for running in wave:
                if id(running) not in still_in:
                    yield Tell(running.record)  # final: no stage follows for it
            wave = [running for running in wave if id(running) in still_in]
    return standings.leaders[0] if standings.leaders else None


def next_job(setup: Setup, running: RunningTry, epochs: int) -> Job:
    """What a try trains next."""
    policy = setup.policy
    start = setup.origin.epoch + running.epochs_done
    rule = setup.inner_rule
    if rule is not None:
        if running.epochs_done:
            note_inner_end(running, rule, start)
        if epochs == 1:  # a job of one epoch has no intermediate state
            rule = None
        elif running.inner is not None:
            rule = replace(rule, bar=running.inner.score)
    tail: tuple[Candidate, ...] = ()
    if policy.tail is not None:
        length = policy.tail_epochs(setup.planned, setup.unit)
        tail = tail_values(policy.tail, running.candidate, length, setup.per_epoch)
    return Job(
        origin=running.state,
        candidate=running.candidate,
        epochs=epochs,
        seed=None if running.epochs_done else running.seed,
        watch=policy.watch,
        scheduled=course_values(
            policy.course, running.candidate, start, epochs, setup.planned, setup.per_epoch
        ),
        inner_rule=rule,
        tail=tail,
        per_epoch=setup.per_epoch,
        keeps=policy.keeps_tries,
        compared=bool(tail) and policy.keeps_tries and setup.check is not None,
        start=start,
        epochs_before=running.epochs_done,
        place=running.place,
    )


def note_inner_end(running: RunningTry, rule: BestRule, epoch: int) -> None:
    """Another stage follows, so the end of the last one, after this epoch, is intermediate now."""
    metrics = dict(running.record.measured).get(running.epochs_done - 1)
    if metrics is None or running.state is None:
        return
    best = None if running.inner is None else running.inner.score
    worth = rule.worth(epoch, metrics, best)
    if worth is not None:
        running.inner = Held(epoch, worth, running.state)


def judged(setup: Setup, running: RunningTry, tried: Tried, *, own: int) -> Try:
    """The record of a try after one more job, of which ``own`` epochs come before the tail."""
    series = tried.series
    reported = tried.reported
    seconds = tried.seconds
    if running.epochs_done:
        series = running.record.series + series
        reported = all_reported(running.record, tried)
        seconds += running.record.seconds
    epochs = running.epochs_done + tried.epochs
    tail = max(0, tried.epochs - own)
    worth = math.nan
    if series and not tried.error:
        in_tail = 0
        if tail:
            measured = reported or range(1, len(series) + 1)
            in_tail = sum(number > epochs - tail for number in measured)
        progress = Progress(setup.origin.epoch, setup.planned, in_tail)
        worth = score(setup.policy.criterion, series, progress)
    return Try(
        candidate=running.candidate,
        series=series,
        epochs=epochs,
        score=worth,
        error=tried.error,
        seed=running.seed,
        seconds=seconds,
        reported=reported,
        tail=tail,
        unit=setup.unit,
    )


def all_reported(record: Try, tried: Tried) -> tuple[int, ...]:
    """Which epochs of the whole try the series belongs to; empty if there is no gap."""
    if not record.reported and not tried.reported and len(record.series) == record.epochs:
        return ()
    new = tried.reported or range(1, len(tried.series) + 1)
    before = record.reported or range(1, len(record.series) + 1)
    return (*before, *(record.epochs + number for number in new))


def drop_states(running: RunningTry | None) -> Generator[Command, Any, None]:
    """Forget the states of a try, so that their memory is free."""
    if running is None:
        return
    state, inner = running.state, running.inner
    running.state = running.inner = None
    if state is not None:
        yield Drop(state)
    if inner is not None and inner.ref != state:
        yield Drop(inner.ref)


class Standings:
    """The tries that would go on if the stage ended now; the ranking is asked each time."""

    def __init__(
        self, ranking: Ranking, keep: int, leaders: Sequence[RunningTry], current: Candidate
    ) -> None:
        self.leaders = list(leaders)  # the best first
        self._ranking = ranking
        self._keep = keep
        self._current = current
        self._compared = list(leaders)  # the leaders and the value in force, as they came
        its = (each for each in leaders if each.record.candidate == current)
        self._in_force = next(its, None)  # the first try of the value in force, once it has come

    def add(self, running: RunningTry) -> list[RunningTry]:
        """Rank the tries with one more; return those that no longer lead, or never did.

        A try that fell behind is never ranked again: its state is gone.
        """
        self._compared.append(running)
        order = self._ranking([each.record for each in self._compared])
        leaders = [self._compared[place] for place in order[: self._keep]]
        now = set(map(id, leaders))
        if not now.difference(map(id, self.leaders)) <= {id(running)}:
            raise ContractError(
                f"the ranking {self._ranking!r} put a try in front that had fallen behind before; "
                "when a try is added, only that one may move to the front"
            )
        fallen = [each for each in (*self.leaders, running) if id(each) not in now]
        self.leaders = leaders
        if self._in_force is None and running.record.candidate == self._current:
            self._in_force = running
        self._compared = [
            each for each in self._compared if each is self._in_force or id(each) in now
        ]
        return fallen


class StandingsByKey:
    """The same for rankings with a sort key: inserts by bisection instead of ranking all again."""

    def __init__(self, key: Callable[[Try], Any], keep: int, leaders: Sequence[RunningTry]) -> None:
        self.leaders = list(leaders)  # the best first
        self._key = key
        self._keys = [key(each.record) for each in leaders]
        self._keep = keep

    def add(self, running: RunningTry) -> list[RunningTry]:
        """Insert one more try; return the one that no longer leads, or never did."""
        key = self._key(running.record)
        place = self._keep if key is None else bisect_right(self._keys, key)
        if place >= self._keep:
            return [running]
        self.leaders.insert(place, running)
        self._keys.insert(place, key)
        if len(self.leaders) <= self._keep:
            return []
        self._keys.pop()
        return [self.leaders.pop()]


def new_standings(
    ranking: Ranking, keep: int, leaders: Sequence[RunningTry], current: Candidate
) -> Standings | StandingsByKey:
    """The standings of a stage that begins with these leaders of earlier waves."""
    key = getattr(ranking, "key", None)  # isinstance with a Protocol takes ten times as long
    if key is not None:
        return StandingsByKey(key, keep, leaders)
    return Standings(ranking, keep, leaders, current)
