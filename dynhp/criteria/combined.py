"""Criteria made of others: smoothed over epochs, or one early in the run and one late."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dynhp._checks import is_number, require_count, require_number
from dynhp.criteria.contract import Criterion, metrics_of, require_criterion
from dynhp.criteria.gap import Gap
from dynhp.errors import SettingsError, shown
from dynhp.records import Metrics, Progress


@dataclass(frozen=True, slots=True)
class _Smoothed:
    criterion: Criterion
    window: float | None

    def __call__(self, series: Sequence[Metrics], progress: Progress) -> float:
        count = len(series) if self.window is None else self.window
        if isinstance(count, float):  # a share of the epochs
            count = max(1, round(count * len(series)))
        last = series[-count:]
        # All metrics, not only those it says it reads: part of it may be any callable.
        names = [name for name in last[-1] if all(name in epoch for epoch in last)]
        mean = {name: sum(epoch[name] for epoch in last) / len(last) for name in names}
        return self.criterion([mean], progress)

    def __repr__(self) -> str:
        return f"smoothed({self.criterion!r}, {self.window!r})"

    @property
    def metrics(self) -> tuple[str, ...]:
        return metrics_of(self.criterion)


def smoothed(criterion: Criterion, window: float | None = None) -> Criterion:
    """Judge by the mean of each metric over the last epochs of a try.

    Args:
        criterion: what judges the means.
        window: how many epochs they are taken over; all epochs of the try if it is left out.
            Below 1, the share of its epochs, to the nearest whole number and at least one.

    >>> from dynhp.criteria import highest
    >>> smoothed(highest("auc"))([{"auc": 0.5}, {"auc": 0.75}], Progress(0))
    0.625
    """
    require_criterion(criterion)
    share = is_number(window) and 0 < window < 1
    if window is not None and not share:
        window = require_count("smoothed: window", window)
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

    >>> from dynhp.criteria import lowest
    >>> criterion = phased(lowest("ema_loss"), lowest("loss"), at=0.5)
    >>> [criterion([{"ema_loss": 1.0, "loss": 2.0}], Progress(epoch, 100)) for epoch in (49, 50)]
    [-1.0, -2.0]
    """
    require_criterion(early)
    require_criterion(late)
    require_number("phased: at", at, "be a share from 0 to 1", lambda share: 0 <= share <= 1)
    return _Phased(early, late, at)


@dataclass(frozen=True, slots=True)
class _WorseOf:
    criterion: Criterion
    other: Criterion

    def __call__(self, series: Sequence[Metrics], progress: Progress) -> float:
        own = self.criterion(series, progress)
        names = metrics_of(self.other)
        last = series[-max(1, round(len(series) / 3)) :]
        newest = [epoch for epoch in last if all(name in epoch for name in names)][-1:]
        if not newest:
            return own
        other = self.other(newest, progress)
        return own if other >= own else other  # also if it is nan

    def __repr__(self) -> str:
        return f"worse_of({self.criterion!r}, {self.other!r})"

    @property
    def metrics(self) -> tuple[str, ...]:
        return metrics_of(self.criterion)


def worse_of(criterion: Criterion, other: Criterion) -> Criterion:
    """Judge by a criterion, or by another one if that scores lower and its metrics are reported.

    So a validation loss has a say where there is one, and need not be there.

    Args:
        criterion: what judges a try, by metrics that must be reported.
        other: what judges the newest epoch that has its metrics, in the last third of a try; if
            none has, the first criterion judges alone.

    >>> from dynhp.criteria import lowest
    >>> judge = worse_of(smoothed(lowest("train_loss")), lowest("val_loss"))
    >>> judge([{"train_loss": 0.4}, {"train_loss": 0.2, "val_loss": 0.5}], Progress(0))
    -0.5
    >>> judge([{"train_loss": 0.5}, {"train_loss": 0.25}], Progress(0))
    -0.375
    """
    require_criterion(criterion)
    require_criterion(other)
    if not metrics_of(other):
        raise SettingsError(
            f"worse_of: the other criterion must say which metrics it reads, got {shown(other)}; "
            "write lowest('val_loss'), or give it an attribute metrics"
        )
    return _WorseOf(criterion, other)


def rewards_not_learning(criterion: object) -> bool:
    """Whether it is a gap without a floor, or judges by one somewhere inside.

    >>> from dynhp.criteria import smallest_gap
    >>> rewards_not_learning(smoothed(smallest_gap("train", "val")))
    True
    """
    return any(isinstance(each, Gap) and each.floor is None for each in _with_parts(criterion))


def changes_with_progress(criterion: object) -> bool:
    """Whether it judges early and late epochs by different rules, so that scores do not compare.

    >>> from dynhp.criteria import lowest
    >>> changes_with_progress(smoothed(phased(lowest("ema_loss"), lowest("loss"))))
    True
    """
    return any(isinstance(each, _Phased) for each in _with_parts(criterion))


def _with_parts(criterion: object) -> Iterator[object]:
    """A criterion, and all that it is made of."""
    yield criterion
    if isinstance(criterion, _Smoothed | _WorseOf):
        yield from _with_parts(criterion.criterion)
    if isinstance(criterion, _WorseOf):
        yield from _with_parts(criterion.other)
    if isinstance(criterion, _Phased):
        yield from _with_parts(criterion.early)
        yield from _with_parts(criterion.late)
