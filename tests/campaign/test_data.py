"""Plain data: what JSON carries and gives back."""

from __future__ import annotations

import json
from types import MappingProxyType
from typing import Any

import numpy as np

from dynhp.campaign.data import plain
from dynhp.records import Candidate
from tests.support.messages import raises


class Colour(str):
    __slots__ = ()


def test_plain_data_is_what_json_gives_back() -> None:
    data = {"a": [1, -0.5, True, None, "é\ud800"], "b": {"c": []}}
    assert json.loads(json.dumps(plain(data, "it"))) == data
    checked = plain({Colour("red"): (np.float64(0.5), Colour("blue"), Candidate({"lr": 1}))}, "it")
    assert checked == {"red": [0.5, "blue", {"lr": 1}]}
    assert [type(item) for item in (*checked, *checked["red"])] == [str, float, str, dict]
    assert type(plain(MappingProxyType({}), "it")) is dict


def test_towers_and_circles_are_refused() -> None:
    circle: list[Any] = []
    circle.append(circle)
    with raises(TypeError):
        plain(circle, "it")
    tower: Any = 1
    for _ in range(100):
        tower = [tower]
    assert plain(tower, "it") == tower
    with raises(TypeError):
        plain([tower], "it")
