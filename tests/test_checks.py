"""Checks of arguments that no other test reaches."""

from __future__ import annotations

import pytest

from dynhp._checks import takes


@pytest.mark.parametrize(
    ("function", "count", "can"),
    [(len, 1, True), (len, 2, False), (lambda a, b: None, 1, False), (min, 7, True)],
    ids=["one", "too many", "too few", "nobody knows"],
)
def test_how_many_things_a_function_takes(function: object, count: int, can: bool) -> None:
    assert takes(function, count) is can
