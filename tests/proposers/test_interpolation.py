"""Interpolation: the parabola's peak, what happens without one, and where it leads."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynhp import Categorical, Float, Int, Interpolation, Ordered, Space
from dynhp.errors import SettingsError
from dynhp.proposers import Known, Waves
from dynhp.proposers.interpolation import peak_of, scaled_axis, sides_of
from dynhp.records import Candidate, Try
from tests.support.messages import raises
from tests.support.spaces import ProposedRound, generators, run_proposer, scaled_axes, values_of

RNG = np.random.default_rng(0)


def try_(value: Any, score: float, error: str | None = None) -> Try:
    return Try(candidate=Candidate({"x": value}), series=(), epochs=1, score=score, error=error)


def run(
    axis: Any,
    start: Any,
    score: Callable[[Any], float],
    rounds: int,
    proposer: Interpolation | None = None,
) -> list[ProposedRound]:
    scores = lambda candidate: (score(candidate["x"]), None)  # noqa: E731
    return list(
        run_proposer(
            proposer or Interpolation(),
            Space({"x": axis}),
            Candidate({"x": start}),
            scores,
            rounds=rounds,
        )
    )


def second_wave(axis: Any, tries: list[Try]) -> list[Any]:
    known = Known(space=Space({"x": axis}), current=tries[0].candidate, tries=tries)
    return [candidate["x"] for candidate in Interpolation().propose(known, RNG)]


def steps(rounds_: list[ProposedRound], axis: Any) -> list[float]:
    """How far the last candidate of each round's first wave lies from the value in force."""
    return [
        abs(axis.position(each.waves[0][-1]["x"]) - axis.position(each.waves[0][0]["x"]))
        for each in rounds_
    ]


interior = st.floats(0.26, 0.74)


@given(interior, st.floats(1e-3, 1e3), st.floats(-1e3, 1e3))
def test_the_peak_of_a_quadratic_is_exact(peak: float, bend: float, height: float) -> None:
    axis = Float(-2.0, 6.0, points=5)
    top = axis.at(peak)
    tries = [try_(x, height - bend * (x - top) ** 2) for x in (2.0, 0.0, 4.0)]
    assert peak_of(tries, "x", axis) == pytest.approx(peak, abs=1e-6)
    assert second_wave(axis, tries) in ([], [pytest.approx(top, abs=1e-5)])


@given(interior)
def test_the_peak_is_exact_on_a_log_axis(peak: float) -> None:
    axis = Float(1e-4, 1.0, log=True, points=5)
    top = axis.at(peak)
    tries = [try_(x, -(math.log(x / top) ** 2)) for x in (1e-2, 1e-3, 1e-1)]
    assert peak_of(tries, "x", axis) == pytest.approx(peak, abs=1e-9)
    assert second_wave(axis, tries) in ([], [pytest.approx(top, rel=1e-8)])


def test_the_peak_is_exact_on_lists_and_their_own_scale() -> None:
    rising, falling = Ordered(1.0, 10.0, 100.0), Ordered(100.0, 10.0, 1.0)
    for axis in (rising, falling):  # on the scale, 1, 10 and 100 are evenly spaced
        tries = [
            try_(x, -((axis.position(x) - axis.position(5.5)) ** 2)) for x in (10.0, 1.0, 100.0)
        ]
        assert second_wave(axis, tries) == [5.5]


@pytest.mark.parametrize(
    "scores",
    [
        (1.0, 0.0, 2.0),  # a straight line
        (0.0, 1.0, 1.0),  # a valley
        (-25.0, -36.0, -16.0),  # the parabola peaks at 9, to the right of all three
        (-25.0, -16.0, -36.0),  # or at -1, to the left
        (1.0, 1.0, 1.0),
        (math.nan, 0.0, 0.0),
        (1.0, math.inf, 0.0),
        (1e308, -1e308, -1e308),
    ],
)
def test_without_a_peak_inside_there_is_no_second_wave(scores: tuple[float, ...]) -> None:
    axis = Float(0.0, 8.0)
    tries = [try_(*pair) for pair in zip((4.0, 3.0, 5.0), scores, strict=True)]
    assert peak_of(tries, "x", axis) is None
    assert second_wave(axis, tries) == []


def test_a_failed_try_has_no_place_on_a_parabola() -> None:
    axis = Float(0.0, 1.0, points=3)
    good = [try_(0.5, 1.0), try_(0.0, 0.5), try_(1.0, 0.2)]
    assert second_wave(axis, good) != []
    assert second_wave(axis, [*good[:2], try_(1.0, 0.2, "RuntimeError: no")]) == []


def test_tries_of_one_value_have_no_parabola() -> None:
    axis = Float(0.0, 1.0, points=3)
    assert peak_of([try_(0.5, 1.0), try_(0.5, 2.0), try_(1.0, 0.0)], "x", axis) is None


def test_the_peak_is_tried_once() -> None:
    axis = Float(0.0, 1.0, points=3)
    tries = [try_(0.5, 0.0), try_(0.0, -0.26), try_(1.0, -0.24)]
    (peak,) = second_wave(axis, tries)
    assert peak == pytest.approx(0.51)
    assert second_wave(axis, [*tries, try_(peak, 1.0)]) == []


def test_a_peak_at_a_value_already_tried_is_not_tried_again() -> None:
    axis = Float(0.0, 1.0, points=3)
    assert second_wave(axis, [try_(0.5, 1.0), try_(0.0, 0.0), try_(1.0, 0.0)]) == []
    # Up to rounding, too: the peak lies 1e-12 beside the middle.
    near = [try_(0.5, 1.0), try_(0.0, 0.0), try_(1.0, 8e-12)]
    assert peak_of(near, "x", axis) != 0.5
    assert second_wave(axis, near) == []
    # Whole numbers: the peak at 5.2 is the 5 that was tried.
    whole = [try_(v, -((v - 5.2) ** 2)) for v in (5, 3, 7)]
    assert second_wave(Int(1, 9, points=5), whole) == []


@given(scaled_axes, generators)
def test_no_value_is_tried_twice_in_a_round(axis: Any, rng: np.random.Generator) -> None:
    start, top = values_of(axis, rng, between=True), rng.random()
    for each in run(axis, start, lambda x: -((axis.position(x) - top) ** 2), 6):
        tried = [axis.position(c["x"]) for wave in each.waves for c in wave]
        gaps = np.diff(sorted(tried))
        assert (gaps > 1e-9).all()


def test_a_peak_inside_shrinks_the_step_and_any_other_round_grows_it() -> None:
    axis = Float(0.0, 1.0, points=9)
    inside = run(axis, 0.5, lambda x: -((x - 0.5) ** 2), 6)
    assert steps(inside, axis) == [1 / 8, 1 / 16, 1 / 32, 1 / 64, 1 / 64, 1 / 64]
    flat = run(axis, 0.5, lambda x: 0.0, 6)
    assert steps(flat, axis) == [1 / 8, 1 / 4, 1 / 2, 1 / 2, 1 / 2, 1 / 2]  # cut by the bounds
    climb = run(axis, 0.125, lambda x: x, 4)
    assert [each.round.candidate["x"] for each in climb] == [0.25, 0.5, 1.0, 1.0]


def test_the_settings_of_the_step_are_its_settings() -> None:
    axis = Float(0.0, 1.0, points=3)
    proposer = Interpolation(shrink=0.1, smallest=0.01)
    inside = run(axis, 0.5, lambda x: -((x - 0.5) ** 2), 4, proposer)
    assert steps(inside, axis) == pytest.approx([0.5, 0.05, 0.01, 0.01])
    slow = Interpolation(grow=1.5)
    climb = run(Float(0.0, 1.0, points=11), 0.1, lambda x: x, 3, slow)
    assert [each.round.candidate["x"] for each in climb] == pytest.approx([0.2, 0.35, 0.575])
    still = Interpolation(shrink=1.0, grow=1.0)
    assert steps(run(axis, 0.5, lambda x: 0.0, 3, still), axis) == [0.5] * 3


def test_at_an_end_of_the_axis_there_are_two_points_and_the_better_decides() -> None:
    axis = Float(0.0, 1.0, points=5)
    stay = run(axis, 0.0, lambda x: -x, 4)
    assert [len(each.waves) for each in stay] == [1] * 4
    assert [len(each.waves[0]) for each in stay] == [2] * 4
    assert steps(stay, axis) == [1 / 4, 1 / 8, 1 / 16, 1 / 32]  # settled: look closer
    leave = run(axis, 1.0, lambda x: -x, 2)
    # Not settled: look farther.
    assert [each.round.candidate["x"] for each in leave] == [0.75, 0.25]
    assert steps(run(axis, 1.0, lambda x: 0.0, 2), axis) == [1 / 4, 1 / 8]  # a tie stays


def test_one_value_is_tried_alone_and_total() -> None:
    rounds_ = run(Ordered(0.5), 0.5, lambda x: 0.0, 3)
    assert [each.waves for each in rounds_] == [[[Candidate({"x": 0.5})]]] * 3
    space = Space({"x": [0.5], "y": Float(0, 1)})
    assert Interpolation().waves(space, space.start()) == Waves((1,), (3, 1))
    assert Interpolation().waves(Space({"y": Float(0, 1)}), space.start()) == Waves((2,), (3, 1))


@settings(max_examples=30)
@given(st.floats(0, 1), st.floats(0, 1), st.booleans())
def test_on_a_quadratic_it_comes_far_closer_than_the_grid(
    start: float, top: float, log: bool
) -> None:
    axis = Float(0.01, 100.0, log=log, points=9)
    rounds_ = run(axis, axis.at(start), lambda x: -((axis.position(x) - top) ** 2), 12)
    assert axis.position(rounds_[-1].round.candidate["x"]) == pytest.approx(top, abs=1e-5)


@settings(max_examples=30)
@given(st.integers(1, 60), st.floats(1, 60), st.sampled_from([None, 2, 5]))
def test_on_whole_numbers_it_finds_the_best_one(start: int, top: float, points: Any) -> None:
    axis = Int(1, 60, points=points)
    rounds_ = run(axis, start, lambda x: -((x - top) ** 2), 14)
    last = rounds_[-1].round.candidate["x"]
    assert type(last) is int
    assert abs(last - top) <= 0.5 + 1e-9


@settings(max_examples=30)
@given(st.floats(0, 1), st.floats(0, 1))
def test_on_a_list_it_moves_between_the_listed_values(start: float, top: float) -> None:
    axis = Ordered(0.9, 0.5, 0.3, 0.1)
    rounds_ = run(axis, axis.at(start), lambda x: -((axis.position(x) - top) ** 2), 12)
    assert axis.position(rounds_[-1].round.candidate["x"]) == pytest.approx(top, abs=1e-5)


def test_several_axes_take_turns_each_with_a_step_of_its_own() -> None:
    space = Space({"x": Float(0.0, 1.0, points=5), "y": Float(1e-4, 1.0, log=True, points=5)})
    top = {"x": 0.3, "y": 0.02}

    def score(candidate: Candidate) -> tuple[float, None]:
        x, y = candidate["x"], math.log10(candidate["y"]) / 4  # type: ignore[arg-type]
        return -((x - top["x"]) ** 2) - (y - math.log10(top["y"]) / 4) ** 2, None  # type: ignore[operator]

    rounds_ = list(run_proposer(Interpolation(), space, space.start(), score, rounds=8))
    for each in rounds_:
        name, other = ("x", "y") if each.round.index % 2 == 0 else ("y", "x")
        assert {c[other] for w in each.waves for c in w} == {each.known.current[other]}
        assert len({c[name] for w in each.waves for c in w}) > 1
    assert dict(rounds_[-1].round.candidate) == pytest.approx(top, rel=1e-6)
    # x was settled in each of its rounds: 1/4, 1/8, 1/16, 1/32.
    widths = [each.waves[0][2]["x"] - each.waves[0][0]["x"] for each in rounds_[::2]]  # type: ignore[operator]
    assert widths == pytest.approx([1 / 4, 1 / 8, 1 / 16, 1 / 32])


def test_each_axis_remembers_its_own_rounds() -> None:
    space = Space({"x": Float(0.0, 1.0, points=9), "y": Float(0.0, 1.0, points=9)})
    score = lambda candidate: (-((candidate["x"] - 0.5) ** 2), None)  # noqa: E731  (y is flat)
    rounds_ = list(run_proposer(Interpolation(), space, space.start(), score, rounds=6))
    widths = [
        each.waves[0][2][name] - each.waves[0][0][name]
        for each, name in zip(rounds_, "xyxyxy", strict=True)
    ]
    assert widths == [1 / 8, 1 / 8, 1 / 16, 1 / 4, 1 / 32, 1 / 2]


@given(scaled_axes, generators, st.floats(1e-15, 1) | st.just(1e-15))
def test_both_sides_differ_unless_the_axis_ends_there(
    axis: Any, rng: np.random.Generator, step: float
) -> None:
    value = values_of(axis, rng, between=True)
    sides = sides_of(axis, value, step)
    position = axis.position(value)
    if len(axis.grid()) == 1:
        assert sides == []
    else:
        assert len(sides) == (2 if 1e-9 < position < 1 - 1e-9 else 1)
    for side in sides:
        assert axis.admits(side)
        assert abs(axis.position(side) - position) > 1e-9


def test_a_step_too_small_for_whole_numbers_leads_to_the_next_ones() -> None:
    assert sides_of(Int(1, 100), 50, 1e-6) == [49, 51]
    assert sides_of(Ordered(1, 3, 5), 3, 1e-6) == [2, 4]
    assert sides_of(Ordered(1, 2, 3), 2, 1e-6) == [1, 3]


@pytest.mark.parametrize("axis", [Categorical(1, 2), Ordered("a", "b"), Ordered(1, 3, 2)])
def test_what_has_no_scale_is_refused(axis: Any) -> None:
    space = Space({"x": axis})
    with raises(SettingsError):
        Interpolation().waves(space, space.start())
    with raises(SettingsError):
        scaled_axis(space, "x")


def test_scores_after_different_epochs_make_no_parabola() -> None:
    """In a race the losers' scores are older than the winner's: a peak through them is a mirage."""
    space = Space({"x": [0.0, 0.5, 1.0]})
    ends = ((0.5, 2), (0.0, 1), (1.0, 4))
    tries = [
        Try(candidate=Candidate({"x": x}), series=(), epochs=epochs, score=-((x - 0.9) ** 2))
        for x, epochs in ends
    ]
    known = Known(space=space, current=Candidate({"x": 0.5}), tries=tries)
    assert Interpolation().propose(known, np.random.default_rng(0)) == []
    alike = [replace(try_, epochs=4) for try_ in tries]
    known = Known(space=space, current=Candidate({"x": 0.5}), tries=alike)
    assert Interpolation().propose(known, np.random.default_rng(0)) == [Candidate({"x": 0.9})]
