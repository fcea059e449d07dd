"""The rounds that a run will have, as far as that is known before it, and what one costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

from dynhp.adapter import DynamicGridAdapter
from dynhp.main_line.seen import SeenLine
from dynhp.main_line.settings import longest_round
from dynhp.proposers import Waves
from dynhp.rounds.repeat import REPEATS
from dynhp.selection import Selection, epochs_of_tries
from dynhp.tails.lengths import restarts, try_epochs
from dynhp.triggers import Every, LineSoFar
from dynhp.triggers.contract import ask, goes_by_epochs, next_look

__all__ = ["PlannedRounds", "TryCost", "every", "rounds_of"]


class PlannedRounds(NamedTuple):
    """How many rounds have tries of how many epochs, the first one's first; and what is lost."""

    rounds: Counter[int]
    abandoned: int = 0


class TryCost(NamedTuple):
    """What the cost of a round depends on, besides its length and its candidates."""

    selection: Selection
    restart: bool
    checked: int  # so many rounds, from the first on, carry out one try again
    tail: int = 0  # the epochs that each try has besides
    joining: int = 0  # so many candidates may join the first wave once a value was corrected
    uncorrected: int = 0  # so many rounds, from the first on, come before any correction

    def least(self, rounds: Counter[int], waves: Waves) -> int:
        """The epochs of such rounds that are not part of the final model, at least."""
        return sum(
            cost._overhead(part, wide, wide.least, min)
            for cost, part, wide in self._parts(rounds, waves)
        )

    def most(self, rounds: Counter[int], waves: Waves) -> int:
        """The same, at most."""
        return sum(
            cost._overhead(part, wide, wide.most, max)
            for cost, part, wide in self._parts(rounds, waves)
        )

    def _parts(
        self, rounds: Counter[int], waves: Waves
    ) -> Iterator[tuple[TryCost, Counter[int], Waves]]:
        """The rounds before any correction, and those after, with the waves that they may have."""
        first = _first(rounds, self.uncorrected)
        yield self, first, waves
        checked = max(0, self.checked - first.total())
        most = (waves.most[0] + self.joining, *waves.most[1:])
        yield self._replace(checked=checked), rounds - first, Waves(waves.least, most)

    def _overhead(
        self,
        rounds: Counter[int],
        waves: Waves,
        sizes: tuple[int, ...],
        pick: Callable[[Iterator[int]], int],
    ) -> int:
        overhead, checked = 0, self.checked
        for beta, count in rounds.items():
            overhead += count * self._tries(beta, sizes)
            if checked:
                overhead += min(count, checked) * pick(self._repeats(beta, waves))
                checked -= min(count, checked)
        return overhead

    def _tries(self, beta: int, waves: tuple[int, ...]) -> int:
        tried = epochs_of_tries(self.selection, waves, beta) + sum(waves) * self.tail
        return tried if self.restart else tried - beta

    def _repeats(self, beta: int, waves: Waves) -> Iterator[int]:
        """The first try's first stage, which is what is carried out again, by the tries there are.

        In a race of many it is shorter than where there is one try alone.
        """
        for tries in range(waves.least[0], waves.most[0] + 1):
            yield REPEATS * (self.selection.stages(tries, beta)[0].epochs + self.tail)


def every(adapt_every: int, try_for: int, epochs: int) -> Counter[int]:
    """The rounds of a run that has one every so many epochs.

    >>> every(5, 2, 16)
    Counter({2: 3, 1: 1})
    """
    whole, rest = divmod(epochs, adapt_every)
    rounds = Counter({try_for: whole} if whole else {})
    if rest:
        rounds[min(try_for, rest)] += 1
    return rounds


def rounds_of(adapter: DynamicGridAdapter, epochs: int) -> tuple[PlannedRounds, PlannedRounds]:
    """The rounds that are left of a run of so many epochs, at least and at most."""
    left, try_for = max(0, epochs - adapter.epoch), try_epochs(adapter, epochs)
    here = adapter.start_from == "here"
    limited = adapter.max_rounds is not None or adapter.record_every is not None
    if isinstance(adapter.when, Every) and here and not limited:
        planned = PlannedRounds(every(adapter.when.n, try_for, left))
        return planned, planned
    if here and goes_by_epochs(adapter.when):
        planned = PlannedRounds(_by_the_clock(adapter, epochs))
        return planned, planned
    had = adapter.main_line.had(adapter.history, None)
    rescues = adapter.max_rescues - had[True]
    most = (
        _at_every_epoch(try_for, left)
        if restarts(adapter)
        else every(max(1, try_for), try_for, left)
    )
    if adapter.max_rounds is not None:
        most = (
            _first(most, adapter.max_rounds - had[False]) if here else _many(adapter, had, try_for)
        )
    # What is on the main line is never more than all of it, and a rescue may cost an epoch besides.
    abandoned = 0 if here else most.total() * epochs + rescues
    return PlannedRounds(Counter()), PlannedRounds(most, abandoned)


def _at_every_epoch(try_for: int, left: int) -> Counter[int]:
    """The rounds that there may be where the tries of one take nothing of the main line's way."""
    whole = left - max(1, try_for) + 1
    rounds = Counter({try_for: whole} if whole > 0 else {})
    rounds.update(range(min(try_for - 1, left), 0, -1))  # near the end tries are shorter
    return rounds


def _first(rounds: Counter[int], count: int) -> Counter[int]:
    """The first so many rounds."""
    first: Counter[int] = Counter()
    for beta, each in rounds.items():
        first[beta] = max(0, min(each, count - first.total()))
    return first


def _many(adapter: DynamicGridAdapter, had: Counter[bool], try_for: int) -> Counter[int]:
    """All rounds that there may be where they can start from an earlier state."""
    rounds = (adapter.max_rounds or 0) - had[False] + adapter.max_rescues - had[True]
    return Counter({try_for: rounds} if rounds else {})


def _by_the_clock(adapter: DynamicGridAdapter, epochs: int) -> Counter[int]:
    """The rounds of a trigger that looks at nothing but the clock: asked as the run will ask it."""
    rounds: Counter[int] = Counter()
    history, seen = adapter.history, SeenLine(adapter, measured=False)
    line = seen.before(history.rounds, adapter.epoch)
    left = epochs if adapter.max_rounds is None else adapter.max_rounds
    left -= 0 if adapter.max_rounds is None else sum(bool(round_.tries) for round_ in history)
    line.planned, longest = epochs, longest_round(adapter, planned=epochs)
    try_for = try_epochs(adapter, epochs)
    while line.epoch < epochs:
        start, due = line.epoch, rounds.total() < left and ask(adapter.when, line) is not None
        length = max(longest, try_for) if due else longest
        end = min(start + length, epochs)
        line.stopped = False
        if due:
            beta = min(try_for, end - start)
            rounds[beta] += 1
            line.began = start
            line.fired.append(start)
            line.epoch += 0 if restarts(adapter) else beta
            line.since = line.epoch
        _go_to_next(adapter, line, start, end, may_end=rounds.total() < left)
        line.stopped = line.epoch - start < length
    return rounds


def _go_to_next(
    adapter: DynamicGridAdapter, line: LineSoFar, start: int, end: int, *, may_end: bool
) -> None:
    """Go on to where the round ends: when the next one is due, or where its time is over."""
    if start < line.epoch < end and may_end and ask(adapter.when, line) is not None:
        return
    while line.epoch < end:
        look = next_look(adapter.when, line)
        if look is None or look >= end:
            line.epoch = end
            return
        line.epoch = look
        if may_end and ask(adapter.when, line) is not None:
            return
