"""What is known of a run while it goes on, gathered from what its display is called with."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple

from dynhp.criteria.contract import metrics_of
from dynhp.criteria.metric import direction_of
from dynhp.engine.memory import Memory
from dynhp.middleware.display import Moment, RunBegins, StretchBegins, TriesBegin, TryScored
from dynhp.planning.budget import Plan, plan_from, spent
from dynhp.records import Candidate, Metrics, Round, RoundStarted, Try
from dynhp.records.history import measured_on
from dynhp.report.live.pause import Pause

__all__ = ["BestSoFar", "Course", "ShownTry"]

ROUNDS = 30
"""How many rounds of the past are shown."""


@dataclass(slots=True)
class ShownTry:
    """A try of the round: its values, the epochs it is to have, and what is known of it."""

    candidate: Candidate
    epochs: int = 0
    done: int = 0
    record: Try | None = None
    begun: bool = False  # whether it is known to be under way
    waits: bool = True  # for a score, or in a race for another one
    out: bool = False  # whether others went on without it


class BestSoFar(NamedTuple):
    """The best of the main line so far, and after how many epochs."""

    value: float
    epoch: int


class Course:
    """How a run goes, from the moment its display is opened.

    >>> from dynhp import paper
    >>> from dynhp.records import Candidate, History
    >>> policy = paper({"ratio": [0.2, 0.8]}, alpha=5, beta=1)
    >>> course = Course(RunBegins(policy=policy, history=History(()), planned=10, unit="epochs",
    ...                           values=Candidate({"ratio": 0.2})))
    >>> course.plan.most.total, course.trained, course.seconds_left()
    (14, 0, None)
    """

    def __init__(self, run: RunBegins) -> None:
        history = run.history
        criterion = run.policy.criterion
        self._run = run
        self._rounds = list(history)
        self._began = time.monotonic()
        self._before = spent(history)
        self._total = self._before.total  # of the rounds that are over
        self.unit = run.unit
        self.planned: int = run.planned or 0
        self.metric = next(iter(metrics_of(criterion)), None)
        self.direction = direction_of(criterion)

        self.values: Candidate = run.values
        self.epoch: int = history.epochs
        self.past = deque((each.candidate for each in history), maxlen=ROUNDS)
        self.metrics: Metrics = history[-1].metrics if history else {}
        self.best: BestSoFar | None = None
        self._judge(history.measured)
        self.rescues = sum(each.rescue for each in history)
        self.abandoned = self._before.abandoned

        self.plan: Plan = self._plan()
        self.first_plan = self.plan
        self._stale = False  # whether the plan may be another one now
        self._pause = Pause(least=0.0)

        self.round = len(history)
        self.round_epochs = 0
        self.doing: Literal["starts", "tries", "checks", "trains", "over"] = "starts"
        self.tries: dict[int, ShownTry] = {}
        self.stretch: StretchBegins | None = None
        self._checked = self._stretched = 0  # epochs of the round under way, beside those of tries

    @property
    def trained(self) -> int:
        """All epochs trained so far, tries included."""
        under_way = sum(each.done for each in self.tries.values())
        return self._total + under_way + self._checked + self._stretched

    def take(self, moment: Moment) -> None:
        """Take in what happened; the score of a try says that it has ended."""
        match moment:
            case RoundStarted():
                self._round_started(moment)
            case TriesBegin():
                self._tries_begin(moment)
            case TryScored(place=place, try_=record):
                shown = self.tries[place]
                shown.record = record
                shown.done = record.epochs
                shown.begun = shown.waits = False
            case StretchBegins(kept=place):
                kept = None if place is None else self.tries[place].record
                if kept is not None:
                    start = moment.start - kept.own.epochs
                    self._judge([(start + epoch, metrics) for epoch, metrics in kept.own.measured])
                self.doing = "trains"
                self.stretch = moment
                self.values = moment.candidate
                self.epoch = moment.start
            case Round():
                self._round_over(moment)

    def beat(self, place: int | None, epochs: int, metrics: Metrics | None) -> None:
        """Take in how many epochs of a try, or of the stretch, are done."""
        if place is not None:
            shown = self.tries[place]
            shown.done = (shown.record.epochs if shown.record else 0) + epochs
            shown.begun = True
        elif self.stretch is not None and self.doing == "trains":
            self.epoch = self.stretch.start + epochs
            self._stretched = epochs
            if metrics is not None:
                self.metrics = metrics
                self._judge(((self.epoch - 1, metrics),))

    def is_long(self, epochs: int) -> bool:
        """Whether a round is a large part of the run."""
        return epochs > self.planned / 5

    def seconds(self) -> float:
        """How long it has been shown."""
        return time.monotonic() - self._began

    def seconds_for(self, epochs: int) -> float:
        """About how long they take; infinite before the first epoch has ended."""
        worked = self.trained - self._before.total
        return epochs * self.seconds() / worked if worked > 0 else math.inf

    def seconds_left(self) -> tuple[float, float] | None:
        """About how long it will take, at least and at most; None before the first epoch."""
        pace = self.seconds_for(1)
        if math.isinf(pace):
            return None
        least, most = (pace * max(0, total - self.trained) for total in self.totals())
        return least, most

    def current_plan(self) -> Plan:
        """The cost of the whole run as it is known now."""
        if self._stale and not self.plan.exact and self._pause.is_over():
            began = time.thread_time()  # it looks at all rounds so far
            self.plan = self._plan()
            self._stale = False
            self._pause.begin(time.thread_time() - began)
        return self.plan

    def _plan(self) -> Plan:
        rounds = self._rounds
        before = len(self._run.history)
        memory = Memory.of(
            rounds,
            current=rounds[-1].candidate if rounds else self._run.values,
            generator={},
            checked=self._run.checked or any(each.checked for each in rounds[before:]),
        )
        return plan_from(self._run.policy, memory, self.planned, unit=self.unit)

    def totals(self) -> tuple[int, int]:
        """All epochs of the whole run, at least and at most, with those of the round under way."""
        plan = self.current_plan()  # of the rounds that were over when this one began
        least, most = plan.least.total, plan.most.total
        if self.doing in ("trains", "over"):  # what is left of the main line comes on top
            least = max(least, self.trained + self.planned - self.epoch)
        return least, max(least, most)

    def leader(self) -> int | None:
        """The place of the try that is kept, or so far of the one with the best score."""
        if self.stretch is not None:
            if self.stretch.kept is not None:
                return self.stretch.kept
            same = (place for place, each in self.tries.items() if each.candidate == self.values)
            return next(same, None)
        scored = {place: each.record for place, each in self.tries.items() if each.record}
        ranked = {place: each.rank_key for place, each in scored.items() if not each.error}
        return max(ranked, key=lambda place: ranked[place], default=None)

    def shown_score(self, score: float) -> float:
        """A score as the metric that it is made of, if it is a single one."""
        return score * self.direction if self.direction else score

    def _tries_begin(self, moment: TriesBegin) -> None:
        pairs = zip(moment.places, moment.candidates, strict=True)
        begun = {place: candidate for place, candidate in pairs if place is not None}
        if not begun:  # a try is repeated, to compare
            self.doing = "checks"
            self._checked += moment.epochs
            return
        self.doing = "tries"
        if self.tries.keys() & begun:  # the next stage of a race
            for place, shown in self.tries.items():
                shown.out |= place not in begun
        for place, candidate in begun.items():
            shown = self.tries.setdefault(place, ShownTry(candidate))
            shown.epochs = shown.done + moment.epochs
            shown.waits = True

    def _round_started(self, moment: RoundStarted) -> None:
        self.round = moment.index
        self.round_epochs = moment.epochs
        self.epoch = moment.start
        self.doing = "starts"
        self.tries = {}
        self.stretch = None
        self._checked = self._stretched = 0
        del self._rounds[moment.index :]  # a round that was told and undone
        self._stale = True  # there is a round more than at the last look
        if moment.abandoned:
            self.abandoned += moment.abandoned
            self.best = None  # what was left behind is not on the main line
            self._judge(measured_on(tuple(self._rounds), until=moment.start))

    def _round_over(self, round_: Round) -> None:
        self._rounds.append(round_)
        failed = 0 if round_.failure is None else 1  # the epoch that raised
        self._total += round_.epochs + round_.overhead + failed
        self.abandoned += failed
        self.doing = "over"
        self._checked = self._stretched = 0
        for shown in self.tries.values():
            shown.done = 0  # they are in the total now
        self.epoch = round_.start + round_.epochs
        self.metrics = round_.metrics or self.metrics
        self.values = round_.candidate
        self.rescues += round_.rescue
        self.past.append(round_.candidate)
        self._judge(round_.measured)

    def _judge(self, measured: Iterable[tuple[int, Metrics]]) -> None:
        if not self.direction or self.metric is None:
            return
        for number, metrics in measured:
            value = metrics.get(self.metric, math.nan)
            better = self.best is None or self.direction * (value - self.best.value) > 0
            if math.isfinite(value) and better:
                self.best = BestSoFar(value, number + 1)
