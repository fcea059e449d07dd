"""A climb tries what it must to find the best step, and no more."""

from __future__ import annotations

import math
import operator
import warnings
from collections.abc import Callable, Sequence
from itertools import pairwise, zip_longest
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dynhp.errors
from dynhp import Ordered, Space, highest, lowest
from dynhp.criteria import Criterion
from dynhp.errors import Hint
from dynhp.proposers import Climb, Known
from dynhp.proposers.climb import second_peak
from dynhp.records import Candidate, Metrics, Progress, Try
from dynhp.spaces import Around, Axis
from tests.support.messages import warns

FAILED = None
LOSS = lowest("loss")
TWO_PEAKS = {0: 5.0, 1: 1.0, 2: 0.0, 3: 3.0, -1: 4.0, -2: 3.0}
Scores = Callable[[int], float | None]


def climbed(
    scores: Scores,
    *,
    rungs: int = 8,
    worse: int = 2,
    learns: Criterion | None = None,
    series: Callable[[int], Sequence[float]] | None = None,
    axis: Axis | None = None,
    start: float = 1.0,
) -> list[int]:
    """The steps of a climb, counted from the start, in the order in which they are tried."""
    axis = axis or Around(1.0, 2.0)
    space, current = Space({"lr": axis}), Candidate({"lr": start})
    climb = Climb(rungs, worse, learns)
    waves: list[int] = []
    tries: list[Try] = []
    while wave := climb.propose(
        Known(space=space, current=current, tries=tries), np.random.default_rng(0)
    ):
        waves.append(len(wave))
        tries += [tried(candidate, scores, series) for candidate in wave]
    least, most = climb.waves(space, current)
    for limits, within in ((least, operator.ge), (most, operator.le)):
        both = zip_longest(waves, limits, fillvalue=0)
        assert all(within(size, limit) for size, limit in both), (waves, limits)
    return [step_of(try_.candidate) for try_ in tries]


def step_of(candidate: Candidate) -> int:
    return round(math.log2(float(candidate["lr"])))  # type: ignore[arg-type]


def tried(
    candidate: Candidate, scores: Scores, series: Callable[[int], Sequence[float]] | None = None
) -> Try:
    step = step_of(candidate)
    score = scores(step)
    losses = () if series is None else series(step)
    return Try(
        candidate=candidate,
        series=tuple({"loss": loss} for loss in losses),
        epochs=max(1, len(losses)),
        score=math.nan if score is None else score,
        error="nan" if score is None else None,
    )


def peak_at(best: int) -> Scores:
    return lambda step: -float(abs(step - best))


@pytest.mark.parametrize(
    ("best", "steps"),
    [
        (5, [0, 2, 3, 4, 5, 6, 7]),
        (
            4,
            [0, 2, 3, 4, 5, 6],
        ),  # a start 30 times too low, in steps of 3, and a short horizon
        (3, [0, 2, 3, 4, 5, 1]),
        (2, [0, 2, 3, 4, 1]),
        (0, [0, 2, -1, -2, 1]),
        (-1, [0, 2, -1, -2, -3, 1]),
        (-3, [0, 2, -1, -2, -3, -4, -5]),
    ],
)
def test_it_tries_two_steps_up_and_then_neighbours_of_the_best(best: int, steps: list[int]) -> None:
    assert climbed(peak_at(best)) == steps


def test_one_worse_value_on_each_side_may_be_enough() -> None:
    assert climbed(peak_at(3), worse=1) == [0, 2, 3, 4]
    assert climbed(peak_at(0), worse=1) == [0, 2, -1, 1]
    assert climbed(peak_at(-3), worse=3) == [0, 2, -1, -2, -3, -4, -5, -6]


def test_a_peak_between_the_first_two_is_found_from_either_side() -> None:
    higher = {0: 0.0, 1: 2.0, 2: 1.0, 3: 0.0, 4: -1.0, -1: -1.0}
    assert climbed(higher.__getitem__) == [0, 2, 3, 4, 1, -1]
    lower = {**higher, 2: -1.0, -2: -2.0}
    assert climbed(lower.__getitem__) == [0, 2, -1, -2, 1, 3]


def test_a_dip_of_one_step_does_not_end_it() -> None:
    dip = {0: 0.0, 2: 3.0, 3: 1.0, 4: 5.0, 5: 2.0, 6: 1.0, 1: -1.0}
    assert climbed(dip.__getitem__) == [0, 2, 3, 4, 5, 6]
    assert climbed(dip.__getitem__, worse=1) == [0, 2, 3, 1]


@given(st.integers(-7, 7), st.integers(0, 2**32), st.integers(1, 3))
def test_it_finds_the_peak_of_all_that_rises_and_falls_once(
    best: int, seed: int, worse: int
) -> None:
    drops = np.random.default_rng(seed).uniform(0.1, 9.0, 40)

    def scores(step: int) -> float:
        return -float(sum(drops[20 + min(best, step) : 20 + max(best, step)]))

    steps = climbed(scores, worse=worse, rungs=12)
    assert max(steps, key=scores) == best
    around = {best + side * far for side in (-1, 1) for far in range(1, worse + 1)}
    assert around <= set(steps), "the neighbours are known to be worse"
    assert len(steps) <= max(3 + 2 * worse, abs(best) + 2 + worse)


def test_equal_steps_are_not_taken() -> None:
    assert climbed(lambda step: 0.0) == [0, 2, -1, -2, 1]
    assert climbed(lambda step: float(min(step, 2))) == [0, 2, 3, 4, 1]


def test_where_all_have_failed_it_goes_down() -> None:
    assert climbed(lambda step: FAILED if step > -3 else -float(abs(step + 4))) == [
        *(0, 2, -1, -2, -3, -4, -5, -6)
    ]
    assert climbed(lambda step: FAILED, rungs=3) == [0, 2, -1, -2, -3]  # and no hint
    assert climbed(lambda step: FAILED, axis=Ordered(1.0, 2.0, 4.0, 8.0)) == [0, 2]


def test_what_lies_behind_a_failed_step_is_not_tried() -> None:
    assert climbed(lambda step: FAILED if step > 0 else float(step)) == [0, 2, -1, -2, 1]
    assert climbed(lambda step: FAILED if step > 2 else float(step)) == [0, 2, 3, 1]
    assert climbed(lambda step: FAILED if step == 0 else float(step), rungs=1) == [0, 1]


@pytest.mark.parametrize(
    ("values", "start", "steps"),
    [
        ([1.0, 2.0], 1.0, [0, 1]),
        ([0.5, 1.0], 1.0, [0, -1]),
        ([0.25, 0.5, 1.0], 1.0, [0, -1, -2]),
        ([0.5, 1.0, 2.0], 1.0, [0, 1, -1]),
        ([0.5, 1.0, 2.0, 4.0], 1.0, [0, 2, 1]),
        ([1.0], 1.0, [0]),
    ],
)
@pytest.mark.filterwarnings("ignore::dynhp.errors.Hint")
def test_at_the_ends_of_an_axis(values: Sequence[float], start: float, steps: list[int]) -> None:
    assert climbed(float, axis=Ordered(*values), start=start) == steps


def shortest(climb: Climb, known: Known, most: int) -> int:
    """The fewest tries after which a climb may end, whatever they score, up to a number."""
    wave = climb.propose(known, np.random.default_rng(0))
    if not wave or len(known.tries) >= most:
        return len(known.tries)
    able = sorted(try_.score for try_ in known.tries if try_.error is None)
    between = [(low + high) / 2 for low, high in pairwise(able)]
    for score in (None, *([able[0] - 1, *between, able[-1] + 1] if able else [0.0])):
        for second in (None, -9.0, 9.0) if len(wave) == 2 else (None,):
            scores = dict(zip(map(step_of, wave), (score, second), strict=False))
            more = [tried(candidate, scores.__getitem__) for candidate in wave]
            after = known._replace(tries=[*known.tries, *more])
            most = min(most, shortest(climb, after, most))
    return most


@pytest.mark.parametrize("worse", [1, 2, 3])
@pytest.mark.parametrize("length", range(2, 8))
@pytest.mark.filterwarnings("ignore::dynhp.errors.Hint")
def test_the_least_that_it_may_cost_is_what_the_shortest_climb_costs(
    length: int, worse: int
) -> None:
    space, climb = Space({"lr": Ordered(*(2.0**n for n in range(length)))}), Climb(worse=worse)
    starts = [Candidate({"lr": 2.0**n}) for n in range(length)]
    costs = [shortest(climb, Known(space=space, current=each), length) for each in starts]
    assert {sum(climb.waves(space, each).least) for each in starts} == {min(costs)}


@pytest.mark.parametrize("worse", [1, 2, 3])
@pytest.mark.parametrize("rungs", range(1, 6))
@pytest.mark.filterwarnings("ignore::dynhp.errors.Hint")
def test_so_it_is_on_a_ladder_without_ends(rungs: int, worse: int) -> None:
    space, climb = Space({"lr": Around(1.0, 2.0)}), Climb(rungs, worse)
    known = Known(space=space, current=Candidate({"lr": 1.0}))
    least = climb.waves(space, known.current).least
    assert sum(least) == shortest(climb, known, 1 + 2 * rungs)


@pytest.mark.parametrize("worse", [1, 2, 3])
@pytest.mark.filterwarnings("ignore::dynhp.errors.Hint")
def test_so_it_is_where_the_first_step_down_is_the_last(worse: int) -> None:
    axis = Around(6e-300, 2.0)
    space, climb = Space({"lr": axis}), Climb(worse=worse)
    assert axis.neighbors(axis.grid()[0], 9)[0] == 1.5e-300, "there are no smaller numbers"
    starts = [Candidate({"lr": each}) for each in axis.grid()]
    costs = [shortest(climb, Known(space=space, current=each), 17) for each in starts]
    assert {sum(climb.waves(space, each).least) for each in starts} == {min(costs)}


@pytest.mark.parametrize("start", [0.8, 1.0, 1.4])
def test_on_a_grid_with_an_anchor_it_begins_next_to_the_start(start: float) -> None:
    axis = Around(start, 2.0, anchor=1.0)
    assert climbed(peak_at(3), axis=axis, start=start) == climbed(peak_at(3))


def test_from_any_start_on_a_grid_with_an_anchor_it_ends_with_the_same_values() -> None:
    ends = set()
    for start in (0.03, 0.1, 0.4, 1.0, 1.7, 9.0):
        tries = climbed(peak_at(1), axis=Around(start, 2.0, anchor=1.0), start=start)
        ends.add((max(tries, key=peak_at(1)), *({-1, 0, 2, 3} & set(tries))))
    assert len(ends) == 1


# ---- when the end of a climb is no answer ----------------------------------------------------
def flat_above(top: int) -> Callable[[int], Sequence[float]]:
    """Losses that fall up to a step, and stay where they began above it."""
    return lambda step: [1.0, 0.9, 0.5 - 0.01 * step] if step <= top else [1.0, 1.1, 1.02]


def luck(step: int) -> float:
    """Scores of tries that have learnt nothing above -2: a peak at 2, by luck."""
    if step > -2:
        return -1.02 + (0.01 if step == 2 else 0.0)
    return -0.5 + 0.01 * step


def test_a_peak_of_tries_that_learnt_nothing_sends_it_down() -> None:
    learns = lowest("loss")
    steps = climbed(luck, learns=learns, series=flat_above(-2))
    assert steps == [0, 2, 3, 4, 1, -1, -2, -3, -4]
    assert climbed(luck) == [0, 2, 3, 4, 1], "without it, luck is taken"


def test_tries_that_learn_nothing_anywhere_get_a_hint() -> None:
    with warns(Hint):
        climbed(lambda step: -1.0 - abs(step), rungs=3, learns=lowest("loss"),
                series=lambda step: [1.0, 1.0, 1.0])  # fmt: skip


def test_what_is_within_the_noise_of_the_last_third_is_not_learnt() -> None:
    def noisy(step: int) -> Sequence[float]:
        return [1.0, *[1.0] * 5, 0.2, 1.7, 0.9]  # the mean is below the first, by luck

    with warns(Hint):
        climbed(lambda step: -1.0 - abs(step), rungs=2, learns=lowest("loss"), series=noisy)


@pytest.mark.parametrize(
    "losses",
    [
        pytest.param([1.0, 1.1], id="the shortest series in which something can be learnt"),
        pytest.param([1.0, 1.0, 1.0, 1.0, 0.2, 1.7], id="a last third of two, and their noise"),
        pytest.param([1.0, *[1.5] * 6, 0.5, 0.5], id="a last third of three, and no fewer"),
    ],
)
def test_what_has_not_learnt_gets_a_hint(losses: Sequence[float]) -> None:
    assert hints(series=lambda step: losses) == 1


def hints(
    series: Callable[[int], Sequence[float]] | None = None,
    *,
    scores: Scores = lambda step: -1.0 - abs(step),
    learns: Criterion = LOSS,
    axis: Axis | None = None,
    worse: int = 2,
) -> int:
    """How many hints a climb gives."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        climbed(scores, learns=learns, series=series, rungs=3, axis=axis, worse=worse)
    return sum(issubclass(each.category, Hint) for each in caught)


def test_each_search_without_an_answer_gets_a_hint_of_its_own() -> None:
    searches: list[dict[str, Any]] = [
        {"series": lambda step: [1.0, 1.0, 1.0]},
        {"scores": peak_at(9)},
        {"scores": lambda step: TWO_PEAKS.get(step, -1.0), "worse": 3},
    ]
    for search in searches:
        assert [hints(**search), hints(**search)] == [1, 1]


def test_all_that_scores_the_same_gets_one_hint_however_many_tries_there_were() -> None:
    dynhp.errors._given.clear()
    assert [hints(scores=lambda step: 0.5), hints(scores=lambda step: 0.5)] == [1, 0]
    few = Ordered(0.5, 1.0, 2.0)
    assert hints(scores=lambda step: 0.5, axis=few) == 0, "the level was said, with more tries"
    assert hints(scores=lambda step: 0.75, axis=few) == 1
    assert hints(scores=lambda step: 0.875, axis=Ordered(1.0, 2.0)) == 0, "two may be equal"


class AtTheBegin:
    """The loss as a criterion that knows when it is asked."""

    metrics = ("loss",)

    def __call__(self, series: Sequence[Metrics], progress: Progress) -> float:
        assert (len(series), progress.epoch) == (1, 0)
        return -series[0]["loss"]


def test_each_epoch_of_a_try_is_judged_by_itself_whatever_the_run() -> None:
    assert hints(series=lambda step: [1.0, 0.8, 0.5], learns=AtTheBegin()) == 0
    assert hints(series=lambda step: [1.0, 1.0, 1.0], learns=AtTheBegin()) == 1


@pytest.mark.filterwarnings("error")
def test_what_has_learnt_gets_no_hint() -> None:
    climbed(peak_at(1), learns=lowest("loss"), series=lambda step: [1.0, 0.8, 0.5])
    climbed(peak_at(1), learns=highest("loss"), series=lambda step: [0.1, 0.4, 0.5])
    noise = [*[1.0] * 6, 0.5, 0.7, 0.9]  # twice what the mean of the last three is known by
    climbed(peak_at(1), learns=lowest("loss"), series=lambda step: noise)


@pytest.mark.parametrize("best", [9, -9])
def test_the_last_step_of_a_side_gives_a_hint(best: int) -> None:
    with warns(Hint):
        steps = climbed(peak_at(best), rungs=3)
    assert steps == ([0, 2, 3, 1] if best > 0 else [0, 2, -1, -2, -3])


def test_scores_that_are_all_the_same_get_a_hint() -> None:
    with warns(Hint):
        assert climbed(lambda step: 0.25) == [0, 2, -1, -2, 1]


def test_two_peaks_get_a_hint() -> None:
    with warns(Hint):
        assert climbed(lambda step: TWO_PEAKS.get(step, -1.0), worse=3) == [0, 2, -1, -2, -3, 1, 3]


def test_the_other_peak_is_the_highest_of_the_others() -> None:
    heights = {0: 10.0, 1: 0.0, 2: 8.0, 3: 0.0, 4: 5.0, -1: 1.0, -2: 4.0}
    tries = {step: tried(Candidate({"lr": 2.0**step}), heights.get) for step in heights}
    assert second_peak(tries) == 2


@pytest.mark.filterwarnings("error")
def test_scores_that_are_no_numbers_have_no_peaks() -> None:
    assert climbed(lambda step: math.nan)[0] == 0


@pytest.mark.filterwarnings("error")
def test_a_small_bump_gets_none() -> None:
    bump = {0: 5.0, 1: 1.0, 2: 0.0, 3: 0.4, -1: 4.0, -2: 3.0}
    climbed(lambda step: bump.get(step, -1.0), worse=3)


@pytest.mark.filterwarnings("error")
def test_scores_that_differ_get_none() -> None:
    climbed(lambda step: 1.0 if step else 2.0)
