"""What cannot work is refused where it is said, with the rule, what was got and the way out."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dynhp import (
    BestByMargin,
    Categorical,
    Float,
    FullGrid,
    Int,
    Interpolation,
    Neighbors,
    OneAxis,
    Ordered,
    Placebo,
    Racing,
    Space,
    highest,
    lowest,
    phased,
    smallest_gap,
    smoothed,
)
from dynhp.criteria import metrics_of, score
from dynhp.errors import ContractError, MetricError, SettingsError
from dynhp.records import Candidate, Progress

Call = Callable[[], object]


class Says:
    """A criterion that says something odd about the metrics it reads."""

    def __init__(self, metrics: Any) -> None:
        self.metrics = metrics

    def __call__(self, series: Any, progress: Any) -> float:
        return 0.0

    def __repr__(self) -> str:
        return "Says()"


LR = Space({"lr": Float(1e-4, 1e-1, log=True), "act": ["relu", "tanh"]})
WIDE = Space({name: Float(0, 1, points=100) for name in "abcd"})

any_: Any = lambda found: found  # noqa: E731  (past the type checker, as users get past it)

TABLE: list[tuple[Call, type[Exception], str]] = [
    # Ranges
    (lambda: Float(1, 0), SettingsError, r"low must be below high, got low=1, high=0"),
    (lambda: Float(1, 1), SettingsError, r"low must be below high, got low=1, high=1"),
    (lambda: Float(any_("0"), 1), SettingsError, r"Float: bounds must be numbers, got '0'"),
    (lambda: Float(False, True), SettingsError, r"bounds must be numbers, got False"),
    (lambda: Float(any_(np.False_), 1), SettingsError, r"bounds must be numbers, got False"),
    (lambda: Float(0, math.nan), SettingsError, r"values must be finite, got nan"),
    (lambda: Float(0, math.inf), SettingsError, r"values must be finite, got inf"),
    (lambda: Float(0, any_([1])), SettingsError, r"values must be numbers, .*got \[1\]"),
    (lambda: Float(0, 1e301), SettingsError, r"within 1e300 of 0, got 1e\+301"),
    (lambda: Float(0, 10**400), SettingsError, r"must fit into 64 bits"),
    (lambda: Float(0, 1, log=True), SettingsError, r"a log scale needs low > 0, got low=0"),
    (lambda: Float(0, 1, log=any_("no")), SettingsError, r"log must be True or False, got 'no'"),
    (lambda: Float(0, 1, points=1), SettingsError, r"points must be .* from 2 to 10000, got 1"),
    (lambda: Float(0, 1, points=any_(3.0)), SettingsError, r"points must be .*got 3\.0"),
    (lambda: Float(0, 1, points=True), SettingsError, r"points must be .*got True"),
    (lambda: Float(1, 1 + 1e-15), SettingsError, r"too close for 9 points"),
    (lambda: Int(any_(1.0), 4), SettingsError, r"must be whole numbers, got 1\.0; use Float"),
    (lambda: Int(True, 4), SettingsError, r"must be whole numbers, got True"),
    (lambda: Int(4, 1), SettingsError, r"Int: low must be below high, got low=4, high=1"),
    (lambda: Int(1, 4, points=5), SettingsError, r"5 points do not fit between 1 and 4"),
    (lambda: Int(0, 10**9), SettingsError, r"points must be .* to 10000, got 1000000001"),
    (lambda: Int(-1, 4, log=True), SettingsError, r"a log scale needs low > 0, got low=-1"),
    (lambda: Int(0, 2**64), SettingsError, r"must fit into 64 bits, got 18446744073709551616"),
    # Lists
    (lambda: Ordered(), SettingsError, r"Ordered: at least one value is needed, got none"),
    (lambda: Ordered(1, 2, 1), SettingsError, r"Ordered: values must differ, got 1 twice"),
    (lambda: Ordered(1, 1.0), SettingsError, r"values must differ, got 1\.0 twice"),
    (lambda: Ordered(0.1, math.nan), SettingsError, r"Ordered: values must be finite, got nan"),
    (lambda: Ordered(any_(object)), SettingsError, r"name the thing with a string"),
    (lambda: Categorical(), SettingsError, r"Categorical: at least one value is needed"),
    (lambda: Categorical("a", "a"), SettingsError, r"Categorical: values must differ, got 'a'"),
    (lambda: Categorical(any_(print)), SettingsError, r"look it up in the trainer"),
    # Spaces
    (lambda: Space({}), SettingsError, r"at least one hyperparameter, got an empty mapping"),
    (lambda: Space(any_([1, 2])), SettingsError, r"a mapping from .*got \[1, 2\]; write \{'name'"),
    (lambda: Space(any_({1: [1]})), SettingsError, r"name must be a non-empty string, got 1"),
    (lambda: Space({"": [1]}), SettingsError, r"name must be a non-empty string, got ''"),
    (lambda: Space({"lr": []}), SettingsError, r"^lr: Ordered: at least one value"),
    (lambda: Space({"lr": [1, 1]}), SettingsError, r"^lr: Ordered: values must differ"),
    (lambda: Space({"lr": any_("abc")}), SettingsError, r"^lr: an axis must be .*got 'abc'"),
    (lambda: Space({"lr": any_(b"abc")}), SettingsError, r"^lr: an axis must be .*got b'abc'"),
    (lambda: Space({"lr": any_(0.1)}), SettingsError, r"^lr: an axis must be .*got 0\.1"),
    (lambda: Space({"lr": any_({1, 2})}), SettingsError, r"^lr: an axis must be .*got \{1, 2\}"),
    (lambda: Space({"lr": any_(Float)}), SettingsError, r"^lr: an axis must be .*Float"),
    (lambda: Space({"x": any_(np.eye(2))}), SettingsError, r"^x: an axis must be .*1-d array"),
    (lambda: Space({"x": any_(np.array([]))}), SettingsError, r"^x: Ordered: at least one"),
    (lambda: Space({"x": any_(np.array(1.0))}), SettingsError, r"^x: an axis must be"),
    (lambda: WIDE.grid(), SettingsError, r"has 100000000 candidates.*use OneAxis"),
    (lambda: LR.candidate({"lrs": 0.1}), SettingsError, r"unknown .*'lrs'; did you mean 'lr'\?"),
    (lambda: LR.candidate({"lr": 0.1}), SettingsError, r"no value for hyperparameter 'act'"),
    (lambda: LR.candidate(any_(0.1)), SettingsError, r"mapping from names to values, got 0\.1"),
    (
        lambda: LR.candidate({"lr": 1.0, "act": "relu"}),
        SettingsError,
        r"lr must lie in Float\(0\.0001, 0\.1, log=True, points=9\), got 1\.0",
    ),
    (
        lambda: LR.candidate({"lr": 0.1, "act": "gelu"}),
        SettingsError,
        r"act must lie in Ordered\('relu', 'tanh'\), got 'gelu'",
    ),
    (
        lambda: LR.candidate({"lr": math.nan, "act": "relu"}),
        SettingsError,
        r"lr: values must be finite, got nan",
    ),
    (
        lambda: LR.candidate({"lr": any_([0.1]), "act": "relu"}),
        SettingsError,
        r"lr: values must be numbers, .*got \[0\.1\]",
    ),
    # Proposers
    (lambda: Neighbors(0), SettingsError, r"radius must be a whole number above 0, got 0"),
    (lambda: Neighbors(any_(1.5)), SettingsError, r"Neighbors: radius must be .*got 1\.5"),
    (lambda: Neighbors(True), SettingsError, r"Neighbors: radius must be .*got True"),
    (lambda: Placebo(0), SettingsError, r"Placebo: k must be a whole number above 0, got 0"),
    (lambda: OneAxis(any_(FullGrid)), SettingsError, r"along must be a proposer .*FullGrid"),
    (lambda: OneAxis(any_("grid")), SettingsError, r"along must be a proposer .*got 'grid'"),
    (lambda: Interpolation(shrink=0), SettingsError, r"shrink must lie in \(0, 1\], got 0"),
    (lambda: Interpolation(shrink=1.1), SettingsError, r"shrink must lie in .*got 1\.1"),
    (lambda: Interpolation(grow=0.9), SettingsError, r"grow must be .* 1 or more, got 0\.9"),
    (lambda: Interpolation(grow=math.nan), SettingsError, r"grow must be .* 1 or more, got nan"),
    (lambda: Interpolation(grow=any_("2")), SettingsError, r"grow must be a number .*got '2'"),
    (lambda: Interpolation(smallest=0), SettingsError, r"smallest must lie in \(0, 1\], got 0"),
    (lambda: Interpolation(smallest=2), SettingsError, r"smallest must lie in \(0, 1\], got 2"),
    (lambda: Interpolation().waves(LR, LR.start()), SettingsError, r"Interpolation: act must be"),
    (
        lambda: FullGrid().waves(LR, Candidate({"lr": 0.03, "act": "relu"})),
        SettingsError,
        r"FullGrid: the initial value \{'lr': 0\.03, 'act': 'relu'\} is not on the grid",
    ),
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


@pytest.mark.parametrize(
    ("call", "error", "message"), TABLE, ids=[f"{i}: {row[2]}" for i, row in enumerate(TABLE)]
)
def test_bad_input(call: Call, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message) as caught:
        call()
    assert type(caught.value) is error  # not a subclass by accident
