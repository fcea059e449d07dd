"""A climb tries what it must to find the best step, and no more."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from itertools import zip_longest

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynhp import Ordered, Space
from dynhp.errors import Hint
from dynhp.proposers import Climb, Known
from dynhp.records import Candidate, Try
from dynhp.spaces import Around, Axis
from tests.support.messages import warns

FAILED = None
Scores = Callable[[int], float | None]


def climbed(
    scores: Scores, *, rungs: int = 8, axis: Axis | None = None, start: float = 1.0
) -> list[int]:
    """The steps of a climb, counted from the start, in the order in which they are tried."""
    axis = axis or Around(1.0, 2.0)
    space, current = Space({"lr": axis}), Candidate({"lr": start})
    waves: list[int] = []
    tries: list[Try] = []
    while wave := Climb(rungs).propose(
        Known(space=space, current=current, tries=tries), np.random.default_rng(0)
    ):
        waves.append(len(wave))
        tries += [tried(candidate, scores) for candidate in wave]
    least, most = Climb(rungs).waves(space, current)
    for limits, within in ((least, operator.ge), (most, operator.le)):
        both = zip_longest(waves, limits, fillvalue=0)
        assert all(within(size, limit) for size, limit in both), (waves, limits)
    return [step_of(try_.candidate) for try_ in tries]


def step_of(candidate: Candidate) -> int:
    return round(math.log2(float(candidate["lr"])))  # type: ignore[arg-type]


def tried(candidate: Candidate, scores: Scores) -> Try:
    score = scores(step_of(candidate))
    return Try(
        candidate=candidate,
        series=(),
        epochs=1,
        score=math.nan if score is None else score,
        error="nan" if score is None else None,
    )


def peak_at(best: int) -> Scores:
    return lambda step: -float(abs(step - best))


@pytest.mark.parametrize(
    ("best", "steps"),
    [
        (5, [0, 2, 3, 4, 5, 6]),
        (4, [0, 2, 3, 4, 5]),  # a start 30 times too low, of steps of about 3, and a short horizon
        (3, [0, 2, 3, 4]),
        (2, [0, 2, 3, 1]),
        (0, [0, 2, -1, 1]),
        (-1, [0, 2, -1, -2]),
        (-3, [0, 2, -1, -2, -3, -4]),
    ],
)
def test_it_tries_two_steps_up_and_then_neighbours_of_the_best(best: int, steps: list[int]) -> None:
    assert climbed(peak_at(best)) == steps


def test_a_peak_between_the_first_two_is_found_from_either_side() -> None:
    higher = {0: 0.0, 1: 2.0, 2: 1.0, 3: 0.0, -1: -1.0}
    assert climbed(higher.__getitem__) == [0, 2, 3, 1]
    lower = {**higher, 2: -1.0}
    assert climbed(lower.__getitem__) == [0, 2, -1, 1]


@given(st.integers(-7, 7), st.integers(0, 2**32))
def test_it_finds_the_peak_of_all_that_rises_and_falls_once(best: int, seed: int) -> None:
    drops = np.random.default_rng(seed).uniform(0.1, 9.0, 40)

    def scores(step: int) -> float:
        return -float(sum(drops[20 + min(best, step) : 20 + max(best, step)]))

    steps = climbed(scores)
    assert max(steps, key=scores) == best
    assert {best - 1, best + 1} <= set(steps), "both neighbours are known to be worse"
    assert len(steps) <= max(4, best + 1, 3 - best)


def test_what_is_below_is_looked_at_where_scores_rise_and_fall() -> None:
    garbage = {0: 0.0, 2: 0.1, 3: -0.1, 1: -0.2, -1: 5.0, -2: 7.0, -3: 6.0}
    assert climbed(garbage.__getitem__) == [0, 2, 3, 1, -1, -2, -3]


def test_equal_steps_are_not_taken() -> None:
    assert climbed(lambda step: 0.0) == [0, 2, -1, 1]
    assert climbed(lambda step: float(min(step, 2))) == [0, 2, 3, 1]


def test_where_all_have_failed_it_goes_down() -> None:
    assert climbed(lambda step: FAILED if step > -3 else -float(abs(step + 4))) == [
        *(0, 2, -1, -2, -3, -4, -5)
    ]
    assert climbed(lambda step: FAILED, rungs=3) == [0, 2, -1, -2, -3]  # and no hint
    assert climbed(lambda step: FAILED, axis=Ordered(1.0, 2.0, 4.0, 8.0)) == [0, 2]


def test_a_failed_step_counts_as_worse() -> None:
    assert climbed(lambda step: FAILED if step > 0 else float(step)) == [0, 2, -1, 1]
    assert climbed(lambda step: FAILED if step > 2 else float(step)) == [0, 2, 3, 1]
    assert climbed(lambda step: FAILED if step == 0 else float(step), rungs=1) == [0, 1]


@pytest.mark.parametrize(
    ("values", "start", "steps"),
    [
        ([1.0, 2.0], 1.0, [0, 1]),
        ([0.5, 1.0], 1.0, [0, -1]),
        ([0.25, 0.5, 1.0], 1.0, [0, -1]),
        ([0.5, 1.0, 2.0], 1.0, [0, 1]),
        ([0.5, 1.0, 2.0, 4.0], 1.0, [0, 2, 1]),
        ([1.0], 1.0, [0]),
    ],
)
@pytest.mark.filterwarnings("ignore::dynhp.errors.Hint")
def test_at_the_ends_of_an_axis(values: Sequence[float], start: float, steps: list[int]) -> None:
    assert climbed(float, axis=Ordered(*values), start=start) == steps


@pytest.mark.parametrize("best", [9, -9])
def test_the_last_step_of_a_side_gives_a_hint(best: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dynhp.errors._given", set())  # a hint is given once
    with warns(Hint):
        steps = climbed(peak_at(best), rungs=3)
    assert steps == ([0, 2, 3] if best > 0 else [0, 2, -1, -2, -3])


def test_scores_that_are_all_the_same_get_a_hint() -> None:
    with warns(Hint):
        assert climbed(lambda step: 0.25) == [0, 2, -1, 1]


@pytest.mark.filterwarnings("error")
def test_scores_that_differ_get_none() -> None:
    climbed(lambda step: 1.0 if step else 2.0)
