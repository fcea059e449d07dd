"""Proposers that cannot work are refused, with the rule, the value and the way out."""

from __future__ import annotations

import math

import pytest

from dynhp import Float, FullGrid, Interpolation, Neighbors, OneAxis, Placebo, Space
from dynhp.errors import SettingsError
from dynhp.records import Candidate
from tests.support.bad_input import Call, any_, refuse

LR = Space({"lr": Float(1e-4, 1e-1, log=True), "act": ["relu", "tanh"]})


TABLE: list[tuple[Call, type[Exception]]] = [
    (lambda: Neighbors(0), SettingsError),
    (lambda: Neighbors(any_(1.5)), SettingsError),
    (lambda: Neighbors(True), SettingsError),
    (lambda: Placebo(0), SettingsError),
    (lambda: OneAxis(any_(FullGrid)), SettingsError),
    (lambda: OneAxis(any_("grid")), SettingsError),
    (lambda: Interpolation(shrink=0), SettingsError),
    (lambda: Interpolation(shrink=1.1), SettingsError),
    (lambda: Interpolation(grow=0.9), SettingsError),
    (lambda: Interpolation(grow=math.nan), SettingsError),
    (lambda: Interpolation(grow=any_("2")), SettingsError),
    (lambda: Interpolation(smallest=0), SettingsError),
    (lambda: Interpolation(smallest=2), SettingsError),
    (lambda: Interpolation().waves(LR, LR.start()), SettingsError),
    (lambda: FullGrid().waves(LR, Candidate({"lr": 0.03, "act": "relu"})), SettingsError),
]


@pytest.mark.parametrize(("call", "error"), TABLE)
def test_bad_input(call: Call, error: type[Exception]) -> None:
    refuse(call, error)
