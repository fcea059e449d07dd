"""The reference of Algorithm 1 with triggers: rounds when they are due, from which state they say.

It trains the main line epoch by epoch, asks with all that was measured after each, and copies every
state. A reader can check it against the words of the design; the adapter must equal it.
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

from dynhp import DynamicGridAdapter, Space, lowest, smoothed
from dynhp.criteria.contract import metrics_of
from dynhp.errors import AllTriesFailed, RescuesSpent
from dynhp.read_back import read_metrics
from dynhp.records import Candidate, Metrics, Progress, Round
from dynhp.snapshots import Snapshots
from dynhp.triggers import At, Due, Every, LineSoFar, OnPlateau, Settled, any_of
from dynhp.triggers.contract import ask
from tests.support.kinds import PROPOSERS, SELECTIONS, TRIGGERS, randomness_of, worse
from tests.support.reference import ReferenceSettings, choose, go_on


@dataclass(kw_only=True)
class WhenSettings(ReferenceSettings):
    """What both the adapter and the reference are given."""

    adapt_every: Any = None
    when: Any
    record_every: int
    start_from: Any = "here"
    snapshots: Any = None
    max_rounds: int | None = None
    max_rescues: int = 0
    until: Any = None

    def made(self, trainer: Any, **more: Any) -> DynamicGridAdapter:
        return self.adapter(trainer, **more)


class ReferenceWhen:
    """One run, told plainly; ``error`` is what ended it early."""

    def __init__(self, trainer: Any, given: WhenSettings, epochs: int) -> None:
        self.trainer, self.given, self.epochs = trainer, given, epochs
        self.rng = np.random.default_rng(given.seed)
        self.current: Candidate = given.space.start()
        self.rounds: list[Round] = []
        self.measured: list[tuple[int, Metrics]] = []
        self.held: list[tuple[int, float, Any]] = []  # epoch, score, state
        self.fired: list[int] = []
        self.began: int | None = None
        self.epoch = self.since = 0
        self.failure: str | None = None
        self.stopped = False
        self.error: type[BaseException] | None = None

    def run(self) -> list[Round]:
        while self.error is None:
            due = self.due()
            over = self.epoch >= self.epochs or (self.epoch and self.ended())
            if over and not (due and self.is_rescue(due)):
                break
            had = sum(round_.rescue for round_ in self.rounds)
            if due and self.is_rescue(due) and had >= self.given.max_rescues:
                self.go_back(due)
                self.error = RescuesSpent
                break
            before = copy.deepcopy(self.trainer.get_state())
            try:
                self.round(due)
            except (ArithmeticError, AllTriesFailed) as error:
                self.error = type(error)
                self.trainer.set_state(self.origin if hasattr(self, "origin") else before)
        return self.rounds

    def is_rescue(self, due: Due) -> bool:
        return due.alarm and self.given.max_rescues > 0

    def line(self) -> LineSoFar:
        return LineSoFar(
            self.measured,
            epoch=self.epoch,
            planned=self.epochs,
            rounds=self.rounds,
            began=self.began,
            since=self.since,
            fired=self.fired,
            stopped=self.stopped,
            failure=self.failure,
        )

    def ended(self) -> Due | None:
        return None if self.given.until is None else ask(self.given.until, self.line())

    def due(self, *under_way: bool) -> Due | None:
        line = self.line()
        answers = [ask(self.given.when, line), self.broken(line)]
        dues = [answer for answer in answers if answer is not None]
        if not dues:
            return None
        due = Due(
            because="; ".join(dict.fromkeys(each.because for each in dues if each.because)),
            healthy=min((e.healthy for e in dues if e.healthy is not None), default=None),
            alarm=any(each.alarm for each in dues),
        )
        tried = [round_.rescue for round_ in self.rounds if round_.tries] + [*under_way]
        if self.is_rescue(due):
            return due
        most = math.inf if self.given.max_rounds is None else self.given.max_rounds
        return due if tried.count(False) < most else None

    def broken(self, line: LineSoFar) -> Due | None:
        if not self.given.max_rescues:
            return None
        if self.failure is not None:
            return Due(because=self.failure, healthy=self.epoch, alarm=True)
        asked = (self.given.when, self.given.until)
        read = [name for each in asked for name in getattr(each, "metrics", ())]
        names = (*metrics_of(self.given.criterion), *read)
        if line.now is not None:
            for name in names:
                if not math.isfinite(line.now[name]):
                    because = f"{name} is {line.now[name]}"
                    return Due(because=because, healthy=self.epoch - 1, alarm=True)
        return None

    def round(self, due: Due | None) -> None:
        given, end = self.given, self.epoch
        if due is not None:
            self.go_back(due)
        start, done, seed, entries, best = self.epoch, 0, None, [], None
        self.origin = copy.deepcopy(self.trainer.get_state())
        self.stopped, self.failure = False, None
        self.hold(None, at_start=True)
        length = max(given.record_every, given.try_for if due else 1)
        alpha, stretch, failure = min(length, self.epochs - start), [], None
        values, under_way = self.current, [] if due is None else [self.is_rescue(due)]
        if due is not None:
            common = given.randomness == "common" and self.is_rescue(due)
            if self.is_rescue(due):
                common_seed = int(self.rng.integers(2**63))
            tried = [round_ for round_ in self.rounds if round_.tries]
            entries, best = choose(
                self.trainer,
                given,
                self.rng,
                tried,
                self.current,
                Progress(start, self.epochs),
                min(given.try_for, alpha),
                common_seed if common else None,
            )
            done, seed = go_on(self.trainer, given, self.rng, best, self.origin)
            if given.keep == "value" and given.randomness == "common":
                self.replay(best)  # the way back leads through the winner's copy
                done, seed = best.epochs, best.seed
            values = best.candidate
            self.fired.append(end)
            self.began, self.epoch, self.since = start, start + done, start + done
            if done:
                self.measured += [(start + n, each) for n, each in enumerate(best.series)]
                if given.start_from == "before":
                    self.hold(None)
                elif given.start_from == "best":
                    # Each epoch of a kept try is one of the main line, and may be its best.
                    for number, state in enumerate(best.states):
                        self.epoch = start + number + 1
                        self.hold(best.series[number], state)
        at_once = done and self.epoch < start + alpha and self.is_at_end(*under_way)
        while self.epoch < start + alpha and not at_once:
            try:
                self.trainer.train_k(1, values)
            except ArithmeticError as error:
                if sum([r.rescue for r in self.rounds] + under_way) >= given.max_rescues:
                    raise
                failure = f"{type(error).__name__}: {error}"
                break
            self.epoch += 1
            metrics = read_metrics(self.trainer)
            self.measured.append((self.epoch - 1, metrics))
            stretch.append((self.epoch - 1, metrics))
            next_due = self.due(*under_way)
            if next_due is None or (given.start_from == "best" and not next_due.alarm):
                self.hold(metrics)
            if self.is_at_end(*under_way):
                break
        self.record(due, start, end, values, stretch, failure, (done, seed, entries, best))
        self.stopped, self.failure = self.epoch - start < length, failure

    def why_ended(self, failure: str | None) -> str:
        """Why the run ends by itself, unless a rescue comes first."""
        self.failure, before = failure, self.failure
        due, ended = self.due(), self.ended()
        self.failure = before
        if ended is None or (due is not None and self.is_rescue(due)):
            return ""
        return ended.because or "by a rule without a reason"

    def is_at_end(self, *under_way: bool) -> bool:
        return self.due(*under_way) is not None or self.ended() is not None

    def record(self, due: Any, start: int, end: int, *rest: Any) -> None:
        values, stretch, failure, (done, seed, entries, best) = rest
        metrics = stretch[-1][1] if stretch else (best.series[-1] if best else {})
        self.rounds.append(
            Round(
                index=len(self.rounds),
                start=start,
                epochs=self.epoch - start,
                previous=self.current,
                tries=tuple(entry.record() for entry in entries),
                chosen=next((n for n, each in enumerate(entries) if each is best), -1),
                reason="",
                metrics=metrics,
                seed=seed,
                restarted=best is not None and done == 0,
                stretch=tuple(stretch[:-1]),
                because="" if due is None else due.because,
                rescue=due is not None and self.is_rescue(due),
                abandoned=end - start,
                failure=failure,
                ended=self.why_ended(failure),
            )
        )
        self.current = values

    def replay(self, best: Any) -> None:
        self.trainer.set_state(copy.deepcopy(best.state))

    def go_back(self, due: Due) -> None:
        if self.given.start_from == "here" or not self.held:
            return
        chosen = self.held[-1]
        if self.given.start_from == "before":
            if due.healthy is None:
                return
            chosen = next((h for h in self.held[::-1] if h[0] <= due.healthy), self.held[0])
        self.epoch = chosen[0]
        self.trainer.set_state(copy.deepcopy(chosen[2]))
        self.measured = [each for each in self.measured if each[0] < self.epoch]
        self.held = [each for each in self.held if each[0] <= self.epoch]

    def hold(self, metrics: Metrics | None, state: Any = None, *, at_start: bool = False) -> None:
        given, snapshots = self.given, self.given.snapshots or Snapshots()
        state = copy.deepcopy(self.trainer.get_state() if state is None else state)
        if given.start_from == "before":
            known = [each[0] for each in self.held]
            wanted = self.epoch % snapshots.every == 0 and self.epoch not in known
            if wanted or not known:
                self.held = [*self.held, (self.epoch, -math.inf, state)][-snapshots.k :]
        elif given.start_from == "best" and at_start and not self.held:
            self.held = [(self.epoch, -math.inf, state)]
        elif given.start_from == "best" and metrics is not None:
            score = given.criterion([metrics], Progress(self.epoch, self.epochs))
            if math.isfinite(score) and score > self.held[-1][1]:
                self.held = [(self.epoch, score, state)]


LR = [0.01, 0.05, 0.2, 0.6, 1.5]


@st.composite
def problems(draw: st.DrawFn) -> WhenSettings:
    proposer = draw(st.sampled_from(PROPOSERS))
    start_from = draw(st.sampled_from(["here", "best", "before"]))
    back = start_from != "here"
    return WhenSettings(
        space=Space({"lr": LR[: draw(st.integers(1, 5))]}),
        criterion=draw(st.sampled_from([lowest("loss"), smoothed(lowest("loss"), 2)])),
        when=draw(st.sampled_from(TRIGGERS)),
        record_every=draw(st.integers(1, 7)),
        try_for=draw(st.integers(1, 4)),
        proposer=proposer,
        selection=draw(st.sampled_from(SELECTIONS)),
        keep=draw(st.sampled_from(["winner", "value"])),
        randomness=randomness_of(proposer, draw(st.sampled_from(["common", "independent"]))),
        seed=draw(st.integers(0, 2**32)),
        start_from=start_from,
        snapshots=Snapshots(k=draw(st.integers(1, 3)), every=draw(st.integers(1, 4))),
        max_rounds=draw(st.integers(0, 4)) if back else draw(st.none() | st.integers(0, 4)),
        max_rescues=draw(st.integers(0, 3)) if back else 0,
        until=draw(st.none() | st.sampled_from(ENDS)),
    )


@st.composite
def problems_from_the_best(draw: st.DrawFn) -> WhenSettings:
    """Runs that often go back to an epoch before the end of a kept try."""
    problem = draw(problems())
    problem.space = Space({"lr": LR[: draw(st.integers(2, 5))]})
    problem.start_from, problem.max_rounds = "best", draw(st.integers(3, 6))
    problem.try_for, problem.keep = draw(st.integers(3, 4)), "winner"
    problem.when = draw(st.sampled_from(OFTEN))
    return problem


ENDS: list[Any] = [
    Settled("loss", factor=1.2, least=1),
    Settled("loss", factor=3, least=2, better="lower"),
    At([5]),
    lambda line: line.epoch >= 4 and line.now is not None and line.now["loss"] < 0.5,
]
"""Ways in which a run ends by itself."""

OFTEN: list[Any] = [Every(4), OnPlateau("loss", patience=1), any_of(worse, At([2])), At([3, 8, 9])]


some_values = st.lists(st.sampled_from(LR), max_size=2)
bad_values = st.one_of(st.just(([], [])), st.tuples(some_values, some_values))
