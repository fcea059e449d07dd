"""The gap between training and validation, as in the paper."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dynhp._checks import require_number
from dynhp.criteria.contract import Criterion, metric_name, read_metric
from dynhp.records import Metrics, Progress


@dataclass(frozen=True, slots=True)
class Gap:
    """What ``smallest_gap`` gives."""

    train: str
    validation: str
    floor: float | None

    def __call__(self, series: Sequence[Metrics], progress: Progress) -> float:
        validation = read_metric(series[-1], self.validation)
        if self.floor is not None and validation < self.floor:
            return -math.inf
        return -abs(read_metric(series[-1], self.train) - validation)

    def __repr__(self) -> str:
        floor = "" if self.floor is None else f", floor={self.floor!r}"
        return f"smallest_gap({self.train!r}, {self.validation!r}{floor})"

    @property
    def metrics(self) -> tuple[str, ...]:
        return (self.train, self.validation)


def smallest_gap(train: str, validation: str, *, floor: float | None = None) -> Criterion:
    """Prefer the try whose training and validation metrics differ least: the paper's gap.

    On its own it favours models that learn nothing; a floor keeps those out.

    Args:
        train: the name of the training metric.
        validation: the name of the validation metric.
        floor: tries whose validation metric is lower score -inf; only for metrics where higher is
            better, so not for a loss.

    >>> smallest_gap("train_auc", "val_auc")([{"train_auc": 1.0, "val_auc": 0.75}], Progress(0))
    -0.25
    """
    if floor is not None:
        require_number("floor", floor, "be a finite number or None")
    return Gap(metric_name(train), metric_name(validation), floor)
