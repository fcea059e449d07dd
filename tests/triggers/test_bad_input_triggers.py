"""Bad input of triggers is refused."""

from __future__ import annotations

import math

import pytest

from dynhp.errors import SettingsError
from dynhp.triggers import At, Due, Every, OnPlateau, OnSpike, any_of
from tests.support.bad_input import Call, refuse

BAD: list[tuple[Call, type[Exception]]] = [
    (lambda: Every(0), SettingsError),
    (lambda: Every(1.5), SettingsError),
    (lambda: At([]), SettingsError),
    (lambda: At(3), SettingsError),
    (lambda: At("30"), SettingsError),
    (lambda: At([1.0]), SettingsError),
    (lambda: At([math.nan]), SettingsError),
    (lambda: At([-1]), SettingsError),
    (lambda: At([True]), SettingsError),
    (lambda: OnPlateau("", patience=2), SettingsError),
    (lambda: OnPlateau("loss", patience=0), SettingsError),
    (lambda: OnPlateau("loss", patience=1, min_delta=-0.1), SettingsError),
    (lambda: OnPlateau("loss", patience=1, cooldown=-1), SettingsError),
    (lambda: OnPlateau("loss", patience=1, better="min"), SettingsError),
    (lambda: OnSpike(3, factor=2.0), SettingsError),
    (lambda: OnSpike("loss"), SettingsError),
    (lambda: OnSpike("loss", factor=2.0, sigmas=3.0), SettingsError),
    (lambda: OnSpike("loss", factor=1), SettingsError),
    (lambda: OnSpike("loss", sigmas=0), SettingsError),
    (lambda: OnSpike("loss", factor=2, window=1), SettingsError),
    (lambda: OnSpike("loss", factor=2, better=1), SettingsError),
    (lambda: Due(because=None), SettingsError),
    (lambda: Due(healthy=-1), SettingsError),
    (lambda: Due(alarm="red"), SettingsError),
    (any_of, SettingsError),
    (lambda: any_of("plateau"), SettingsError),
    (lambda: any_of(Every(3), Every), SettingsError),
    (lambda: any_of(lambda: True), SettingsError),
]


@pytest.mark.parametrize(("call", "error"), BAD)
def test_bad_input(call: Call, error: type[Exception]) -> None:
    refuse(call, error)
