"""What is known of a run while it goes on, gathered from what its display is called with."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from dynhp.criteria.contract import metrics_of
from dynhp.criteria.metric import direction_of
from dynhp.display import StretchBegins, TriesBegin, TryScored
from dynhp.display.contract import Moment
from dynhp.planning.budget import Plan, plan_for, spent
from dynhp.records import Candidate, Measured, Metrics, Round, RoundStarted, Try, Unit
from dynhp.records.kept import measured_on
from dynhp.records.units import EPOCHS
from dynhp.report.live.pause import Pause

__all__ = ["BestSoFar", "Course", "ShownTry"]

ROUNDS = 30
"""So many rounds of the past are shown."""


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


@dataclass(frozen=True, slots=True)
class BestSoFar:
    """The best of the main line so far, and after how many epochs."""

    value: float
    epoch: int


class Course:
    """How a run goes, from the moment its display is opened.

    >>> from dynhp import DynamicGridAdapter, lowest
    >>> from dynhp.testing import Quadratic
    >>> adapter = DynamicGridAdapter(Quadratic(), {"lr": [0.1, 0.5]}, criterion=lowest("loss"),
    ...                              adapt_every=5, try_for=1, epochs=10)
    >>> course = Course(adapter)
    >>> course.plan.most.total, course.trained, course.seconds_left()
    (14, 0, None)
    """

    def __init__(self, adapter: Any, *, unit: Unit = EPOCHS) -> None:
        self._adapter, self.unit = adapter, unit
        self._began, self._before = time.monotonic(), spent(adapter.history)
        self.planned: int = adapter.epochs
        self.metric = next(iter(metrics_of(adapter.criterion)), None)
        self.direction = direction_of(adapter.criterion)
        self.plan: Plan = plan_for(adapter)
        self.first_plan = self.plan
        self._stale, self._pause = False, Pause(least=0.0)  # whether the plan may be another now
        self.epoch: int = adapter.epoch
        self.values: Candidate = adapter.current
        self.past = deque((each.candidate for each in adapter.history), maxlen=ROUNDS)
        self.metrics: Metrics = adapter.history[-1].metrics if adapter.history else {}
        self.best: BestSoFar | None = None
        self._judge(adapter.history.measured)
        self.round, self.tries = len(adapter.history), dict[int, ShownTry]()
        self.rescues = sum(each.rescue for each in adapter.history)
        self.abandoned = self._before.abandoned
        self.doing: Literal["starts", "tries", "checks", "trains", "over"] = "starts"
        self.round_epochs = 0
        self.stretch: StretchBegins | None = None
        self._total = self._before.total  # of the rounds that are over
        self._checked = self._stretched = 0  # epochs of the round under way, beside those of tries

    @property
    def trained(self) -> int:
        """All epochs trained so far, tries included."""
        under_way = sum(each.done for each in self.tries.values())
        return self._total + under_way + self._checked + self._stretched

    def take(self, moment: Moment) -> None:
        """Take in what happened; that a try has ended is told by its score."""
        handler = _HANDLERS.get(type(moment))
        if handler is not None:
            handler(self, moment)

    def _try_scored(self, moment: TryScored) -> None:
        shown = self.tries[moment.place]
        shown.record, shown.done = moment.try_, moment.try_.epochs
        shown.begun = shown.waits = False

    def _stretch_begins(self, moment: StretchBegins) -> None:
        self.doing, self.stretch = "trains", moment
        self.values, self.epoch = moment.candidate, moment.start

    def beat(self, place: int | None, epochs: int, metrics: Metrics | None) -> None:
        """Take in that so many epochs of what is under way are done."""
        if place is not None:
            shown = self.tries[place]
            shown.done, shown.begun = (shown.record.epochs if shown.record else 0) + epochs, True
        elif self.stretch is not None and self.doing == "trains":
            self.epoch = self.stretch.start + epochs
            self._stretched = epochs
            if metrics is not None:
                self.metrics = metrics
                self._judge(((self.epoch - 1, metrics),))

    def is_long(self, epochs: int) -> bool:
        """Whether a round of so many epochs is a large part of the run."""
        return epochs > self.planned / 5

    def seconds(self) -> float:
        """How long it has been shown."""
        return time.monotonic() - self._began

    def seconds_for(self, epochs: int) -> float:
        """About how long so many epochs take; infinite before the first one has ended."""
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
            self.plan, self._stale = plan_for(self._adapter), False
            self._pause.begin(time.thread_time() - began)
        return self.plan

    def totals(self) -> tuple[int, int]:
        """All epochs of the whole run, at least and at most, with those of the round under way."""
        plan = self.current_plan()  # of the rounds that were over when this one began
        least, most = plan.least.total, plan.most.total
        if self.doing in ("trains", "over"):  # what is left of the main line comes on top
            least = max(least, self.trained + self.planned - self.epoch)
        return least, max(least, most)

    def leader(self) -> int | None:
        """The place of the try that is kept, or before that of the one with the best score."""
        if self.stretch is not None:
            if self.stretch.kept is not None:
                return self.stretch.kept
            same = (place for place, each in self.tries.items() if each.candidate == self.values)
            return next(same, None)
        scored = {place: each.record for place, each in self.tries.items() if each.record}
        ranked = {place: each.rank_key for place, each in scored.items() if not each.error}
        return max(ranked, key=lambda place: ranked[place], default=None)

    def shown_score(self, score: float) -> float:
        """A score as the metric it is made of, where it is made of one."""
        return score * self.direction if self.direction else score

    def _tries_begin(self, moment: TriesBegin) -> None:
        if None in moment.places:
            self.doing = "checks"
            self._checked += moment.epochs
            return
        self.doing = "tries"
        pairs = zip(moment.places, moment.candidates, strict=True)
        places = {place: candidate for place, candidate in pairs if place is not None}
        for place, shown in self.tries.items():
            shown.out |= bool(self.tries.keys() & places) and place not in places
        for place, candidate in places.items():
            shown = self.tries.setdefault(place, ShownTry(candidate))
            shown.epochs, shown.waits = shown.done + moment.epochs, True

    def _round_started(self, moment: RoundStarted) -> None:
        self.round, self.epoch, self.round_epochs = moment.index, moment.start, moment.epochs
        self.tries, self.stretch, self.doing = {}, None, "starts"
        self._checked = self._stretched = 0
        self._stale = True  # the round before is in the history now
        if moment.abandoned:
            self.abandoned += moment.abandoned
            self.best = None  # what was left behind is not on the main line
            self._judge(measured_on(self._adapter.history.rounds, until=moment.start))

    def _round_over(self, round_: Round) -> None:
        self._total += round_.epochs + round_.overhead + (round_.failure is not None)
        self.abandoned += round_.failure is not None
        self._checked, self._stretched, self.doing = 0, 0, "over"
        for shown in self.tries.values():
            shown.done = 0  # they are in the total now
        self.epoch, self.metrics = round_.start + round_.epochs, round_.metrics or self.metrics
        self.values = round_.candidate
        self.rescues += round_.rescue
        self.past.append(round_.candidate)
        self._judge(round_.measured)

    def _judge(self, measured: Measured) -> None:
        if not self.direction or self.metric is None:
            return
        for number, metrics in measured:
            value = metrics.get(self.metric, math.nan)
            better = self.best is None or self.direction * (value - self.best.value) > 0
            if math.isfinite(value) and better:
                self.best = BestSoFar(value, number + 1)


_HANDLERS: dict[type, Callable[[Course, Any], None]] = {
    RoundStarted: Course._round_started,
    TriesBegin: Course._tries_begin,
    TryScored: Course._try_scored,
    StretchBegins: Course._stretch_begins,
    Round: Course._round_over,
}
