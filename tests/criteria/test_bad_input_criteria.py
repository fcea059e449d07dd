"""Criteria and selections that cannot work are refused, with the rule, the value, the way out."""

from __future__ import annotations

import math
from typing import Any

from dynhp import (
    BestByMargin,
    Racing,
    highest,
    lowest,
    phased,
    smallest_gap,
    smoothed,
)
from dynhp.criteria.contract import metrics_of, score
from dynhp.errors import ContractError, MetricError, SettingsError
from dynhp.records import Progress
from tests.support.bad_input import Call, any_, bad_input, refuse


class Says:
    """A criterion that says something odd about the metrics it reads."""

    def __init__(self, metrics: Any) -> None:
        self.metrics = metrics

    def __call__(self, series: Any, progress: Any) -> float:
        return 0.0

    def __repr__(self) -> str:
        return "Says()"


TABLE: list[tuple[Call, type[Exception], str]] = [
    # Criteria
    (lambda: highest(""), SettingsError, r"metric's name must be a non-empty string, got ''"),
    (lambda: lowest(any_(3)), SettingsError, r"metric's name must be .*got 3"),
    (lambda: smallest_gap("train", any_(None)), SettingsError, r"metric's name .*got None"),
    (lambda: smallest_gap("t", "v", floor=math.nan), SettingsError, r"floor must be a finite"),
    (lambda: smallest_gap("t", "v", floor=any_("0")), SettingsError, r"floor must be .*got '0'"),
    (lambda: smoothed(highest("a"), 0), SettingsError, r"window must be .* above 0, got 0"),
    (lambda: smoothed(highest("a"), any_(1.5)), SettingsError, r"window must be .*got 1\.5"),
    (lambda: smoothed(highest("a"), True), SettingsError, r"window must be .*got True"),
    (lambda: smoothed(any_("auc")), SettingsError, r"must be a callable .*write highest\('name'\)"),
    (lambda: phased(any_(None), highest("a")), SettingsError, r"must be a callable .*got None"),
    (lambda: phased(highest("a"), any_(Says)), SettingsError, r"must be a callable .*Says"),
    (lambda: phased(highest("a"), highest("b"), at=1.5), SettingsError, r"share from 0 to 1.*1\.5"),
    (lambda: phased(highest("a"), highest("b"), at=any_("x")), SettingsError, r"at must be .*'x'"),
    (
        lambda: phased(highest("a"), highest("b"))([{"a": 0.0}], Progress(3)),
        SettingsError,
        r"planned epochs; use run\(n\)",
    ),
    (lambda: metrics_of(Says("auc")), SettingsError, r"metrics of Says\(\) must be .*got 'auc'"),
    (lambda: metrics_of(Says(7)), SettingsError, r"metrics of Says\(\) must be .*got 7"),
    (lambda: score(highest("a"), [{}], Progress(0)), MetricError, r"no metric 'a'; Known: none"),
    (
        lambda: score(any_(lambda series, progress: None), [{}], Progress(0)),
        ContractError,
        r"must return a number, got None",
    ),
    (
        lambda: score(any_(lambda series: 0.0), [{}], Progress(0)),
        ContractError,
        r"raised TypeError: .*takes 1 positional argument",
    ),
    # Selection
    (lambda: Racing(keep=0), SettingsError, r"keep must lie between 0 and 1, got 0"),
    (lambda: Racing(keep=1), SettingsError, r"keep must lie between 0 and 1, got 1"),
    (lambda: Racing(keep=math.nan), SettingsError, r"keep must lie between 0 and 1, got nan"),
    (lambda: Racing(every=0), SettingsError, r"every must be a whole number .*got 0"),
    (lambda: Racing(every=True), SettingsError, r"every must be a whole number .*got True"),
    (lambda: Racing(every=any_(1.0)), SettingsError, r"every must be a whole number .*got 1.0"),
    (lambda: Racing(keep=any_("half")), SettingsError, r"keep must lie .*got 'half'"),
    (lambda: BestByMargin(delta=-1), SettingsError, r"delta must be 0 or more, got -1"),
    (lambda: BestByMargin(delta=math.nan), SettingsError, r"delta must be 0 or more, got nan"),
    (lambda: BestByMargin(noise=math.inf), SettingsError, r"noise must be 0 or more, got inf"),
    (lambda: BestByMargin(noise=any_("2")), SettingsError, r"noise must be 0 or more, got '2'"),
]


@bad_input(TABLE)
def test_bad_input(call: Call, error: type[Exception], message: str) -> None:
    refuse(call, error, message)
