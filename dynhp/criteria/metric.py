"""One metric after the last epoch of a try, the higher or the lower the better."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dynhp.criteria.contract import Criterion, metric_name, read_metric
from dynhp.records import Metrics, Progress

__all__ = ["highest", "lowest"]


@dataclass(frozen=True, slots=True)
class _Extreme:
    metric: str
    sign: int

    def __call__(self, series: Sequence[Metrics], progress: Progress) -> float:
        return self.sign * read_metric(series[-1], self.metric)

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
    return _Extreme(metric_name(metric), 1)


def lowest(metric: str) -> Criterion:
    """Prefer the try whose metric is lowest after its last epoch.

    >>> lowest("val_loss")([{"val_loss": 0.7}], Progress(0))
    -0.7
    """
    return _Extreme(metric_name(metric), -1)
