"""What a run costs: planned before it starts, counted after; the two agree."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol

from dynhp._checks import require_count, require_lengths, require_whole, require_word
from dynhp.adapter import DynamicGridAdapter
from dynhp.engine.check import REPEATS
from dynhp.engine.line import is_over, line_of, rounds_had
from dynhp.engine.memory import Memory
from dynhp.engine.round import check_is_due
from dynhp.errors import SettingsError, shown
from dynhp.policy import Policy
from dynhp.proposers import Waves
from dynhp.records import History, Round
from dynhp.records.history import kept_epochs
from dynhp.records.units import EPOCHS, Unit, unit_of
from dynhp.selection import Best, Selection, epochs_of_tries
from dynhp.spaces import Around
from dynhp.trainer import trained_unit
from dynhp.triggers import Every, LineSoFar, Trigger
from dynhp.triggers.contract import ask, goes_by_epochs, next_look


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Epochs trained: those of the final model, and the overhead of tries that were not kept.

    What was trained on the main line and left behind, because a round started from an earlier
    state, is ``abandoned``.

    >>> cost = Cost(main_line=500, overhead=400, candidates=9)
    >>> cost.total, cost.runs
    (900, 1.8)
    """

    main_line: int
    overhead: int
    abandoned: int = 0
    candidates: int | None = field(default=None, compare=False)  # of a complete search
    unit: Unit = field(default=EPOCHS, repr=False, compare=False)  # or steps

    @property
    def total(self) -> int:
        """All epochs trained."""
        return self.main_line + self.overhead + self.abandoned

    @property
    def runs(self) -> float:
        """The cost in runs of one model."""
        return self._runs(None)

    def in_runs(self, planned: int | None = None) -> str:
        """The runs as text; if the run has not ended, in runs of the length that was planned.

        >>> Cost(main_line=10, overhead=15).in_runs(), Cost(main_line=10, overhead=15).in_runs(100)
        ('2.50 runs', '0.25 runs so far')
        """
        under_way = planned is not None and planned > self.main_line
        return f"{self._runs(planned):.2f} runs" + (" so far" if under_way else "")

    def _runs(self, planned: int | None) -> float:
        length = max(self.main_line, planned or 0)
        return self.total / length if length else 0.0

    def text(self, planned: int | None = None) -> str:
        """All of it as text, for a run of ``planned`` epochs.

        >>> Cost(main_line=10, overhead=15).text(100)
        '10 epochs on the main line + 15 overhead = 25: 0.25 runs so far'
        """
        left = f" + {self.abandoned} abandoned" if self.abandoned else ""
        text = (
            f"{self.main_line} {self.unit} on the main line + {self.overhead} overhead{left} = "
            f"{self.total}: {self.in_runs(planned)}"
        )
        if not self.candidates:
            return text
        share = self._runs(planned) / self.candidates
        return f"{text}, {share:.0%} of a complete search of {self.candidates}"

    def __str__(self) -> str:
        return self.text()


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The cost of a run before it starts, at least and at most; mostly they are the same.

    They differ if the number of candidates depends on the course of the run (neighbours at an end
    of an axis, a peak that lies inside or not, a value that ``then`` leads off the grid), or if the
    number of rounds does (``OnPlateau``).

    >>> from dynhp import DynamicGridAdapter, Neighbors, lowest, plan_for
    >>> from dynhp.testing import Quadratic
    >>> adapter = DynamicGridAdapter(Quadratic(), {"lr": [0.1, 0.2, 0.5]}, criterion=lowest("loss"),
    ...                              adapt_every=5, try_for=1, proposer=Neighbors())
    >>> plan = plan_for(adapter, 20)
    >>> plan.exact, plan.least.total, plan.most.total
    (False, 26, 30)
    """

    least: Cost
    most: Cost

    @property
    def exact(self) -> bool:
        """Whether the cost is known to the epoch."""
        return self.least == self.most

    def __str__(self) -> str:
        return str(self.most) if self.exact else f"at least {self.least}; at most {self.most}"


def plan(
    *,
    epochs: int,
    adapt_every: int,
    try_for: int,
    candidates: int,
    selection: Selection | None = None,
    restart: bool = False,
    check: Literal["first", "every", "off"] = "first",
    tail: int = 0,
) -> Cost:
    """The cost of a run that tries the same number of candidates in every round.

    Args:
        epochs: the epochs of the main line.
        adapt_every: the epochs of a round.
        try_for: the epochs of a try.
        candidates: how many candidates each round tries.
        selection: which tries go on; all to the end by default.
        restart: whether the winner's try epochs are trained again, as with ``keep="value"`` and
            independent randomness.
        check: in which rounds one try is repeated twice, to prove that tries are repeatable.
        tail: extra epochs of each try before it is judged; with a tail, ``try_for`` may be 0.

    >>> plan(epochs=500, adapt_every=10, try_for=1, candidates=9).total
    902
    """
    epochs = require_count("epochs", epochs)
    tail = require_whole("tail", tail, least=0)
    # With a tail, a try may have no epochs of its own.
    adapt_every, length = require_lengths(adapt_every, try_for or (1 if tail else 0))
    try_for = length if try_for else 0
    candidates = require_count("candidates", candidates)
    require_word("check", check, ("first", "every", "off"))

    checked = {"first": 1, "every": epochs, "off": 0}[check]
    rounds = every(adapt_every, try_for, epochs)
    waves = Waves((candidates,), (candidates,))
    tries = TryCost(selection=selection or Best(), restart=restart, checked=checked, tail=tail)
    return Cost(
        main_line=epochs,
        overhead=tries.overhead(rounds, waves, at_most=True),
        candidates=candidates,
    )


class HasHistory(Protocol):
    """What holds a history: an adapter, or the loop of ``adapt``."""

    @property
    def history(self) -> History:
        """The rounds so far."""
        ...


class HasAdapter(Protocol):
    """What holds an adapter: the loop of ``adapt``."""

    adapter: DynamicGridAdapter


def adapter_of(run: Any) -> DynamicGridAdapter:
    """The adapter itself, or that of a loop."""
    adapter = run if isinstance(run, DynamicGridAdapter) else getattr(run, "adapter", None)
    if not isinstance(adapter, DynamicGridAdapter):
        raise SettingsError(
            f"a DynamicGridAdapter or the loop of adapt(...) is needed, got {shown(run)}"
        )
    return adapter


def history_of(run: Any) -> Sequence[Round]:
    """The history itself, or that of an adapter or a loop."""
    history = getattr(run, "history", run)
    if isinstance(history, str) or not isinstance(history, Sequence):
        raise SettingsError(
            f"a History is needed, got {shown(run)}; give what run(...) returned, or loop.history"
        )
    return history


def plan_for(adapter: DynamicGridAdapter | HasAdapter, epochs: int | None = None) -> Plan:
    """The cost of ``adapter.run(epochs)``, from what it has spent already to the end.

    A loop can be given in place of an adapter; it knows its ``epochs`` itself (or its steps).

    >>> from dynhp import DynamicGridAdapter, lowest
    >>> from dynhp.testing import Quadratic
    >>> adapter = DynamicGridAdapter(Quadratic(), {"lr": [0.01, 0.1, 1.0]},
    ...                              criterion=lowest("loss"), adapt_every=5, try_for=1)
    >>> print(plan_for(adapter, 20))
    20 epochs on the main line + 10 overhead = 30: 1.50 runs, 50% of a complete search of 3
    """
    adapter = adapter_of(adapter)
    epochs = require_count("epochs", adapter.epochs if epochs is None else epochs)
    return plan_from(adapter.policy, adapter.memory, epochs, unit=trained_unit(adapter.trainer))


def plan_from(policy: Policy, memory: Memory, epochs: int, *, unit: Unit) -> Plan:
    """The cost of a run of this many epochs, of which the memory has the first rounds.

    >>> from dynhp import paper
    >>> from dynhp.engine import first_memory
    >>> policy = paper({"ratio": [0.2, 0.8]}, alpha=5, beta=1)
    >>> memory = first_memory(policy.space.start(), seed=0)
    >>> plan_from(policy, memory, 20, unit="epochs").most.total
    26
    """
    history = History(memory.rounds[:])
    corrects = policy.then is not None and not policy.dry_run
    # A corrected value may lie off the grid, where a run cannot start, and joins the candidates.
    current = history[0].previous if corrects and history else memory.current
    waves = policy.proposer.waves(policy.space, current)
    try_for = policy.try_epochs(epochs)
    policy.stages(waves.most[0], try_for)  # refuses a selection that does not suit

    checked = 0
    if check_is_due(policy, memory):
        checked = epochs if policy.check == "every" or policy.dry_run else 1
    tries = TryCost(
        selection=policy.selection,
        restart=policy.restarts,
        checked=checked,
        tail=policy.tail_epochs(epochs, unit),
        joining=len(policy.space) if corrects else 0,
        uncorrected=0 if memory.tried else 1,
    )

    # A run that ends by itself may do so early; its shares are those of the longest all the same.
    shortest = longest = epochs
    if policy.until is not None:
        shortest, longest = _ends(policy, memory, epochs)
    least = rounds_of(policy, memory, epochs, end=shortest)[0]
    most = rounds_of(policy, memory, epochs, end=longest)[1]
    done = spent(history)
    axes = policy.space.values()
    endless = any(isinstance(axis, Around) for axis in axes)
    grid = None if endless or not axes else math.prod(len(axis.grid()) for axis in axes)

    return Plan(
        least=Cost(
            main_line=done.main_line + max(0, shortest - memory.epoch),
            overhead=done.overhead + tries.overhead(least.rounds, waves, at_most=False),
            abandoned=done.abandoned,
            candidates=grid,
            unit=unit,
        ),
        most=Cost(
            main_line=done.main_line + max(0, longest - memory.epoch),
            overhead=done.overhead + tries.overhead(most.rounds, waves, at_most=True),
            abandoned=done.abandoned + most.abandoned,
            candidates=grid,
            unit=unit,
        ),
    )


def spent(history: Sequence[Round] | HasHistory, *, candidates: int | None = None) -> Cost:
    """What a run has cost so far, counted from its records; a try that failed early cost less.

    An adapter or a loop can be given in place of its history.

    ``candidates``, the size of the grid, is needed only to compare with a complete search.

    >>> spent([]).total
    0
    """
    rounds = history_of(history)
    main_line = sum(kept_epochs(rounds))
    failed = sum(round_.failure is not None for round_ in rounds)  # an epoch each, which raised
    return Cost(
        main_line=main_line,
        overhead=sum(round_.overhead for round_ in rounds),
        abandoned=sum(round_.epochs for round_ in rounds) - main_line + failed,
        candidates=candidates,
        unit=unit_of(rounds),
    )


class TryCost(NamedTuple):
    """What the cost of a round depends on, besides its length and its candidates."""

    selection: Selection
    restart: bool
    checked: int  # how many rounds, from the first on, carry out one try again
    tail: int = 0  # the epochs that each try has besides
    joining: int = 0  # how many candidates may join the first wave once a value was corrected
    uncorrected: int = 0  # how many rounds, from the first on, come before any correction

    def overhead(self, rounds: Counter[int], waves: Waves, *, at_most: bool) -> int:
        """The epochs of such rounds that are not part of the final model, at least or at most."""
        overhead = 0
        checked = self.checked
        before = _first(rounds, self.uncorrected)
        for part, joining in ((before, 0), (rounds - before, self.joining)):
            most = (waves.most[0] + joining, *waves.most[1:])
            sizes = most if at_most else waves.least
            for epochs, count in part.items():
                tried = epochs_of_tries(self.selection, sizes, epochs) + sum(sizes) * self.tail
                overhead += count * (tried if self.restart else tried - epochs)
                repeated = min(count, checked)
                if repeated:
                    # What is repeated is the first stage of a try; in a race of many it is shorter
                    # than if one try is alone.
                    stages = [
                        self.selection.stages(tries, epochs)[0].epochs + self.tail
                        for tries in range(waves.least[0], most[0] + 1)
                    ]
                    repeated_epochs = max(stages) if at_most else min(stages)
                    overhead += repeated * REPEATS * repeated_epochs
                    checked -= repeated
        return overhead


class PlannedRounds(NamedTuple):
    """How many rounds have tries of how many epochs, the first rounds first, and what is lost."""

    rounds: Counter[int]
    abandoned: int = 0


def _ends(policy: Policy, memory: Memory, epochs: int) -> tuple[int, int]:
    """The fewest epochs that a run may end after by itself, and the most."""
    if is_over(policy, memory, epochs):
        return memory.epoch, memory.epoch
    least = getattr(policy.until, "least_epochs", 1)
    return min(epochs, max(memory.epoch + 1, least)), epochs


def rounds_of(
    policy: Policy, memory: Memory, epochs: int, *, end: int | None = None
) -> tuple[PlannedRounds, PlannedRounds]:
    """The rounds that are left of a run, at least and at most.

    It is planned for so many epochs, and ends after ``end`` of them, or after all.
    """
    if is_over(policy, memory, epochs):
        return PlannedRounds(Counter()), PlannedRounds(Counter())
    end = epochs if end is None else end
    left = max(0, end - memory.epoch)
    try_for = policy.try_epochs(epochs)
    here = policy.start_from == "here"
    limited = policy.max_rounds is not None or policy.record_every is not None
    if isinstance(policy.when, Every) and here and not limited:
        planned = PlannedRounds(every(policy.when.n, try_for, left))
        return planned, planned
    if here and goes_by_epochs(policy.when):
        planned = PlannedRounds(_by_the_clock(policy, memory, epochs, end))
        return planned, planned

    had = rounds_had(policy, memory.tried, None)
    rescues_left = policy.max_rescues - had[True]
    rounds_left = None if policy.max_rounds is None else policy.max_rounds - had[False]
    if rounds_left is not None and not here:  # each may go back and train the whole way again
        rounds = rounds_left + rescues_left
        most = Counter({try_for: rounds} if rounds else {})
    elif policy.restarts:  # tries do not advance the main line: every epoch may have a round
        whole = left - max(1, try_for) + 1
        most = Counter({try_for: whole} if whole > 0 else {})
        most.update(range(min(try_for - 1, left), 0, -1))  # near the end tries are shorter
    else:
        most = every(max(1, try_for), try_for, left)
    if rounds_left is not None and here:
        most = _first(most, rounds_left)

    # A round abandons at most the whole main line, and a rescue one epoch more.
    abandoned = 0 if here else most.total() * epochs + rescues_left
    return PlannedRounds(Counter()), PlannedRounds(most, abandoned)


def every(adapt_every: int, try_for: int, epochs: int) -> Counter[int]:
    """The rounds of a run that has one every ``adapt_every`` epochs.

    >>> every(5, 2, 16)
    Counter({2: 3, 1: 1})
    """
    whole, rest = divmod(epochs, adapt_every)
    rounds = Counter({try_for: whole} if whole else {})
    if rest:
        rounds[min(try_for, rest)] += 1
    return rounds


def _first(rounds: Counter[int], count: int) -> Counter[int]:
    """The first ``count`` rounds."""
    first: Counter[int] = Counter()
    for epochs, each in rounds.items():
        first[epochs] = max(0, min(each, count - first.total()))
    return first


def _by_the_clock(policy: Policy, memory: Memory, epochs: int, last: int) -> Counter[int]:
    """The rounds of a trigger that looks at nothing but the clock: asked as the run will ask it."""
    rounds: Counter[int] = Counter()
    line = line_of(policy, memory.rounds, memory.epoch, epochs)
    left = epochs if policy.max_rounds is None else policy.max_rounds - len(memory.tried)
    longest = policy.longest_round(epochs)
    try_for = policy.try_epochs(epochs)

    while line.epoch < last:
        start = line.epoch
        due = rounds.total() < left and ask(policy.when, line) is not None
        length = max(longest, try_for) if due else longest
        end = min(start + length, epochs)
        line.stopped = False
        if due:
            tried = min(try_for, end - start)
            rounds[tried] += 1
            line.began = start
            line.fired = line.fired.and_then([start])
            line.epoch += 0 if policy.restarts else tried
            line.since = line.epoch
        _go_to_next(policy.when, line, start, end, may_end=rounds.total() < left)
        line.stopped = line.epoch - start < length
    return rounds


def _go_to_next(when: Trigger, line: LineSoFar, start: int, end: int, *, may_end: bool) -> None:
    """Go on to the end of the round: when the next one is due, or when its time is over."""
    if start < line.epoch < end and may_end and ask(when, line) is not None:
        return
    while line.epoch < end:
        look = next_look(when, line)
        if look is None or look >= end:
            line.epoch = end
            return
        line.epoch = look
        if may_end and ask(when, line) is not None:
            return
