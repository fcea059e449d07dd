"""The records of a run, which never change: candidates, tries, rounds and their history."""

from __future__ import annotations

import math
from collections.abc import ItemsView, Iterator, KeysView, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

__all__ = ["Candidate", "Event", "History", "Metrics", "Progress", "Round", "RoundStarted", "Try"]
__all__ += ["Measured", "Value"]

Value: TypeAlias = bool | int | float | str | None
"""What a hyperparameter can be: everything that JSON can carry without loss."""

Metrics: TypeAlias = Mapping[str, float]
"""What a trainer measures, by name."""

Measured: TypeAlias = tuple[tuple[int, Metrics], ...]
"""What was measured after which epochs: the number of each, from 0, and its metrics."""


class Candidate(Mapping[str, Value]):
    """One value for each hyperparameter under adaptation; a mapping that never changes.

    >>> candidate = Candidate({"lr": 0.1, "layers": 2})
    >>> candidate["lr"], candidate == {"layers": 2, "lr": 0.1}, candidate
    (0.1, True, Candidate(lr=0.1, layers=2))
    """

    __slots__ = ("_hash", "_values")

    def __init__(self, values: Mapping[str, Value]) -> None:
        self._values: dict[str, Value] = dict(values)
        self._hash: int | None = None

    def __getitem__(self, name: str) -> Value:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def keys(self) -> KeysView[str]:
        """The names; like ``items``, far faster than what a Mapping makes of ``__iter__``."""
        return self._values.keys()

    def items(self) -> ItemsView[str, Value]:
        """The names with their values."""
        return self._values.items()

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Candidate):
            return self._values == other._values
        return isinstance(other, Mapping) and self._values == dict(other)

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self._values.items()))
        return self._hash

    def __repr__(self) -> str:
        return f"Candidate({', '.join(f'{name}={value!r}' for name, value in self.items())})"

    def __reduce__(self) -> tuple[type[Candidate], tuple[dict[str, Value]]]:
        return Candidate, (self._values,)

    def but(self, changes: Mapping[str, Value]) -> Candidate:
        """Give the same candidate with some values changed.

        >>> Candidate({"lr": 0.1, "layers": 2}).but({"lr": 0.3})
        Candidate(lr=0.3, layers=2)
        """
        return Candidate({**self._values, **changes})


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the run is: main-line epochs done, and planned where that is known.

    >>> Progress(epoch=30, planned=40).share
    0.75
    """

    epoch: int
    planned: int | None = None

    @property
    def share(self) -> float | None:
        """The part of the planned epochs that is done, or None where no plan is known."""
        return None if self.planned is None else self.epoch / self.planned


def _one_nan(value: float) -> float:
    # No nan equals another, but records that hold the same object are equal, wherever it came from.
    return value if value == value else math.nan


def _numbered_with_one_nan(measured: Measured) -> Measured:
    return tuple((number, _with_one_nan(metrics)) for number, metrics in measured)


def _with_one_nan(metrics: Metrics) -> Metrics:
    for value in metrics.values():  # a loop, because this runs for every try
        if value != value:
            return {name: _one_nan(each) for name, each in metrics.items()}
    return metrics


@dataclass(frozen=True, slots=True, kw_only=True)
class Try:
    """One candidate trained for a few epochs from the round's origin, and what came of it.

    Attributes:
        candidate: the values it was trained with.
        series: the metrics after each epoch, oldest first; in a loop over steps, after each step
            that was reported.
        epochs: the epochs begun, so a try that raised in its second epoch has 2.
        score: what the criterion made of the series (higher is better), nan where it failed.
        error: why it failed, None where it did not.
        seed: what the trainer was reseeded with, None where it was not.
        seconds: how long it took; not compared.
        reported: the epochs of the try, from 1, that ``series`` belongs to; empty where they are
            the first ones, without a gap.

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

    def __post_init__(self) -> None:
        object.__setattr__(self, "score", _one_nan(self.score))
        object.__setattr__(self, "series", tuple(map(_with_one_nan, self.series)))

    @property
    def measured(self) -> Measured:
        """The series with the place of each entry in the try, from 0."""
        epochs = self.reported or range(1, len(self.series) + 1)
        return tuple((epoch - 1, each) for epoch, each in zip(epochs, self.series, strict=True))

    @property
    def rank_key(self) -> float:
        """The score as it is ranked: what failed or is not finite is worst."""
        return self.score if self.error is None and math.isfinite(self.score) else -math.inf


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One period of the run: its tries, the one that was kept and why, and where it ended.

    Attributes:
        index: the number of the round, from 0.
        start: the epochs of the main line before it.
        epochs: the epochs of the main line in it.
        previous: the values in force before it.
        tries: its tries, in the order of the candidates.
        chosen: the place of the try that was kept.
        reason: why that one, in a few words.
        metrics: what was measured at the end; empty where a loop did not report its last epoch.
        seed: what the main line was reseeded with at the start, None where it was not.
        restarted: whether it went back to the origin after the tries (``keep="value"``).
        checked: the epochs of the self-check; not compared, since a resumed run checks once more.
        seconds: how long it took; not compared.
        stretch: what a loop reported between the kept try and the last epoch, which is ``metrics``.

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
    seconds: float = field(default=0.0, compare=False)
    stretch: Measured = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "metrics", _with_one_nan(self.metrics))
        if self.stretch:
            object.__setattr__(self, "stretch", _numbered_with_one_nan(self.stretch))

    @property
    def winner(self) -> Try:
        """The try that was kept."""
        return self.tries[self.chosen]

    @property
    def candidate(self) -> Candidate:
        """The values that the main line was trained with in this round."""
        return self.tries[self.chosen].candidate

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
        tried = () if self.restarted else self.winner.measured
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
        return tried if self.restarted else tried - self.winner.epochs


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

    @property
    def measured(self) -> Measured:
        """All that was measured on the main line: the number of each epoch, and its metrics."""
        return tuple(each for round_ in self.rounds for each in round_.measured)

    @property
    def epochs(self) -> int:
        """The epochs of the main line so far."""
        return self.rounds[-1].start + self.rounds[-1].epochs if self.rounds else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundStarted:
    """Given to callbacks when a round begins, before its first try.

    >>> from dynhp import DynamicGridAdapter, lowest
    >>> from dynhp.testing import Quadratic
    >>> seen = []
    >>> adapter = DynamicGridAdapter(Quadratic(), {"lr": [0.1]}, criterion=lowest("loss"),
    ...                              adapt_every=3, try_for=1, callbacks=[seen.append])
    >>> history = adapter.run(3); seen[0]
    RoundStarted(index=0, start=0, epochs=3)
    """

    index: int
    start: int
    epochs: int


Event: TypeAlias = RoundStarted | Try | Round
"""What a callback gets, in this order: the round starts, each try ends, the round ends."""
