"""Axes and spaces that cannot work are refused, with the rule, the value and the way out."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dynhp import Categorical, Float, Int, Ordered, Space
from dynhp.errors import SettingsError
from tests.support.bad_input import Call, any_, refuse

LR = Space({"lr": Float(1e-4, 1e-1, log=True), "act": ["relu", "tanh"]})
WIDE = Space({name: Float(0, 1, points=100) for name in "abcd"})


TABLE: list[tuple[Call, type[Exception]]] = [
    # Ranges
    (lambda: Float(1, 0), SettingsError),
    (lambda: Float(1, 1), SettingsError),
    (lambda: Float(any_("0"), 1), SettingsError),
    (lambda: Float(False, True), SettingsError),
    (lambda: Float(any_(np.False_), 1), SettingsError),
    (lambda: Float(0, math.nan), SettingsError),
    (lambda: Float(0, math.inf), SettingsError),
    (lambda: Float(0, any_([1])), SettingsError),
    (lambda: Float(0, 1e301), SettingsError),
    (lambda: Float(0, 10**400), SettingsError),
    (lambda: Float(0, 1, log=True), SettingsError),
    (lambda: Float(0, 1, log=any_("no")), SettingsError),
    (lambda: Float(0, 1, points=1), SettingsError),
    (lambda: Float(0, 1, points=any_(3.0)), SettingsError),
    (lambda: Float(0, 1, points=True), SettingsError),
    (lambda: Float(1, 1 + 1e-15), SettingsError),
    (lambda: Int(any_(1.0), 4), SettingsError),
    (lambda: Int(True, 4), SettingsError),
    (lambda: Int(4, 1), SettingsError),
    (lambda: Int(1, 4, points=5), SettingsError),
    (lambda: Int(0, 10**9), SettingsError),
    (lambda: Int(-1, 4, log=True), SettingsError),
    (lambda: Int(0, 2**64), SettingsError),
    # Lists
    (lambda: Ordered(), SettingsError),
    (lambda: Ordered(1, 2, 1), SettingsError),
    (lambda: Ordered(1, 1.0), SettingsError),
    (lambda: Ordered(0.1, math.nan), SettingsError),
    (lambda: Ordered(any_(object)), SettingsError),
    (lambda: Categorical(), SettingsError),
    (lambda: Categorical("a", "a"), SettingsError),
    (lambda: Categorical(any_(print)), SettingsError),
    # Spaces
    (lambda: Space({}), SettingsError),
    (lambda: Space(any_([1, 2])), SettingsError),
    (lambda: Space(any_({1: [1]})), SettingsError),
    (lambda: Space({"": [1]}), SettingsError),
    (lambda: Space({"lr": []}), SettingsError),
    (lambda: Space({"lr": [1, 1]}), SettingsError),
    (lambda: Space({"lr": any_("abc")}), SettingsError),
    (lambda: Space({"lr": any_(b"abc")}), SettingsError),
    (lambda: Space({"lr": any_(0.1)}), SettingsError),
    (lambda: Space({"lr": any_({1, 2})}), SettingsError),
    (lambda: Space({"lr": any_(Float)}), SettingsError),
    (lambda: Space({"x": any_(np.eye(2))}), SettingsError),
    (lambda: Space({"x": any_(np.array([]))}), SettingsError),
    (lambda: Space({"x": any_(np.array(1.0))}), SettingsError),
    (lambda: WIDE.grid(), SettingsError),
    (lambda: LR.candidate({"lrs": 0.1}), SettingsError),
    (lambda: LR.candidate({"lr": 0.1}), SettingsError),
    (lambda: LR.candidate(any_(0.1)), SettingsError),
    (lambda: LR.candidate({"lr": 1.0, "act": "relu"}), SettingsError),
    (lambda: LR.candidate({"lr": 0.1, "act": "gelu"}), SettingsError),
    (lambda: LR.candidate({"lr": math.nan, "act": "relu"}), SettingsError),
    (lambda: LR.candidate({"lr": any_([0.1]), "act": "relu"}), SettingsError),
]


@pytest.mark.parametrize(("call", "error"), TABLE)
def test_bad_input(call: Call, error: type[Exception]) -> None:
    refuse(call, error)
