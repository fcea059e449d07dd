"""One round: Algorithm 1 of the AdaGrid paper as commands for a driver.

Its alpha is ``adapt_every``, the epochs of a round, and its beta ``try_for``, the epochs of a try.
The epochs that a round trains after its tries are its *stretch*. If a trigger decides when tries
are due, a round ends when the next tries are due, or after ``policy.longest_round`` epochs
(``record_every``; a 20th of the run by default), or with its tries if those are longer. So most
rounds have no tries: they only record a piece of the main line.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

import numpy as np

from dynhp.engine.check import SelfCheck
from dynhp.engine.commands import (
    Command,
    Commands,
    NothingTrained,
    RoundSoFar,
    Snapshot,
    StartFrom,
    Tell,
    Train,
    Trained,
)
from dynhp.engine.line import WatchedLine
from dynhp.engine.memory import Held, Memory, RunGenerator, StateRef
from dynhp.engine.tries import Chosen, Setup, draw_seed, try_candidates
from dynhp.errors import SettingsError
from dynhp.policy import Policy
from dynhp.records import Candidate, Metrics, Round, RoundStarted, Value
from dynhp.records.units import Unit
from dynhp.tails.contract import course_values
from dynhp.triggers import Due
from dynhp.triggers.contract import looks_at

__all__ = ["Conditions", "check_is_due", "one_round"]

NOT_DUE: Final = "no round was due"
_DUE: Final = Due()


class Conditions(NamedTuple):
    """What a round depends on besides the policy and the memory."""

    planned: int | None  # the epochs of the whole run, None if that is not known
    unit: Unit
    can_reseed: bool  # whether the trainer's generators can be seeded
    rng: RunGenerator
    settings: Mapping[str, str]  # the policy in words, for records
    per_epoch: int = 1  # how many values of a schedule or a tail an epoch has


def one_round(
    policy: Policy, memory: Memory, conditions: Conditions, *, left_open: Round | None = None
) -> Commands:
    """One round: tries if they are due, then the main line until the next round is due.

    ``left_open`` is the record of a round that was left in its stretch and now goes on. The
    generator never yields while an exception passes through it, so a driver may discard it at any
    command: the memory before the round, and the state in which it started, are still there.
    """
    here: StateRef = yield Snapshot()
    clock = time.perf_counter()
    planned = conditions.planned
    watched: WatchedLine | None = None
    if not policy.in_whole_rounds:
        watched = WatchedLine.of(policy, memory, planned, left_open)
    due: Due | None = None
    if left_open is not None:
        open_round = yield from _reopened(policy, memory, conditions, watched, left_open)
    else:
        origin = Held(memory.epoch, -np.inf, here)
        if watched is not None:
            due = yield from _due(watched)
            origin = yield from _go_to_origin(watched, due, origin)
        elif policy.max_rounds is None or len(memory.tried) < policy.max_rounds:
            due = _DUE
        started = _started(
            policy, memory, conditions, start=origin.epoch, has_tries=due is not None
        )
        current = memory.current
        open_round = OpenRound(
            started,
            watched,
            current,
            current,
            origin.epoch,
            memory.generator,
            clock,
            conditions.per_epoch,
        )
        yield Tell(started)
    if due is not None:
        rng = conditions.rng.at(memory.generator)
        rescue = policy.is_rescue(alarm=due.alarm)
        check = None
        if check_is_due(policy, memory):
            check = SelfCheck(
                round=started.index,
                first=not memory.tried,
                tolerance=policy.tolerance or 0.0,
                common=policy.randomness == "common",
                unit=conditions.unit,
            )
        try_for = min(policy.try_epochs(planned), started.epochs)
        seed = draw_seed(rng) if rescue and conditions.can_reseed else None
        inner = None if watched is None else watched.states.inner_rule
        setup = Setup(  # by position: names take twice as long, in every round
            policy,
            memory,
            origin,
            planned,
            conditions.unit,
            try_for,
            rng,
            seed,
            inner,
            check,
            conditions.per_epoch,
        )
        chosen = yield from try_candidates(setup)  # lines 3 to 6
        open_round.generator = conditions.rng.state()
        open_round.because = due.because
        open_round.rescue = rescue
        open_round.chosen = chosen
        open_round.values = chosen.values
        if chosen.on_main_line is not None:
            kept = chosen.on_main_line
            open_round.scheduled += course_values(
                policy.course,
                kept.candidate,
                origin.epoch,
                kept.epochs,
                planned,
                conditions.per_epoch,
            )
            open_round.reached += kept.epochs
            open_round.from_try = chosen.place
        if check is not None:
            open_round.check_epochs = check.epochs
            open_round.tolerance = check.tolerance
        if watched is not None:
            watched.note_tries(due, start=origin.epoch, kept=chosen.on_main_line)
            yield from _hold_kept(watched, chosen, origin.epoch)
    yield from train_stretch(policy, open_round)  # line 7
    if watched is not None and open_round.failure is None and not watched.rescue_is_due():
        ends = watched.ends
        if ends is not None:
            open_round.ended = ends.because or conditions.settings.get("until", "")
    round_ = open_round.record()
    yield Tell(round_)
    # A check by an earlier process does not count in this one.
    checked = memory.checked or (left_open is None and bool(round_.checked))
    if watched is None:
        return memory.after(round_, generator=open_round.generator, checked=checked)
    return watched.memory_after(round_, open_round.generator, checked=checked)


@dataclass(slots=True, eq=False)
class OpenRound:
    """A round whose stretch is being trained: what is known of it, and its record so far."""

    started: RoundStarted
    watched: WatchedLine | None
    previous: Candidate  # the values in force before it
    values: Candidate  # those that the main line goes on with
    reached: int  # the epochs of the main line by now
    generator: Mapping[str, Any]  # the state of the run's own generator
    clock: float  # when it began
    per_epoch: int = 1  # how many values of a schedule an epoch has
    because: str = ""  # why it has tries
    rescue: bool = False
    chosen: Chosen | None = None
    check_epochs: int = 0
    tolerance: float = 0.0
    from_try: int | None = None  # the place of the try that the main line goes on from, if from one
    measured: list[tuple[int, Metrics]] = field(default_factory=list)  # since the tries
    # The values of each epoch so far, or of each step if they move within an epoch.
    scheduled: list[Candidate] = field(default_factory=list)
    piece: tuple[Candidate, ...] = ()  # those of the piece that is being trained
    failure: str | None = None
    ended: str = ""  # why the run ends with it, if not by its length

    @property
    def is_empty(self) -> bool:
        """Whether it has no epoch of the main line yet."""
        return self.reached == self.started.start

    def add(self, trained: Trained) -> None:
        """Take in one more piece of the main line."""
        self.reached += trained.epochs
        self.measured += trained.measured
        self.scheduled += self.piece[: trained.epochs * self.per_epoch]
        self.failure = trained.failure

    def so_far(self, trained: Trained) -> RoundSoFar:
        """The round as it is if the main line ends with this piece of it."""
        longer = copy.copy(self)
        longer.measured = list(self.measured)
        longer.scheduled = list(self.scheduled)
        longer.add(trained)
        held = () if self.watched is None else self.watched.states.held
        return RoundSoFar(longer.record(), held, self.generator)

    @property
    def metrics(self) -> Metrics:
        """What was measured after the newest epoch; empty if it was not."""
        last = self.reached - 1
        if self.measured and self.measured[-1][0] == last:
            return self.measured[-1][1]
        tried = None if self.chosen is None else self.chosen.on_main_line
        if tried is not None and self.reached == self.started.start + tried.epochs:
            return dict(tried.measured).get(tried.epochs - 1, {})
        return {}

    def record(self) -> Round:
        """The record of the round, if it ends here."""
        chosen = self.chosen
        started = self.started
        last = self.reached - 1
        corrected = None if chosen is None else chosen.corrected
        return Round(
            index=started.index,
            start=started.start,
            epochs=self.reached - started.start,
            previous=self.previous,
            tries=() if chosen is None else chosen.tries,
            chosen=-1 if chosen is None else chosen.place,
            reason=NOT_DUE if chosen is None else chosen.reason,
            metrics=self.metrics,
            seed=None if chosen is None else chosen.seed,
            restarted=chosen is not None and chosen.on_main_line is None,
            checked=self.check_epochs,
            tolerance=self.tolerance,
            seconds=time.perf_counter() - self.clock,
            stretch=tuple([each for each in self.measured if each[0] < last]),
            because=self.because,
            rescue=self.rescue,
            abandoned=started.abandoned,
            failure=self.failure,
            ended=self.ended,
            corrected=corrected,
            scheduled=self._scheduled_by_name() if self.scheduled else {},
            unit=started.unit,
        )

    def _scheduled_by_name(self) -> dict[str, tuple[Value, ...]]:
        """The values of each epoch, of the hyperparameters that did not keep one throughout."""
        corrected = self.chosen is not None and self.chosen.corrected is not None
        return {
            name: tuple([values[name] for values in self.scheduled])
            for name, height in self.values.items()
            if corrected or any(each[name] != height for each in self.scheduled)
        }


def _reopened(
    policy: Policy,
    memory: Memory,
    conditions: Conditions,
    watched: WatchedLine | None,
    left_open: Round,
) -> Generator[Command, Any, OpenRound]:
    """Go on with a round that was left after its tries, from where it was left."""
    reached = left_open.start + left_open.epochs
    chosen = None
    kept_epochs = 0
    if left_open.tries:
        kept = None if left_open.restarted else left_open.winner.own
        kept_epochs = 0 if kept is None else kept.epochs
        chosen = Chosen(
            left_open.tries,
            left_open.chosen,
            kept,
            left_open.seed,
            left_open.corrected,
            None,
            left_open.reason,
        )
    started = _started(
        policy, memory, conditions, start=left_open.start, has_tries=chosen is not None
    )
    if watched is not None and reached > max(watched.line.since, left_open.start):
        # It was left before the trigger saw its last epoch.
        if watched.is_at_end():
            started = replace(started, epochs=left_open.epochs)
        else:
            yield from watched.states.hold_if_wanted(
                reached, dict(left_open.measured).get(reached - 1)
            )
    return OpenRound(
        started=started,
        watched=watched,
        previous=left_open.previous,
        values=left_open.candidate,
        because=left_open.because,
        rescue=left_open.rescue,
        chosen=chosen,
        check_epochs=left_open.checked,
        tolerance=left_open.tolerance,
        generator=memory.generator,
        clock=time.perf_counter() - left_open.seconds,
        reached=reached,
        measured=[each for each in left_open.measured if each[0] >= left_open.start + kept_epochs],
        per_epoch=conditions.per_epoch,
        scheduled=[]
        if policy.course is None
        else _spread(left_open.values_by_step, left_open.steps_per_epoch, conditions.per_epoch),
    )


def _spread(values: Sequence[Candidate], before: int, now: int) -> list[Candidate]:
    """The values of each step, where an epoch had other steps before it was resumed than now."""
    if before == now:
        return list(values)
    return [
        values[first + step * before // now]
        for first in range(0, len(values), before)
        for step in range(now)
    ]


def _started(
    policy: Policy, memory: Memory, conditions: Conditions, *, start: int, has_tries: bool
) -> RoundStarted:
    """What is known of a round when it begins; only the last is shorter than its tries would be."""
    planned = conditions.planned
    longest = policy.longest_round(planned)
    if has_tries:
        longest = max(longest, policy.try_epochs(planned))
    left = longest if planned is None else planned - start
    if left < 1:
        raise SettingsError(
            f"the main line has its {planned} planned epochs; call run(n) with a larger n"
        )
    return RoundStarted(
        index=len(memory.rounds),
        start=start,
        epochs=min(longest, left),
        abandoned=memory.epoch - start,
        planned=planned,
        settings=conditions.settings,
        unit=conditions.unit,
    )


def _due(watched: WatchedLine) -> Generator[Command, Any, Due | None]:
    """Why the next round has tries, if it has; an error in a healthy state if no rescue is left.

    The main line may have broken in the round before, which then is recorded like any other.
    """
    due = watched.due()
    spent = None if due is None else watched.rescues_spent(due)
    if due is not None and spent is not None:
        healthy = watched.states.pick(due, watched.line.epoch)
        if healthy is not None:
            yield StartFrom(healthy.ref)
        raise spent
    return due


def _go_to_origin(
    watched: WatchedLine, due: Due | None, here: Held
) -> Generator[Command, Any, Held]:
    """Bring the trainer to where the round starts: here, or an earlier state of the main line."""
    states = watched.states
    epoch = watched.memory.epoch
    rounds = watched.memory.rounds
    if not states.wanted:
        watched.begin(epoch)
        return here
    failed = bool(rounds) and rounds[-1].failure is not None
    if not failed and not (due is not None and due.alarm):
        # The epoch after which a round is due, or a loop was left, may itself be the best.
        measured = rounds[-1].measured if rounds and states.by_score else ()
        newest = dict(measured).get(epoch - 1)
        worth = None if newest is None else states.rule.worth(epoch, newest)
        if worth is not None:
            yield from states.take(here._replace(score=worth))
    origin = here
    earlier = None if due is None else states.pick(due, epoch)
    # After an exception the trainer is inside of an epoch: even the state of this one is put back.
    if earlier is not None and (earlier.epoch != epoch or failed):
        origin = earlier
        yield StartFrom(earlier.ref)
    yield from states.begin(origin)
    watched.begin(origin.epoch)
    return origin


def _hold_kept(watched: WatchedLine, chosen: Chosen, start: int) -> Generator[Command, Any, None]:
    """Hold the states of the chosen try that a later round may start from: its best, and its end.

    No trigger has seen them yet. What it calls unhealthy later is not picked then.
    """
    states = watched.states
    tried = chosen.on_main_line
    if tried is None or not states.wanted:
        return
    if chosen.inner is not None:  # it is better than all before, or it would not be there
        yield from states.take(chosen.inner)
    last = dict(tried.measured).get(tried.epochs - 1)
    yield from states.hold_if_wanted(start + tried.epochs, last)


def check_is_due(policy: Policy, memory: Memory) -> bool:
    """Whether the next round with tries carries out one of them twice more, to compare."""
    if policy.check == "off":
        return False
    return policy.check == "every" or policy.dry_run or not memory.checked


# ---- the stretch ----------------------------------------------------------------------------
def train_stretch(policy: Policy, open_round: OpenRound) -> Generator[Command, Any, None]:
    """Train the main line until its epochs are over, a round is due, or a loop is left.

    It is trained in one piece, or in pieces from one look to the next if a trigger watches it or
    states of it are held.
    """
    watched = open_round.watched
    planned = open_round.started.planned
    per_epoch = open_round.per_epoch
    first = open_round.reached
    end = open_round.started.start + open_round.started.epochs  # if nothing ends it before
    ask_at = None  # the epoch at which the trigger is asked next
    in_pieces = needs_metrics = may_be_rescued = False
    if watched is not None and first < end:
        line = watched.line
        # The trigger was asked about the origin, not yet about the end of a try that was kept.
        in_round = watched.under_way is not None
        from_kept_try = in_round and line.epoch == line.since > (line.began or 0)
        if from_kept_try and watched.is_at_end():
            end = first
        ask_at = watched.next_look()
        is_looked_at = not policy.is_blind or watched.states.wanted or (ask_at or end) < end
        in_pieces = first < end and is_looked_at
        reads = looks_at(policy.trigger) or policy.watched
        needs_metrics = in_pieces and (bool(reads) or watched.states.by_score)
        may_be_rescued = in_pieces and watched.has_rescues_left()

    while True:
        start = open_round.reached
        until = end
        if watched is not None:
            until = min(end, _next_stop(watched, ask_at, start) or end)
        open_round.piece = course_values(
            policy.course, open_round.values, start, until - start, planned, per_epoch
        )
        values = open_round.values
        if policy.course is not None and until == start:  # as after the last epoch
            values = course_values(policy.course, values, start - 1, 1, planned, per_epoch)[-1]
        trained: Trained = yield Train(
            values=values,
            epochs=until - start,
            start=start,
            first=first,
            planned=end - first,
            so_far=open_round.so_far,
            scheduled=open_round.piece,
            per_epoch=per_epoch,
            from_try=open_round.from_try,
            may_be_rescued=may_be_rescued,
            measure_each=needs_metrics,
        )
        open_round.add(trained)
        if trained.left and trained.failure is None and open_round.is_empty:
            raise NothingTrained
        if watched is not None:
            watched.note_trained(open_round.reached, trained.measured)
        if watched is None or trained.failure is not None or trained.left or not in_pieces:
            return
        # The trigger is asked first: a state that it finds broken is never held.
        if ask_at is not None and open_round.reached >= ask_at:
            if watched.is_at_end():
                return
            ask_at = watched.next_look()
        if watched.states.wanted:
            yield from watched.states.hold_if_wanted(open_round.reached, open_round.metrics or None)
        if open_round.reached >= end:
            return


def _next_stop(watched: WatchedLine, ask_at: int | None, epoch: int) -> int | None:
    """The epoch up to which the main line may be trained in one piece; None: to the end."""
    stops = [stop for stop in (ask_at, watched.states.next_snapshot(epoch)) if stop is not None]
    return min(stops, default=None)
