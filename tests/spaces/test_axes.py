"""Laws of axes: values inside the bounds, of one type, each next to the right ones."""

from __future__ import annotations

import itertools
import math
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dynhp.spaces
from dynhp import Categorical, Float, Int, Ordered, Space
from dynhp.errors import SettingsError
from dynhp.records import Candidate
from dynhp.spaces import Around, Axis
from dynhp.spaces.axis import ScaledAxis, rounded, value_at
from tests.support.messages import raises
from tests.support.spaces import (
    axes,
    floats_axes,
    generators,
    int_axes,
    kinds,
    ordered_axes,
    ranges,
    scaled_axes,
    values_of,
)

radii = st.integers(1, 3)


def allowed_types(axis: Axis) -> set[type]:
    if isinstance(axis, Float):
        return {float}
    if isinstance(axis, Int):
        return {int}
    return set(map(type, axis.grid()))


@given(axes, generators, radii)
def test_whatever_an_axis_gives_out_it_admits_and_has_its_type(
    axis: Axis, rng: np.random.Generator, radius: int
) -> None:
    value = values_of(axis, rng, between=True)
    given_out = [*axis.grid(), axis.start(), axis.draw(rng), *axis.neighbors(value, radius)]
    for each in given_out:
        assert axis.admits(each)
        assert type(each) in allowed_types(axis)
        assert axis.cast(each) == each
        assert type(axis.cast(each)) is type(each)


@given(axes)
def test_the_start_is_on_the_grid_and_the_grid_has_no_repeats(axis: Axis) -> None:
    assert axis.start() in axis.grid()
    assert len(set(axis.grid())) == len(axis.grid())


@given(ranges)
def test_the_grid_of_a_range_rises_from_bound_to_bound(axis: Float | Int) -> None:
    grid = axis.grid()
    assert grid[0] == axis.low
    assert grid[-1] == axis.high
    assert all(a < b for a, b in itertools.pairwise(grid))


@given(floats_axes())
def test_the_grid_of_a_float_axis_is_even_on_its_scale(axis: Float) -> None:
    assert len(axis.grid()) == axis.points
    positions = [axis.position(value) for value in axis.grid()]
    rounding = 1e-8 if axis.log else 1e-13 * max(-axis.low, axis.high) / (axis.high - axis.low)
    even = [i * axis.step() for i in range(axis.points)]
    assert positions == pytest.approx(even, abs=max(1e-8, rounding))


@given(axes, generators, radii)
def test_neighbours_are_others_without_repeats(
    axis: Axis, rng: np.random.Generator, radius: int
) -> None:
    value = values_of(axis, rng, between=True)
    near = axis.neighbors(value, radius)
    assert value not in near
    assert len(set(near)) == len(near)
    if not isinstance(axis, Categorical):
        assert len(near) <= 2 * radius


@given(axes, radii)
def test_neighbours_on_the_grid_are_the_adjacent_grid_values(axis: Axis, radius: int) -> None:
    grid = axis.grid()
    for i, value in enumerate(grid):
        if isinstance(axis, Categorical):
            expected = grid[:i] + grid[i + 1 :]
        else:
            expected = grid[max(0, i - radius) : i] + grid[i + 1 : i + 1 + radius]
        near = axis.neighbors(value, radius)
        if isinstance(axis, Around):  # which goes on beyond its grid
            near = tuple(each for each in near if each in grid)
        assert near == expected


@given(axes, radii)
def test_neighbours_are_mutual_on_the_grid(axis: Axis, radius: int) -> None:
    near = {value: set(axis.neighbors(value, radius)) for value in axis.grid()}
    for a in near:
        for b in near:
            assert (b in near[a]) == (a in near[b])


@given(floats_axes(), st.floats(0.3, 0.7))
def test_interior_neighbours_are_equidistant_on_the_scale(axis: Float, position: float) -> None:
    value = axis.at(position)
    if min(position, 1 - position) < axis.step():
        return
    below, above = axis.neighbors(value)
    if axis.log:
        assert math.log(value / below) == pytest.approx(math.log(above / value), abs=1e-12)
    else:
        rounding = 1e-13 * max(-axis.low, axis.high)
        assert value - below == pytest.approx(above - value, abs=2 * rounding)


def test_log_neighbours_by_example() -> None:
    axis = Float(0.001, 10.0, log=True, points=5)
    assert axis.neighbors(0.1) == (0.01, 1.0)
    assert axis.neighbors(0.03) == pytest.approx((0.003, 0.3))
    assert axis.neighbors(0.1, 2) == (0.001, 0.01, 1.0, 10.0)


def test_between_grid_values_the_bounds_cut_the_last_step_short() -> None:
    axis = Float(0.0, 1.0, points=3)
    assert axis.neighbors(0.25) == (0.0, 0.75)
    assert axis.neighbors(0.25, 2) == (0.0, 0.75, 1.0)
    assert Ordered(0.0, 0.5, 1.0).neighbors(0.25, 1) == (0.0, 0.5)
    assert Int(0, 100, points=5).neighbors(30) == (25, 50)


def test_a_value_off_the_grid_by_rounding_only_has_the_grids_neighbours() -> None:
    almost = 0.1 + 0.2
    assert Float(0.0, 1.0, points=11).neighbors(almost) == (0.2, 0.4)
    assert Ordered(0.1, 0.3, 0.5).neighbors(almost) == (0.1, 0.5)


def test_int_neighbours_skip_what_rounds_to_one_number() -> None:
    axis = Int(1, 10, log=True, points=9)
    assert axis.grid() == (1, 2, 3, 4, 6, 7, 10)
    assert axis.neighbors(6) == (4, 7)
    assert axis.neighbors(5) == (4, 6)
    assert axis.neighbors(10, 2) == (6, 7)


@given(scaled_axes, generators)
def test_position_and_at_are_inverse(axis: Float | Int | Ordered, rng: np.random.Generator) -> None:
    value = values_of(axis, rng, between=True)
    back = axis.at(axis.position(value))
    assert type(back) is type(value)
    if isinstance(value, int):
        assert back == value
    else:
        size = max(map(abs, axis.grid())) if not getattr(axis, "log", False) else value
        assert back == pytest.approx(value, abs=1e-11 * max(abs(size), 1e-300))
    for known in axis.grid():
        assert axis.at(axis.position(known)) == known


@given(scaled_axes, st.lists(st.floats(-2, 3), min_size=2, max_size=8))
def test_at_never_leaves_the_axis_and_never_turns_back(
    axis: Float | Int | Ordered, places: list[float]
) -> None:
    values = [axis.at(place) for place in sorted(places)]
    assert all(axis.admits(value) for value in values)
    falling = axis.grid()[0] > axis.grid()[-1]
    assert values == sorted(values, reverse=falling)
    assert axis.at(-0.1) == axis.grid()[0]
    assert axis.at(1.1) == axis.grid()[-1]


@settings(max_examples=20)
@given(axes, st.integers(0, 2**32))
def test_draws_are_the_generators_doing(axis: Axis, seed: int) -> None:
    drawn, again = ([axis.draw(np.random.default_rng(seed)) for _ in range(3)] for _ in range(2))
    assert drawn == again


def test_draws_are_even_on_the_scale_and_reach_both_ends() -> None:
    rng = np.random.default_rng(0)
    log = [Float(1e-4, 1.0, log=True).draw(rng) for _ in range(2000)]
    assert np.mean(np.array(log) < 1e-2) == pytest.approx(0.5, abs=0.05)
    assert {Int(1, 3).draw(rng) for _ in range(50)} == {1, 2, 3}
    assert np.mean([Int(1, 100, log=True).draw(rng) < 10 for _ in range(2000)]) == pytest.approx(
        0.5, abs=0.05
    )
    assert {Ordered("a", "b").draw(rng) for _ in range(50)} == {"a", "b"}
    assert {Categorical("a", "b").draw(rng) for _ in range(50)} == {"a", "b"}


def test_admits_knows_types_and_bounds() -> None:
    assert not Float(0, 1).admits(True)
    assert not Float(0, 1).admits(math.nan)
    assert not Float(0, 1).admits(1.0000001)
    assert not Float(0, 1).admits("0.5")
    assert not Int(0, 9).admits(3.0)
    assert not Int(0, 9).admits(10)
    assert not Int(0, 9).admits(True)
    assert Ordered(1, 4).admits(2)
    assert not Ordered(1, 4).admits(2.5)
    assert not Ordered(1, 4).admits(5)
    assert not Ordered(1, 4).admits(True)
    assert not Ordered(1, 4, 2).admits(3)
    assert not Ordered("a", "b").admits("c")
    assert Ordered(4.0, 1.0).admits(2)
    assert not Categorical(1, 4).admits(2)
    assert not Categorical(1, 4).admits(True)
    space = Space({"x": [1, 2]})
    assert not space.admits({"x": 1, "y": 1})
    assert not space.admits({"x": 3})


def test_numpy_bounds_become_plain_numbers() -> None:
    axis, whole = Float(np.float32(0.5), np.float64(2.0)), Int(np.int64(1), np.uint8(9))
    assert [type(v) for v in (axis.low, axis.high, *axis.grid())] == [float] * 11
    assert [type(v) for v in (whole.low, whole.high, *whole.grid())] == [int] * 11


def test_a_list_of_whole_numbers_and_floats_is_a_list_of_floats() -> None:
    assert kinds(Candidate(dict(enumerate(Ordered(0, 0.5, 1).values)))) == (float,) * 3  # type: ignore[arg-type]
    assert Ordered("a", 0, 0.5).values == ("a", 0, 0.5)
    assert type(Ordered("a", 0, 0.5).values[1]) is int


@pytest.mark.parametrize(
    ("axis", "scaled"),
    [
        (Ordered(1, 2, 3), True),
        (Ordered(3, 2, 1), True),
        (Ordered(7), True),
        (Ordered(1, 3, 2), False),
        (Ordered(False, True), False),
        (Ordered("a", "b"), False),
        (Float(0, 1), True),
        (Int(0, 1), True),
    ],
)
def test_what_has_a_scale(axis: Any, scaled: bool) -> None:
    assert isinstance(axis, ScaledAxis)
    assert axis.scaled is scaled


def test_categories_have_no_scale_and_no_order() -> None:
    axis = Categorical("a", "b", "c")
    assert not isinstance(axis, ScaledAxis)
    assert axis.start() == "a"
    assert axis.neighbors("c", 5) == ("a", "b")
    assert axis.neighbors("c", 0) == ()


def test_one_value_is_an_axis_too() -> None:
    axis = Ordered(0.5)
    assert axis.neighbors(0.5) == ()
    assert axis.position(0.5) == 0
    assert axis.at(0.7) == 0.5


def test_between_listed_values_is_free_of_binary_dust() -> None:
    assert [Ordered(0.1, 0.3, 0.5).at(i / 4) for i in range(5)] == [0.1, 0.2, 0.3, 0.4, 0.5]
    assert [Ordered(0.3, 0.1).at(i / 2) for i in range(3)] == [0.3, 0.2, 0.1]
    assert Float(0.0, 1.0, points=11).grid() == tuple(i / 10 for i in range(11))
    assert Float(1e-5, 1e-1, log=True, points=5).grid() == (1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
    assert Float(1e-250, 1e250, log=True, points=3).grid() == (1e-250, 1.0, 1e250)


@given(st.floats(-1e9, 1e9), st.integers(1, 5), st.floats(0, 1))
def test_rounding_never_leaves_the_narrowest_list(low: float, ulps: int, position: float) -> None:
    high = low
    for _ in range(ulps):
        high = math.nextafter(high, math.inf)
    assert Ordered(low, high).admits(Ordered(low, high).at(position))
    assert Ordered(high, low).admits(Ordered(high, low).at(position))
    value = value_at(position, low, high, log=False)
    assert low <= rounded(value, low, high, log=False) <= high


def test_whole_numbers_are_exact_where_floats_are_not() -> None:
    axis = Int(10**15, 10**15 + 4)
    assert axis.grid() == tuple(range(10**15, 10**15 + 5))
    huge = Ordered(2**62 + 1, 2**62 + 3)
    assert all(huge.admits(huge.at(i / 8)) for i in range(9))


def test_a_float_axis_too_narrow_for_its_points_is_refused() -> None:
    with raises(SettingsError):
        Float(1.0, math.nextafter(1.0, 2.0))


@settings(max_examples=20)
@given(axes)
def test_axes_travel_and_show_how_they_were_made(axis: Axis) -> None:
    assert pickle.loads(pickle.dumps(axis)) == axis
    assert eval(repr(axis), vars(dynhp.spaces)) == axis


@settings(max_examples=20)
@given(int_axes(), ordered_axes)
def test_axes_cannot_be_changed(whole: Int, listed: Ordered) -> None:
    for axis, name in ((whole, "low"), (listed, "values")):
        with pytest.raises(AttributeError):
            setattr(axis, name, 0)


# ---- an axis without ends --------------------------------------------------------------------
def test_a_value_between_two_steps_has_both_as_neighbours() -> None:
    axis = Around(0.015, 10.0, anchor=1.0)
    assert axis.neighbors(0.015) == (0.01, 0.1)
    assert axis.neighbors(0.08) == (0.01, 0.1)
    assert axis.neighbors(0.01) == axis.neighbors(0.01 * (1 + 1e-9)) == (0.001, 0.1)
    assert Around(0.015, 10.0).neighbors(0.03) == (0.003, 0.3)  # counted from there


def test_the_smallest_and_largest_numbers_are_no_steps() -> None:
    assert Around(1e-299, 10.0).neighbors(1e-299, 3) == (1e-298, 1e-297, 1e-296)
    assert Around(1e299, 10.0).neighbors(1e299, 3) == (1e296, 1e297, 1e298)


def test_it_has_no_place_for_what_is_not_finite() -> None:
    axis = Around(0.1)
    assert axis.admits(1e300)
    assert not any(axis.admits(value) for value in (math.inf, math.nan, 0.0, -1.0, "0.1"))


def test_what_is_drawn_is_at_most_a_step_away_on_either_side() -> None:
    rng, same = np.random.default_rng(3), np.random.default_rng(3)
    drawn = [Around(0.5, 4.0).draw(rng) for _ in range(50)]
    assert drawn == pytest.approx([0.5 * 4.0 ** same.uniform(-1, 1) for _ in drawn], rel=1e-5)
