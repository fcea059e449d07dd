"""Criteria made of others: smoothed over epochs, or one early in the run and one late."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dynhp._checks import is_number, require_count, require_number
from dynhp.criteria.contract import Criterion, metrics_of, require_criterion
from dynhp.criteria.gap import Gap
from dynhp.errors import SettingsError
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


def rewards_not_learning(criterion: object) -> bool:
    """Whether it is a gap without a floor, or judges by one somewhere inside.

    >>> from dynhp.criteria import smallest_gap
    >>> rewards_not_learning(smoothed(smallest_gap("train", "val")))
    True
    """
    if isinstance(criterion, Gap):
        return criterion.floor is None
    if isinstance(criterion, _Smoothed):
        return rewards_not_learning(criterion.criterion)
    if isinstance(criterion, _Phased):
        return rewards_not_learning(criterion.early) or rewards_not_learning(criterion.late)
    return False


def changes_with_progress(criterion: object) -> bool:
    """Whether it judges early and late epochs by different rules, so that scores do not compare.

    >>> from dynhp.criteria import lowest
    >>> changes_with_progress(smoothed(phased(lowest("ema_loss"), lowest("loss"))))
    True
    """
    if isinstance(criterion, _Smoothed):
        return changes_with_progress(criterion.criterion)
    return isinstance(criterion, _Phased)
