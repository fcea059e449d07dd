"""Proposers that cannot work are refused, with the rule, the value and the way out."""

from __future__ import annotations

import math

from dynhp import (
    Float,
    FullGrid,
    Interpolation,
    Neighbors,
    OneAxis,
    Placebo,
    Space,
)
from dynhp.errors import SettingsError
from dynhp.records import Candidate
from tests.support.bad_input import Call, any_, bad_input, refuse

LR = Space({"lr": Float(1e-4, 1e-1, log=True), "act": ["relu", "tanh"]})


TABLE: list[tuple[Call, type[Exception], str]] = [
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
]


@bad_input(TABLE)
def test_bad_input(call: Call, error: type[Exception], message: str) -> None:
    refuse(call, error, message)
