"""Laws of joint spaces: they are their axes, and values keep the types of their axes."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynhp import Categorical, Float, Int, Ordered, Space
from dynhp.records import Candidate
from tests.support.spaces import (
    candidate_of,
    generators,
    kinds,
    spaces,
)

radii = st.integers(1, 3)


@settings(max_examples=40)
@given(spaces(), generators, radii)
def test_a_joint_space_is_its_axes(space: Space, rng: np.random.Generator, radius: int) -> None:
    here = candidate_of(space, rng, between=True)
    assert space.admits(space.start())
    assert space.admits(space.draw(rng))
    assert len(space.grid()) == math.prod(len(axis.grid()) for axis in space.values())
    assert len(set(space.grid())) == len(space.grid())
    near = space.neighbors(here, radius)
    assert len(near) == sum(len(axis.neighbors(here[n], radius)) for n, axis in space.items())
    for candidate in near:
        assert space.admits(candidate)
        assert sum(candidate[name] != here[name] for name in space) == 1


@given(spaces(), generators)
def test_a_candidate_of_admitted_values_keeps_its_types(
    space: Space, rng: np.random.Generator
) -> None:
    here = candidate_of(space, rng, between=True)
    made = space.candidate(dict(reversed(here.items())))
    assert made == here
    assert list(made) == list(space)
    assert kinds(made) == kinds(here)


@pytest.mark.parametrize(
    ("axis", "value", "expected"),
    [
        (Float(0, 2), 1, 1.0),
        (Float(0, 2), np.float32(0.5), 0.5),
        (Float(0, 2), np.int64(1), 1.0),
        (Int(0, 9), np.int64(3), 3),
        (Ordered(1, 2.0, 4), 4, 4.0),
        (Ordered(1, 2.0, 4), 3, 3.0),
        (Ordered(3.0, 1.0, 2.0), 1, 1.0),
        (Ordered(1, 2, 4), np.int32(3), 3),
        (Ordered(1, 2, 4), 2.0, 2),
        (Categorical(1.0, 2.0), 2, 2.0),
        (Categorical("a", None), np.str_("a"), "a"),
        (Categorical(True, "x"), np.True_, True),
    ],
)
def test_a_value_is_taken_in_the_axis_own_type(axis: Any, value: Any, expected: Any) -> None:
    taken = Space({"x": axis}).candidate({"x": value})["x"]
    assert taken == expected
    assert type(taken) is type(expected)


@pytest.mark.parametrize(
    "values",
    [
        [1, 2, 4],
        (1, 2, 4),
        range(1, 4),
        np.array([1, 2, 4]),
        np.array([0.5, 0.25]),
        [np.float64(0.5), np.float32(0.25)],
        [np.int64(1), np.int32(2)],
        np.array(["a", "b"]),
        [np.str_("a"), "b", None],
        np.array([True, False]),
    ],
)
def test_lists_and_arrays_become_ordered_axes_of_plain_values(values: Any) -> None:
    axis = Space({"x": values})["x"]
    assert isinstance(axis, Ordered)
    assert list(axis.values) == list(values)
    assert {type(value) for value in axis.values} <= {bool, int, float, str, type(None)}


@settings(max_examples=20)
@given(spaces())
def test_spaces_travel_and_compare(space: Space) -> None:
    space.grid()
    copy = pickle.loads(pickle.dumps(space))
    assert copy == space
    assert copy.grid() == space.grid()
    assert len(space) == len(list(space))


def test_the_grid_of_a_space_is_made_once() -> None:
    space = Space({"x": [1, 2], "y": ["a", "b"]})
    assert [tuple(candidate.values()) for candidate in space.grid()] == [
        (1, "a"),
        (1, "b"),
        (2, "a"),
        (2, "b"),
    ]
    assert space.grid() is space.grid()


def test_a_candidate_that_needs_no_cast_stays_the_same_object() -> None:
    space = Space({"lr": [0.1, 1.0], "layers": [1, 2]})
    assert all(space.cast(candidate) is candidate for candidate in space.grid())


@pytest.mark.parametrize(
    "given", [{"lr": 1, "layers": 2}, {"layers": 2, "lr": 1.0}, {"lr": np.float64(1), "layers": 2}]
)
def test_a_candidate_in_other_types_or_another_order_is_made_anew(given: dict[str, Any]) -> None:
    space = Space({"lr": [0.1, 1.0], "layers": [1, 2]})
    candidate = Candidate(given)
    cast = space.cast(candidate)
    assert cast is not candidate
    assert repr(cast) == "Candidate(lr=1.0, layers=2)"
