"""Bad input of triggers: each call, and the words of its error."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from dynhp.errors import SettingsError
from dynhp.triggers import At, Due, Every, OnPlateau, OnSpike, any_of

BAD: dict[str, tuple[Callable[[], Any], str]] = {
    "every 0": (lambda: Every(0), "Every: n must be a whole number above 0, got 0"),
    "every half": (lambda: Every(1.5), "Every: n must be a whole number above 0, got 1.5"),
    "at nothing": (lambda: At([]), "At: moments must be a list .*, got \\[\\]; write At\\("),
    "at a number": (lambda: At(3), "At: moments must be a list .*, got 3; write At\\("),
    "at a word": (lambda: At("30"), "At: moments must be a list"),
    "at the end": (lambda: At([1.0]), "share of the run from 0.0 up to below 1.0, got 1.0"),
    "at nan": (lambda: At([math.nan]), "At: a moment must be an epoch, .* got nan"),
    "at -1": (lambda: At([-1]), "At: a moment must be an epoch, .* got -1"),
    "at True": (lambda: At([True]), "At: a moment must be an epoch, .* got True"),
    "no metric": (lambda: OnPlateau("", patience=2), "a metric's name must be a non-empty string"),
    "no patience": (lambda: OnPlateau("loss", patience=0), "OnPlateau: patience must be a whole"),
    "delta": (
        lambda: OnPlateau("loss", patience=1, min_delta=-0.1),
        "OnPlateau: min_delta must be a number from 0 on, got -0.1",
    ),
    "cooldown": (lambda: OnPlateau("loss", patience=1, cooldown=-1), "OnPlateau: cooldown must be"),
    "better": (
        lambda: OnPlateau("loss", patience=1, better="min"),
        "OnPlateau: better must be 'lower' or 'higher', got 'min'",
    ),
    "spike of nothing": (lambda: OnSpike(3, factor=2.0), "a metric's name must be"),
    "neither": (lambda: OnSpike("loss"), "OnSpike: what is too much must be said once"),
    "both": (
        lambda: OnSpike("loss", factor=2.0, sigmas=3.0),
        "OnSpike: what is too much must be said once.* got factor=2.0 and sigmas=3.0",
    ),
    "factor": (lambda: OnSpike("loss", factor=1), "OnSpike: factor must be a number above 1"),
    "sigmas": (lambda: OnSpike("loss", sigmas=0), "OnSpike: sigmas must be a number above 0"),
    "window": (lambda: OnSpike("loss", factor=2, window=1), "OnSpike: window must be a whole"),
    "spike better": (lambda: OnSpike("loss", factor=2, better=1), "OnSpike: better must be"),
    "due because": (lambda: Due(because=None), "Due: because must be a string, got None"),
    "due healthy": (lambda: Due(healthy=-1), "Due: healthy must be a whole number of 0 or more"),
    "due alarm": (lambda: Due(alarm="red"), "Due: alarm must be True or False, got 'red'"),
    "any of none": (any_of, "any_of: at least one trigger is needed, got none"),
    "any of words": (lambda: any_of("plateau"), "any_of: trigger 0 must be a trigger such as"),
    "any of classes": (lambda: any_of(Every(3), Every), "any_of: trigger 1 must be a trigger"),
    "no argument": (lambda: any_of(lambda: True), "or a function of a LineSoFar, got"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input(case: str) -> None:
    call, words = BAD[case]
    with pytest.raises(SettingsError, match=words):
        call()
