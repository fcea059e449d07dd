"""Criteria and selections that cannot work are refused, with the rule, the value, the way out."""

from __future__ import annotations

import math
from typing import Any

import pytest

from dynhp import BestByMargin, Racing, highest, lowest, phased, smallest_gap, smoothed
from dynhp.criteria.contract import metrics_of, score
from dynhp.errors import ContractError, MetricError, SettingsError
from dynhp.records import Progress
from tests.support.bad_input import Call, any_, refuse


class Says:
    """A criterion that says something odd about the metrics it reads."""

    def __init__(self, metrics: Any) -> None:
        self.metrics = metrics

    def __call__(self, series: Any, progress: Any) -> float:
        return 0.0

    def __repr__(self) -> str:
        return "Says()"


TABLE: list[tuple[Call, type[Exception]]] = [
    # Criteria
    (lambda: highest(""), SettingsError),
    (lambda: lowest(any_(3)), SettingsError),
    (lambda: smallest_gap("train", any_(None)), SettingsError),
    (lambda: smallest_gap("t", "v", floor=math.nan), SettingsError),
    (lambda: smallest_gap("t", "v", floor=any_("0")), SettingsError),
    (lambda: smoothed(highest("a"), 0), SettingsError),
    (lambda: smoothed(highest("a"), any_(1.5)), SettingsError),
    (lambda: smoothed(highest("a"), True), SettingsError),
    (lambda: smoothed(any_("auc")), SettingsError),
    (lambda: phased(any_(None), highest("a")), SettingsError),
    (lambda: phased(highest("a"), any_(Says)), SettingsError),
    (lambda: phased(highest("a"), highest("b"), at=1.5), SettingsError),
    (lambda: phased(highest("a"), highest("b"), at=any_("x")), SettingsError),
    (lambda: phased(highest("a"), highest("b"))([{"a": 0.0}], Progress(3)), SettingsError),
    (lambda: metrics_of(Says("auc")), SettingsError),
    (lambda: metrics_of(Says(7)), SettingsError),
    (lambda: score(highest("a"), [{}], Progress(0)), MetricError),
    (lambda: score(any_(lambda series, progress: None), [{}], Progress(0)), ContractError),
    (lambda: score(any_(lambda series: 0.0), [{}], Progress(0)), ContractError),
    # Selection
    (lambda: Racing(keep=0), SettingsError),
    (lambda: Racing(keep=1), SettingsError),
    (lambda: Racing(keep=math.nan), SettingsError),
    (lambda: Racing(every=0), SettingsError),
    (lambda: Racing(every=True), SettingsError),
    (lambda: Racing(every=any_(1.0)), SettingsError),
    (lambda: Racing(keep=any_("half")), SettingsError),
    (lambda: BestByMargin(delta=-1), SettingsError),
    (lambda: BestByMargin(delta=math.nan), SettingsError),
    (lambda: BestByMargin(noise=math.inf), SettingsError),
    (lambda: BestByMargin(noise=any_("2")), SettingsError),
]


@pytest.mark.parametrize(("call", "error"), TABLE)
def test_bad_input(call: Call, error: type[Exception]) -> None:
    refuse(call, error)
