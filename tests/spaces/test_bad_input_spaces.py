"""Axes and spaces that cannot work are refused, with the rule, the value and the way out."""

from __future__ import annotations

import math

import numpy as np

from dynhp import (
    Categorical,
    Float,
    Int,
    Ordered,
    Space,
)
from dynhp.errors import SettingsError
from tests.support.bad_input import Call, any_, bad_input, refuse

LR = Space({"lr": Float(1e-4, 1e-1, log=True), "act": ["relu", "tanh"]})
WIDE = Space({name: Float(0, 1, points=100) for name in "abcd"})


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
]


@bad_input(TABLE)
def test_bad_input(call: Call, error: type[Exception], message: str) -> None:
    refuse(call, error, message)
