"""Criteria: what they prefer, when, and what they say about metrics that are not there."""

from __future__ import annotations

import math
import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dynhp.criteria
from dynhp import highest, lowest, phased, smallest_gap, smoothed
from dynhp.criteria import Criterion
from dynhp.criteria.contract import metrics_of, score
from dynhp.errors import ContractError, MetricError, SettingsError
from dynhp.records import Metrics, Progress
from tests.support.kinds import CRITERIA
from tests.support.messages import raises

START = Progress(0, 100)
numbers = st.floats(-1e6, 1e6)
series_of_auc = st.lists(numbers.map(lambda x: {"auc": x}), min_size=1, max_size=6)


def total(series: Sequence[Metrics], progress: Progress) -> float:
    """Any callable is a criterion."""
    return sum(epoch["auc"] for epoch in series) + progress.epoch


@given(series_of_auc)
def test_highest_and_lowest_look_at_the_last_epoch(series: list[Metrics]) -> None:
    assert highest("auc")(series, START) == series[-1]["auc"]
    assert lowest("auc")(series, START) == -series[-1]["auc"]


@given(numbers, numbers)
def test_the_gap_is_the_same_from_either_side(train: float, validation: float) -> None:
    series = [{"train": 0.0, "val": 9.0}, {"train": train, "val": validation}]
    assert smallest_gap("train", "val")(series, START) == -abs(train - validation)


def test_a_floor_keeps_the_gap_from_preferring_what_did_not_learn() -> None:
    criterion = smallest_gap("train", "val", floor=0.6)
    lazy, fit = {"train": 0.5, "val": 0.5}, {"train": 0.9, "val": 0.7}
    assert criterion([lazy], START) == -math.inf
    assert criterion([fit], START) == pytest.approx(-0.2)
    assert criterion([{"train": 0.9, "val": 0.6}], START) == pytest.approx(-0.3)  # at the floor
    assert smallest_gap("train", "val")([lazy], START) == 0.0


@given(series_of_auc, st.integers(1, 8))
def test_smoothed_is_the_mean_over_the_window(series: list[Metrics], window: int) -> None:
    last = [epoch["auc"] for epoch in series][-window:]
    assert smoothed(highest("auc"), window)(series, START) == pytest.approx(
        sum(last) / len(last), abs=1e-6
    )
    everything = [epoch["auc"] for epoch in series]
    assert smoothed(lowest("auc"))(series, START) == pytest.approx(
        -sum(everything) / len(everything), abs=1e-6
    )


def test_smoothed_means_the_metrics_not_the_scores() -> None:
    series = [{"train": 1.0, "val": 0.0}, {"train": 0.0, "val": 1.0}]
    assert smoothed(smallest_gap("train", "val"))(series, START) == 0.0


def test_smoothed_takes_any_callable() -> None:
    series = [{"auc": 1.0, "other": 0.0}, {"auc": 3.0, "other": 0.0}]
    assert smoothed(total)(series, Progress(5)) == 7.0
    # Also as a part of one that knows its names: the callable's metrics are there.
    mixed = smoothed(phased(highest("other"), total, at=0.5))
    assert mixed(series, Progress(5, 10)) == 7.0


def test_smoothed_over_a_metric_that_came_late() -> None:
    late = [{"auc": 1.0}, {"auc": 2.0, "f1": 0.5}]
    assert smoothed(highest("auc"))(late, START) == 1.5
    assert smoothed(highest("f1"), 1)(late, START) == 0.5
    with raises(MetricError):
        smoothed(highest("f1"))(late, START)


@pytest.mark.parametrize(
    ("epoch", "planned", "at", "late"),
    [
        (0, 10, 0.6, False),
        (5, 10, 0.6, False),
        (6, 10, 0.6, True),
        (59, 100, 0.6, False),
        (60, 100, 0.6, True),
        (7, 10, 0.7, True),
        (0, 10, 0.0, True),
        (9, 10, 1.0, False),
        (10, 10, 1.0, True),
        (3, 10, 0.3, True),
    ],
)
def test_phased_changes_at_exactly_that_share(
    epoch: int, planned: int, at: float, late: bool
) -> None:
    criterion = phased(highest("early"), highest("late"), at=at)
    score_ = criterion([{"early": 0.0, "late": 1.0}], Progress(epoch, planned))
    assert score_ == (1.0 if late else 0.0)


@pytest.mark.parametrize(("criterion", "names", "text"), CRITERIA)
def test_every_criterion_names_a_metric_that_is_missing(
    criterion: Criterion, names: tuple[str, ...], text: str
) -> None:
    series = [dict.fromkeys(names, 0.75)]
    assert math.isfinite(score(criterion, series, Progress(90, 100)))
    for missing in names:
        incomplete = [{name: 0.75 for name in names if name != missing}]
        moments = [Progress(0, 100), Progress(90, 100)]  # early and late in the run
        failures = [_failure(criterion, incomplete, progress) for progress in moments]
        assert f"there is no metric {missing!r}" in "".join(failures), text


def _failure(criterion: Criterion, series: Sequence[Metrics], progress: Progress) -> str:
    try:
        score(criterion, series, progress)
    except MetricError as error:
        return str(error)
    return ""


def test_phased_hands_on_the_series_and_the_progress() -> None:
    criterion = phased(highest("auc"), total)
    assert criterion([{"auc": 1.0}, {"auc": 2.0}], Progress(60, 100)) == 63.0


def test_phased_without_a_plan_says_what_to_do() -> None:
    criterion = phased(highest("a"), highest("b"))
    with raises(SettingsError):
        score(criterion, [{"a": 0.0, "b": 0.0}], Progress(0))


@pytest.mark.parametrize(("criterion", "names", "text"), CRITERIA)
def test_criteria_say_what_they_read_compare_and_travel(
    criterion: Criterion, names: tuple[str, ...], text: str
) -> None:
    assert isinstance(criterion, Criterion)
    assert metrics_of(criterion) == names
    assert repr(criterion) == text
    assert eval(text, vars(dynhp.criteria)) == criterion
    assert pickle.loads(pickle.dumps(criterion)) == criterion
    assert metrics_of(total) == ()


@pytest.mark.parametrize(
    "criterion",
    [
        highest("val_acu"),
        lowest("val_acu"),
        smallest_gap("train_auc", "val_acu"),
        smallest_gap("val_acu", "train_auc"),
        smoothed(highest("val_acu")),
        smoothed(highest("val_acu"), 1),
        phased(highest("val_acu"), highest("train_auc")),
        lambda series, progress: series[-1]["val_acu"],
    ],
)
def test_a_missing_metric_is_told_with_the_nearest_name(criterion: Any) -> None:
    series = [{"train_auc": 0.9, "val_auc": 0.8}]
    with raises(MetricError) as caught:
        score(criterion, series, START)
    assert "Known: 'train_auc', 'val_auc'" in str(caught.value)


@pytest.mark.parametrize("nonsense", [None, "0.5", "high", [0.5], {}, 1j, 10**400, object()])
def test_a_criterion_that_returns_nonsense_is_named(nonsense: object) -> None:
    with raises(ContractError) as caught:
        score(lambda series, progress: nonsense, [{"auc": 0.5}], START)  # type: ignore[arg-type,return-value]
    assert "lambda" in str(caught.value)


@pytest.mark.parametrize("number", [1, np.float32(0.5), np.int64(3), np.array(0.25), True])
def test_whatever_is_a_number_becomes_a_float(number: Any) -> None:
    result = score(lambda series, progress: number, [{"auc": 0.5}], START)
    assert type(result) is float
    assert result == number


def test_not_finite_scores_are_scores() -> None:
    assert math.isnan(score(highest("auc"), [{"auc": math.nan}], START))
    assert score(highest("auc"), [{"auc": math.inf}], START) == math.inf


def test_a_criterion_that_raises_is_told_as_its_own_failure() -> None:
    def broken(series: Sequence[Metrics], progress: Progress) -> float:
        return 1 / 0

    with raises(ContractError) as caught:
        score(broken, [{"auc": 0.5}], START)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


@pytest.mark.parametrize("failure", [KeyError("auc"), KeyError(), LookupError("f1")])
def test_not_every_key_error_is_a_missing_metric(failure: Exception) -> None:
    def broken(series: Sequence[Metrics], progress: Progress) -> float:
        raise failure

    with raises(ContractError) as caught:
        score(broken, [{"auc": 0.5}], START)
    assert not isinstance(caught.value, MetricError)


def test_a_criterion_may_list_its_metrics_in_any_sequence() -> None:
    def criterion(series: Sequence[Metrics]) -> float:
        return 0.0

    criterion.metrics = ["loss", "auc"]  # type: ignore[attr-defined]
    assert metrics_of(criterion) == ("loss", "auc")
