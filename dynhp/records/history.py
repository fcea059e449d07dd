"""What happened in a run: tries, rounds and their history."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from dynhp._lazy import later
from dynhp.records.candidate import Candidate, Value
from dynhp.records.metrics import Measured, Metrics, equal_records, fixed_metrics
from dynhp.records.text import history_text, round_text, try_text
from dynhp.records.units import EPOCHS, Unit, unit_of

__all__ = ["DRY_RUN", "History", "Round", "Try", "kept_epochs", "measured_on"]

DRY_RUN: Final = "a dry run: the value in force is kept, whatever the tries scored"
"""Why a round of a dry run kept the try that it kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Try:
    """One candidate trained for a few epochs from the round's origin, and what came of it.

    Attributes:
        candidate: the values it was trained with.
        series: the metrics after each epoch, oldest first; in a loop over steps, after each step
            that was reported.
        epochs: the epochs begun, so a try that raised in its second epoch has 2.
        score: what the criterion made of the series (higher is better), nan if it failed.
        error: why it failed, None if it did not.
        seed: what the trainer was reseeded with, None if it was not.
        seconds: how long it took; not compared.
        reported: the epochs of the try, from 1, that ``series`` belongs to; empty if they are
            the first ones, without a gap.
        tail: how many of its last epochs were a tail, which is thrown away.
        unit: whether all these are "epochs", or the "steps" of a loop over steps; not compared.

    >>> from dynhp import complete_search, lowest
    >>> from dynhp.testing import Quadratic
    >>> [round_] = complete_search(Quadratic(), {"lr": [2, 3]}, criterion=lowest("loss"), epochs=1)
    >>> for try_ in round_.tries:
    ...     print(try_.candidate, try_.epochs, try_.series, try_.score)
    Candidate(lr=2) 1 ({'loss': 0.5},) -0.5
    Candidate(lr=3) 1 ({'loss': 2.0},) -2.0
    """

    candidate: Candidate
    series: tuple[Metrics, ...]
    epochs: int
    score: float
    error: str | None = None
    seed: int | None = None
    seconds: float = field(default=0.0, compare=False)
    reported: tuple[int, ...] = ()
    tail: int = 0
    unit: Unit = field(default=EPOCHS, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.series != ():  # as it is for every try that begins
            object.__setattr__(self, "series", tuple(map(fixed_metrics, self.series)))

    __eq__ = equal_records

    def __str__(self) -> str:
        return try_text(self)

    @property
    def measured(self) -> Measured:
        """The series with the place of each entry in the try, from 0."""
        epochs = self.reported or range(1, len(self.series) + 1)
        return tuple((epoch - 1, each) for epoch, each in zip(epochs, self.series, strict=True))

    @property
    def own(self) -> Try:
        """The try without its tail: what becomes part of the main line if it is kept."""
        if not self.tail:
            return self
        epochs = self.epochs - self.tail
        measured = [(place, metrics) for place, metrics in self.measured if place < epochs]
        return replace(
            self,
            series=tuple(metrics for _, metrics in measured),
            epochs=epochs,
            tail=0,
            reported=tuple(place + 1 for place, _ in measured) if self.reported else (),
        )

    @property
    def rank_key(self) -> float:
        """The score as it is ranked: what failed or is not finite is worst."""
        return self.score if self.error is None and math.isfinite(self.score) else -math.inf


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One period of the run: its tries (none if no round is due), the one kept, and why.

    Attributes:
        index: the number of the round, from 0.
        start: the epochs of the main line before it.
        epochs: the epochs of the main line in it.
        previous: the values in force before it.
        tries: its tries, in the order of the candidates.
        chosen: the place of the try that was kept, -1 in a round without tries.
        reason: why that one, in a few words.
        metrics: what was measured at the end; empty if a loop did not report its last epoch.
        seed: what the main line was reseeded with at the start, None if it was not.
        restarted: whether it went back to the origin after the tries (``keep="value"``).
        checked: the epochs of the self-check; not compared, since a resumed run checks once more.
        tolerance: how far the repeat of a try was allowed to be off; not compared either.
        seconds: how long it took; not compared.
        stretch: what was measured between the kept try and the last epoch, which is ``metrics``.
        because: why a round was due, in the words of its trigger.
        rescue: whether it was due because something broke.
        abandoned: the epochs of the main line before it that it left behind.
        failure: the exception that ended the main line after its last epoch, if it was rescued.
        ended: why the run ended with this round, in the words of ``until``; empty if it did not.
        corrected: the values it went on with, if ``then`` made others of those of the winner.
        scheduled: for each name whose value a schedule changed, the values of all epochs of the
            main line in this round, or of all their steps if hooks moved them within epochs.
        unit: whether all these are "epochs", or the "steps" of a loop over steps; not compared.

    >>> from dynhp import complete_search, lowest
    >>> from dynhp.testing import Quadratic
    >>> [round_] = complete_search(Quadratic(), {"lr": [2, 1]}, criterion=lowest("loss"), epochs=3)
    >>> round_.previous, round_.candidate, round_.overhead, round_.reason
    (Candidate(lr=2), Candidate(lr=1), 3, 'scored 0.5 above the value in force')
    """

    index: int
    start: int
    epochs: int
    previous: Candidate
    tries: tuple[Try, ...]
    chosen: int
    reason: str
    metrics: Metrics
    seed: int | None = None
    restarted: bool = False
    checked: int = field(default=0, compare=False)
    tolerance: float = field(default=0.0, compare=False)
    seconds: float = field(default=0.0, compare=False)
    stretch: Measured = ()
    because: str = ""
    rescue: bool = False
    abandoned: int = 0
    failure: str | None = None
    ended: str = ""
    corrected: Candidate | None = None
    scheduled: Mapping[str, tuple[Value, ...]] = field(default_factory=dict)
    unit: Unit = field(default=EPOCHS, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "metrics", fixed_metrics(self.metrics))
        if self.stretch:
            fixed = tuple((number, fixed_metrics(metrics)) for number, metrics in self.stretch)
            object.__setattr__(self, "stretch", fixed)

    __eq__ = equal_records

    def __str__(self) -> str:
        return round_text(self)

    @property
    def winner(self) -> Try:
        """The try that was kept; a round without tries has none, which is an error."""
        if not self.tries:
            raise LookupError(f"round {self.index} has no tries; look at round_.tries first")
        return self.tries[self.chosen]

    @property
    def candidate(self) -> Candidate:
        """The values that the main line was trained with in this round, after its tries."""
        if self.corrected is not None:
            return self.corrected
        return self.tries[self.chosen].candidate if self.tries else self.previous

    @property
    def values_by_epoch(self) -> tuple[Candidate, ...]:
        """The values that each epoch of the main line in this round was trained with.

        If they moved within an epoch, these are those in its middle.

        >>> from dynhp import DynamicGridAdapter
        >>> from dynhp.tails import scale
        >>> from dynhp.testing import Quadratic
        >>> adapter = DynamicGridAdapter(Quadratic(), {"lr": [0.5]}, minimize="loss",
        ...                              adapt_every=3, try_for=1, then=scale(1.0))
        >>> adapter.step().values_by_epoch
        (Candidate(lr=0.5), Candidate(lr=0.5), Candidate(lr=0.5))
        """
        steps = self.steps_per_epoch
        return self.values_by_step[steps // 2 :: steps]

    @property
    def values_by_step(self) -> tuple[Candidate, ...]:
        """As ``values_by_epoch``, for each step of an epoch where values moved within it."""
        steps = self.steps_per_epoch
        values = [self.candidate] * (self.epochs * steps)
        if self.tries and not self.restarted:  # the try that was kept had its own value
            tried = min(self.epochs, self.winner.own.epochs) * steps
            values[:tried] = [self.winner.candidate] * tried
        if not self.scheduled:
            return tuple(values)
        return tuple(
            each.but({name: along[place] for name, along in self.scheduled.items()})
            for place, each in enumerate(values)
        )

    @property
    def steps_per_epoch(self) -> int:
        """How many values of a schedule each epoch has: more than 1 where they moved within it."""
        return max([len(along) // self.epochs for along in self.scheduled.values()], default=1)

    @property
    def last_values(self) -> Candidate:
        """The values that its last epoch on the main line was trained with."""
        last = {name: along[-1] for name, along in self.scheduled.items()}
        return self.candidate.but(last) if last else self.candidate

    @property
    def measured(self) -> Measured:
        """All that was measured on the main line in this round, epoch by epoch.

        >>> from dynhp import adapt, lowest
        >>> from dynhp.testing import Quadratic
        >>> model = Quadratic()
        >>> loop = adapt(3, state=[model], space={"lr": [0.5, 3.0]}, criterion=lowest("loss"),
        ...              adapt_every=3, try_for=1)
        >>> for epoch in loop:
        ...     model.train_k(1, epoch.values)
        ...     epoch.report(loss=model.metrics()["loss"])
        >>> loop.history[0].measured
        ((0, {'loss': 0.125}), (1, {'loss': 0.03125}), (2, {'loss': 0.0078125}))
        """
        tried = () if self.restarted or not self.tries else self.winner.own.measured
        last = self.start + self.epochs - 1
        known = [(self.start + place, metrics) for place, metrics in tried]
        known += self.stretch
        if self.metrics and not (known and known[-1][0] == last):
            known.append((last, self.metrics))
        return tuple(known)

    @property
    def changed(self) -> bool:
        """Whether the round left the value that was in force before."""
        return self.candidate != self.previous

    @property
    def overhead(self) -> int:
        """The epochs trained in this round that are not part of the final model."""
        tried = sum(try_.epochs for try_ in self.tries) + self.checked
        return tried if self.restarted or not self.tries else tried - self.winner.own.epochs


@dataclass(frozen=True, slots=True)
class History(Sequence[Round]):
    """The rounds of a run, oldest first.

    >>> History(()).epochs
    0
    """

    rounds: tuple[Round, ...]

    def __len__(self) -> int:
        return len(self.rounds)

    def __getitem__(self, index: Any) -> Any:  # int -> Round, slice -> tuple: as tuples do
        return self.rounds[index]

    def __iter__(self) -> Iterator[Round]:
        return iter(self.rounds)

    def __str__(self) -> str:
        return history_text(self.rounds)

    def _repr_html_(self) -> str:
        html: str = later("dynhp.report.notebook", "history_html")(self.rounds)
        return html

    @property
    def measured(self) -> Measured:
        """All that was measured on the main line, what was abandoned not; with epochs' numbers."""
        return measured_on(self.rounds)

    @property
    def unit(self) -> Unit:
        """Whether it is of "epochs", or of the "steps" of a loop over steps."""
        return unit_of(self.rounds)

    @property
    def epochs(self) -> int:
        """The epochs of the main line so far."""
        return self.rounds[-1].start + self.rounds[-1].epochs if self.rounds else 0


def kept_epochs(rounds: Sequence[Round], *, until: int | None = None) -> list[int]:
    """How many epochs of each round are on the main line: those that no later one left behind.

    ``until`` says that the main line itself was put back to that many epochs.

    >>> kept_epochs([])
    []
    """
    kept: list[int] = []
    for round_ in reversed(rounds):
        end = round_.start + round_.epochs
        kept.append(max(0, (end if until is None else min(end, until)) - round_.start))
        if round_.abandoned:
            until = round_.start if until is None else min(round_.start, until)
    return kept[::-1]


def measured_on(rounds: Sequence[Round], *, until: int | None = None) -> Measured:
    """All that was measured on the main line: the number of each epoch, and its metrics."""
    return tuple(
        each
        for round_, epochs in zip(rounds, kept_epochs(rounds, until=until), strict=True)
        for each in round_.measured
        if each[0] < round_.start + epochs
    )
