"""The main line: whether a round is due on it, and which of its states are held."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dynhp.best import BestRule
from dynhp.engine.commands import Command, Drop, Hold, Snapshot
from dynhp.engine.memory import Held, Memory, StateRef
from dynhp.errors import RescuesSpent
from dynhp.policy import Policy
from dynhp.records import Metrics, Round, Try
from dynhp.records.history import measured_on
from dynhp.triggers import Due, LineSoFar
from dynhp.triggers.contract import ask, next_look

__all__ = ["HeldStates", "WatchedLine", "due_now", "ended_now", "is_over", "line_of", "rounds_had"]


@dataclass(slots=True, eq=False)
class WatchedLine:
    """The main line while a round goes on: what triggers see of it, and the states that are held.

    Only a policy that looks inside rounds needs one. The memory before the round stays as it is.
    """

    policy: Policy
    memory: Memory  # before the round
    planned: int | None
    line: LineSoFar
    states: HeldStates
    under_way: Due | None = None  # why the round has tries, once they are over

    @classmethod
    def of(
        cls, policy: Policy, memory: Memory, planned: int | None, left_open: Round | None
    ) -> WatchedLine:
        """The main line as the next round finds it, or in the middle of one that was left."""
        under_way = None
        if left_open is None:
            line = line_before(policy, memory, planned)
        else:
            line = line_of(
                policy, [*memory.rounds, left_open], left_open.start + left_open.epochs, planned
            )
            line.failure = None
            line.stopped = False
            if left_open.tries:
                under_way = Due(alarm=left_open.rescue)
        states = HeldStates(policy, planned, memory.refs, memory.held)
        return cls(policy, memory, planned, line, states, under_way)

    def due(self) -> Due | None:
        """Why a round is due now, if one is; it may be a rescue although none is left."""
        return due_now(self.policy, self.line, self.memory.tried, self.under_way)

    @property
    def ends(self) -> Due | None:
        """Why the run ends here, if it does."""
        return ended_now(self.policy, self.line)

    def rescue_is_due(self) -> bool:
        """Whether the main line has broken, so that the run goes on, or ends with an error."""
        due = self.due() if self.policy.max_rescues else None
        return due is not None and self.policy.is_rescue(alarm=due.alarm)

    def is_at_end(self) -> bool:
        """Whether the round ends here: because the run does, or because another one is due."""
        return self.ends is not None or self.due() is not None

    def next_look(self) -> int | None:
        """The epoch at which it must be asked again whether the round ends; None: never."""
        asked = [each for each in (self.policy.trigger, self.policy.until) if each is not None]
        looks = [next_look(each, self.line) for each in asked]
        return min((look for look in looks if look is not None), default=None)

    def rescues_spent(self, due: Due) -> RescuesSpent | None:
        """The error that ends a run if it needs a rescue and none is left; else None."""
        if not self.policy.is_rescue(alarm=due.alarm) or self.has_rescues_left():
            return None
        return RescuesSpent(
            f"the main line broke after {self.line.epoch} epochs ({due.because}), and all "
            f"{self.policy.max_rescues} rescues are spent; the trainer is back in a healthy state "
            "from before. Lower the value at the start, or allow more with max_rescues="
        )

    def has_rescues_left(self) -> bool:
        """Whether a rescue is left, one that is under way counted as used."""
        if not self.policy.max_rescues:
            return False
        had = rounds_had(self.policy, self.memory.tried, self.under_way)
        return had[True] < self.policy.max_rescues

    def begin(self, epoch: int) -> None:
        """A round begins, perhaps at an earlier epoch: the main line is put back there."""
        if epoch != self.memory.epoch:
            self.line = line_of(self.policy, self.memory.rounds, epoch, self.planned)
        self.line.failure = None
        self.line.stopped = False

    def note_tries(self, due: Due, *, start: int, kept: Try | None) -> None:
        """The tries are over; ``kept`` is what became part of the main line, if anything did."""
        self.under_way = due
        line = self.line
        line.began = start
        line.epoch = line.since = start + (0 if kept is None else kept.epochs)
        line.fired = line.fired.and_then([self.memory.epoch])
        if kept is not None:
            self._note_measured([(start + place, metrics) for place, metrics in kept.measured])

    def note_trained(self, epoch: int, measured: Sequence[tuple[int, Metrics]]) -> None:
        """The main line has this many epochs now, and this was measured in the last of them."""
        self.line.epoch = epoch
        self._note_measured(measured)

    def _note_measured(self, measured: Sequence[tuple[int, Metrics]]) -> None:
        if not self.policy.is_blind:
            self.line.measured = self.line.measured.and_then(measured)

    def memory_after(self, round_: Round, generator: Mapping[str, Any], *, checked: bool) -> Memory:
        """The memory after the round."""
        held = self.states.held
        memory = self.memory.after(round_, generator=generator, checked=checked, held=held)
        note_end(self.line, self.policy, memory.rounds, self.planned)
        return memory._replace(line=self.line)


def line_before(policy: Policy, memory: Memory, planned: int | None) -> LineSoFar:
    """The line before the next round, for that round to go on with."""
    if memory.line is None:
        return line_of(policy, memory.rounds, memory.epoch, planned)
    line = memory.line.copy()
    line.planned = planned
    return line


def line_of(policy: Policy, rounds: Sequence[Round], epoch: int, planned: int | None) -> LineSoFar:
    """The line up to this epoch, made from the records."""
    tried = [round_ for round_ in rounds if round_.tries]
    line = LineSoFar(
        () if policy.is_blind else measured_on(rounds, until=epoch),
        epoch=epoch,
        planned=planned,
        fired=[round_.start + round_.abandoned for round_ in tried],
    )
    if tried:
        last = tried[-1]
        line.began = last.start
        line.since = last.start + (0 if last.restarted else last.winner.own.epochs)
    note_end(line, policy, rounds, planned)
    return line


def note_end(line: LineSoFar, policy: Policy, rounds: Sequence[Round], planned: int | None) -> None:
    """Note how the last round ended."""
    line.rounds = rounds
    if rounds:
        last = rounds[-1]
        longest = policy.longest_round(planned)
        line.failure = last.failure
        line.stopped = last.epochs < (
            max(longest, policy.try_epochs(planned)) if last.tries else longest
        )


def rounds_had(policy: Policy, tried: Sequence[Round], under_way: Due | None) -> Counter[bool]:
    """How many rounds with tries there were: rescues (True) and others (False)."""
    had = Counter(round_.rescue for round_ in tried)
    if under_way is not None:
        had[policy.is_rescue(alarm=under_way.alarm)] += 1
    return had


def due_now(
    policy: Policy, line: LineSoFar, tried: Sequence[Round], under_way: Due | None = None
) -> Due | None:
    """What the trigger answers; None also if no further round is allowed."""
    due = ask(policy.trigger, line)
    if due is None or policy.is_rescue(alarm=due.alarm) or policy.max_rounds is None:
        return due
    had = rounds_had(policy, tried, under_way)
    return due if had[False] < policy.max_rounds else None


def ended_now(policy: Policy, line: LineSoFar) -> Due | None:
    """Why the run ends here before it has its length, if it does: what ``until`` answers."""
    return None if policy.until is None else ask(policy.until, line)


def is_over(policy: Policy, memory: Memory, planned: int) -> bool:
    """Whether the main line is at its end, and nothing broke in the last of its epochs."""
    if memory.epoch < planned:
        if policy.until is None or not memory.epoch:
            return False
        if ended_now(policy, line_before(policy, memory, planned)) is None:
            return False
    if not policy.max_rescues:
        return True
    due = due_now(policy, line_before(policy, memory, planned), memory.tried)
    return due is None or not policy.is_rescue(alarm=due.alarm)


@dataclass(slots=True, eq=False)
class HeldStates:
    """The states of the main line that a later round may start from, while a round goes on.

    The newest few (``start_from="before"``), the best one (``"best"``), or none. The states that
    the memory before the round names are not dropped: they are needed if the round is interrupted.
    So while a round goes on, there may be twice as many as ``Snapshots(k)`` says, and one more for
    the moment between ``Hold`` and ``Drop``.
    """

    policy: Policy
    planned: int | None
    protected: frozenset[StateRef]  # the names that the memory before the round has
    held: tuple[Held, ...]  # the oldest first

    @property
    def wanted(self) -> bool:
        """Whether any round may start from an earlier state."""
        return self.policy.start_from != "here"

    @property
    def by_score(self) -> bool:
        """Whether the best state is held."""
        return self.policy.start_from == "best"

    def pick(self, due: Due, epoch: int) -> Held | None:
        """The state that a round starts from; None: the one that the main line is in.

        With ``start_from="before"`` it is the newest healthy one, or the oldest that is held if all
        of them are newer than what the trigger calls healthy.
        """
        if self.by_score or not self.held:
            return self.held[-1] if self.held else None
        if due.healthy is None:
            return None
        healthy = [each for each in self.held if each.epoch <= min(due.healthy, epoch)]
        return healthy[-1] if healthy else self.held[0]

    def begin(self, origin: Held) -> Generator[Command, Any, None]:
        """A round begins in this state: forget newer ones, and hold it if no other is left."""
        held = tuple(each for each in self.held if each.epoch <= origin.epoch)
        newest = self.policy.start_from == "before"
        if not held or (newest and self._wants_snapshot(held, origin.epoch)):
            held = self._newest((*held, origin))
            yield Hold(origin.ref)
        yield from self._replace(held)

    def hold_if_wanted(self, epoch: int, metrics: Metrics | None) -> Generator[Command, Any, None]:
        """Hold the state that the trainer is in after this epoch, if that is wanted."""
        if self.policy.start_from == "before" and self._wants_snapshot(self.held, epoch):
            ref = yield Snapshot()
            yield Hold(ref)
            yield from self._replace(self._newest((*self.held, Held(epoch, -math.inf, ref))))
        elif self.by_score and metrics is not None:
            worth = self.rule.worth(epoch, metrics)
            if worth is not None:
                ref = yield Snapshot()
                yield from self.take(Held(epoch, worth, ref))

    def take(self, best: Held) -> Generator[Command, Any, None]:
        """Hold this state in place of the best so far."""
        yield Hold(best.ref)
        yield from self._replace((best,))

    @property
    def rule(self) -> BestRule:
        """When an epoch is better than the best one so far."""
        return BestRule(
            criterion=self.policy.criterion, planned=self.planned, bar=self.held[-1].score
        )

    @property
    def inner_rule(self) -> BestRule | None:
        """Which states inside of a try are wanted, should the main line go on from its end."""
        return self.rule if self.by_score and not self.policy.restarts else None

    def next_snapshot(self, epoch: int) -> int | None:
        """The epoch after which the next state may be held; None: none is."""
        if self.policy.start_from == "before":
            every = self.policy.snapshots.every
            return (epoch // every + 1) * every
        return None if self.policy.start_from == "here" else epoch + 1

    def _wants_snapshot(self, held: tuple[Held, ...], epoch: int) -> bool:
        return epoch % self.policy.snapshots.every == 0 and held[-1].epoch != epoch

    def _newest(self, held: tuple[Held, ...]) -> tuple[Held, ...]:
        return held[-self.policy.snapshots.k :]

    def _replace(self, held: tuple[Held, ...]) -> Generator[Command, Any, None]:
        """Hold these; drop the others, unless the memory before the round names them."""
        needed = {each.ref for each in held} | self.protected
        dropped = [each.ref for each in self.held if each.ref not in needed]
        self.held = held
        for ref in dropped:
            yield Drop(ref)
