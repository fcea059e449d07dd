"""Criteria: what a try is worth, given its metrics per epoch and how far the run is."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from dynhp._checks import require_count, require_criterion, require_name, require_number
from dynhp.errors import ContractError, DynhpError, MetricError, SettingsError, nearest
from dynhp.records import Metrics, Progress

__all__ = ["Criterion", "highest", "lowest", "phased", "smallest_gap", "smoothed"]


@runtime_checkable
class Criterion(Protocol):
    """Any callable like this; higher is better, and what is not finite is worst.

    It may have an attribute ``metrics``, the names it reads: they are then checked before the
    run and watched during tries, and a try in which one is not finite has failed.

    >>> from dynhp import DynamicGridAdapter
    >>> from dynhp.testing import Quadratic
    >>> def slope(series, progress):  # how much the loss falls within the try
    ...     return series[0]["loss"] - series[-1]["loss"]
    >>> adapter = DynamicGridAdapter(Quadratic(), {"lr": [0.1, 0.2, 0.9]}, criterion=slope,
    ...                              adapt_every=4, try_for=2)
    >>> adapter.step().candidate
    Candidate(lr=0.2)
    """

    def __call__(self, series: Sequence[Metrics], progress: Progress) -> float:
        """Score a try: ``series`` has the metrics after each of its epochs, oldest first."""
        ...


@dataclass(frozen=True, slots=True)
class _Extreme:
    metric: str
    sign: int

    def __call__(self, series: Sequence[Metrics], progress: Progress) -> float:
        return self.sign * _read(series[-1], self.metric)

    def __repr__(self) -> str:
        return f"{'highest' if self.sign > 0 else 'lowest'}({self.metric!r})"

    @property
    def metrics(self) -> tuple[str, ...]:
        return (self.metric,)


def highest(metric: str) -> Criterion:
    """Prefer the try whose metric is highest after its last epoch.

    >>> highest("val_auc")([{"val_auc": 0.7}, {"val_auc": 0.8}], Progress(0))
    0.8
    """
    return _Extreme(_named(metric), 1)


def lowest(metric: str) -> Criterion:
    """Prefer the try whose metric is lowest after its last epoch.

    >>> lowest("val_loss")([{"val_loss": 0.7}], Progress(0))
    -0.7
    """
    return _Extreme(_named(metric), -1)


@dataclass(frozen=True, slots=True)
class _Gap:
    train: str
    validation: str
    floor: float | None

    def __call__(self, series: Sequence[Metrics], progress: Progress) -> float:
        validation = _read(series[-1], self.validation)
        if self.floor is not None and validation < self.floor:
            return -math.inf
        return -abs(_read(series[-1], self.train) - validation)

    def __repr__(self) -> str:
        floor = "" if self.floor is None else f", floor={self.floor!r}"
        return f"smallest_gap({self.train!r}, {self.validation!r}{floor})"

    @property
    def metrics(self) -> tuple[str, ...]:
        return (self.train, self.validation)


def smallest_gap(train: str, validation: str, *, floor: float | None = None) -> Criterion:
    """Prefer the try whose training and validation metrics differ least: the paper's gap.

    It rewards not learning, unless a floor is given.

    Args:
        train: the name of the training metric.
        validation: the name of the validation metric.
        floor: tries whose validation metric is below it are worst.

    >>> smallest_gap("train_auc", "val_auc")([{"train_auc": 1.0, "val_auc": 0.75}], Progress(0))
    -0.25
    """
    if floor is not None:
        require_number("floor", floor, "be a finite number or None")
    return _Gap(_named(train), _named(validation), floor)


@dataclass(frozen=True, slots=True)
class _Smoothed:
    criterion: Criterion
    window: int | None

    def __call__(self, series: Sequence[Metrics], progress: Progress) -> float:
        last = series if self.window is None else series[-self.window :]
        # All metrics, not only those it says it reads: part of it may be any callable.
        names = [name for name in last[-1] if all(name in epoch for epoch in last)]
        mean = {name: sum(epoch[name] for epoch in last) / len(last) for name in names}
        return self.criterion([mean], progress)

    def __repr__(self) -> str:
        return f"smoothed({self.criterion!r}, {self.window!r})"

    @property
    def metrics(self) -> tuple[str, ...]:
        return metrics_of(self.criterion)


def smoothed(criterion: Criterion, window: int | None = None) -> Criterion:
    """Judge by the mean of each metric over the last epochs of a try.

    Args:
        criterion: what judges the means.
        window: how many epochs they are taken over; all epochs of the try where it is left out.

    >>> smoothed(highest("auc"))([{"auc": 0.5}, {"auc": 0.75}], Progress(0))
    0.625
    """
    require_criterion(criterion)
    if window is not None:
        require_count("smoothed: window", window)
    return _Smoothed(criterion, window)


@dataclass(frozen=True, slots=True)
class _Phased:
    early: Criterion
    late: Criterion
    at: float

    def __call__(self, series: Sequence[Metrics], progress: Progress) -> float:
        if progress.share is None:
            raise SettingsError(
                "phased needs to know the planned epochs; use run(n) or rounds(n), "
                "or give epochs=n to the adapter"
            )
        return (self.early if progress.share < self.at else self.late)(series, progress)

    def __repr__(self) -> str:
        return f"phased({self.early!r}, {self.late!r}, at={self.at!r})"

    @property
    def metrics(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(metrics_of(self.early) + metrics_of(self.late)))


def phased(early: Criterion, late: Criterion, *, at: float = 0.6) -> Criterion:
    """Judge by one criterion early in the run and by another one late.

    Args:
        early: what judges at first.
        late: what judges afterwards.
        at: the share of the planned epochs after which ``late`` judges.

    >>> criterion = phased(lowest("ema_loss"), lowest("loss"), at=0.5)
    >>> [criterion([{"ema_loss": 1.0, "loss": 2.0}], Progress(epoch, 100)) for epoch in (49, 50)]
    [-1.0, -2.0]
    """
    require_criterion(early)
    require_criterion(late)
    require_number("phased: at", at, "be a share from 0 to 1", lambda share: 0 <= share <= 1)
    return _Phased(early, late, at)


def score(criterion: Criterion, series: Sequence[Metrics], progress: Progress) -> float:
    """What the criterion makes of a series, as a float; an error says when it is at fault."""
    try:
        result = criterion(series, progress)
    except DynhpError:
        raise
    except Exception as failure:
        name = failure.args[0] if isinstance(failure, KeyError) and failure.args else None
        if name is not None and name not in series[-1]:
            raise MetricError(f"there is no metric {name!r}{nearest(name, series[-1])}") from None
        raise ContractError(
            f"the criterion {criterion!r} raised {type(failure).__name__}: {failure}"
        ) from failure
    try:
        if isinstance(result, str):  # "0.5" is not a number, though float() reads it
            raise TypeError
        return float(result)
    except (TypeError, ValueError, OverflowError):
        raise ContractError(
            f"the criterion {criterion!r} must return a number, got {result!r}"
        ) from None


def metrics_of(criterion: Criterion) -> tuple[str, ...]:
    """The names a criterion says it reads; none where it says nothing."""
    names: Any = getattr(criterion, "metrics", ())
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise SettingsError(
            f"the attribute metrics of {criterion!r} must be a sequence of names, got {names!r}"
        )
    return tuple(names)


def _read(metrics: Metrics, name: str) -> float:
    try:
        return metrics[name]
    except KeyError:
        raise MetricError(f"there is no metric {name!r}{nearest(name, metrics)}") from None


def _named(metric: object) -> str:
    return require_name("a metric's name", metric)


def rewards_not_learning(criterion: object) -> bool:
    """Whether it is a gap without a floor, or judges by one somewhere inside.

    >>> rewards_not_learning(smoothed(smallest_gap("train", "val")))
    True
    """
    if isinstance(criterion, _Gap):
        return criterion.floor is None
    if isinstance(criterion, _Smoothed):
        return rewards_not_learning(criterion.criterion)
    if isinstance(criterion, _Phased):
        return rewards_not_learning(criterion.early) or rewards_not_learning(criterion.late)
    return False
