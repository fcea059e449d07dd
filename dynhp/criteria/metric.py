"""One metric after the last epoch of a try, the higher or the lower the better."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dynhp.criteria.contract import Criterion, metric_name, read_metric, require_criterion
from dynhp.errors import SettingsError
from dynhp.records import Metrics, Progress


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


def direction_of(criterion: Criterion) -> int:
    """1 if higher is better, -1 if lower is, and 0 if that cannot be said.

    >>> direction_of(lowest("loss")), direction_of(lambda series, progress: 0.0)
    (-1, 0)
    """
    while hasattr(criterion, "criterion"):  # of a smoothed one
        criterion = criterion.criterion
    return criterion.sign if isinstance(criterion, _Extreme) else 0


def chosen_criterion(
    criterion: Criterion | None, minimize: str | None, maximize: str | None
) -> Criterion:
    """The one criterion that was asked for: as it is, or by the name of a metric.

    >>> chosen_criterion(None, "val_loss", None)
    lowest('val_loss')
    """
    ways = {"criterion": criterion, "minimize": minimize, "maximize": maximize}
    given = [name for name, value in ways.items() if value is not None]
    if len(given) != 1:
        raise SettingsError(
            "give one measure of what a try is worth: minimize='val_loss', maximize='val_auc' or "
            f"criterion=..., got {' and '.join(given) or 'none of them'}"
        )
    if minimize is not None:
        return lowest(minimize)
    if maximize is not None:
        return highest(maximize)
    require_criterion(criterion)
    assert criterion is not None
    return criterion
