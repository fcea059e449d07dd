"""Selection: which try is kept, which go on, and how much of a gain is noise."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynhp import Best, BestByMargin, Racing
from dynhp.errors import SettingsError
from dynhp.records import Candidate, Round, Try
from dynhp.records.noise import paired_noise
from dynhp.selection import Selection, Stage, by_score, reason
from tests.support.kinds import SELECTIONS
from tests.support.messages import raises


def at(value: Any) -> Candidate:
    return Candidate({"x": value})


def try_(value: Any, score: float, error: str | None = None, *, epochs: int = 1) -> Try:
    return Try(candidate=at(value), series=(), epochs=epochs, score=score, error=error)


def tries_of(*scores: float) -> list[Try]:
    """Tries at 0, 1, 2, ... with these scores; the value in force is 0."""
    return [try_(value, score) for value, score in enumerate(scores)]


def round_of(previous: Any, tries: list[Try], chosen: int = 0) -> Round:
    return Round(
        index=0,
        start=0,
        epochs=1,
        previous=at(previous),
        tries=tuple(tries),
        chosen=chosen,
        reason="",
        metrics={},
    )


def winner(selection: Selection, tries: list[Try], history: list[Round] | None = None) -> int:
    return selection.ranking(history or [], at(0))(tries)[0]


scores = st.sampled_from([0.0, 0.25, 0.5, 1.0, -1.0, math.nan, math.inf, -math.inf]) | st.floats(
    -2, 2
)
all_tries = st.lists(st.tuples(scores, st.booleans() | st.just(False)), min_size=1, max_size=7).map(
    lambda pairs: [
        try_(value, score, "E: failed" if failed else None)
        for value, (score, failed) in enumerate(pairs)
    ]
)
margins = st.sampled_from([0.0, 0.1, 0.25, 1.0]) | st.floats(0, 3)


# Best


@pytest.mark.parametrize(
    ("scored", "best"),
    [
        ((0.1, 0.3, 0.2), 1),
        ((0.3, 0.3, 0.3), 0),
        ((0.1, 0.3, 0.3), 1),
        ((math.nan, -5.0), 1),
        ((math.inf, 0.0), 1),
        ((-math.inf, -1e300), 1),
        ((math.nan, math.nan), 0),
        ((0.0, -0.0), 0),
    ],
)
def test_best_is_the_first_of_the_highest_and_not_finite_is_worst(
    scored: tuple[float, ...], best: int
) -> None:
    assert winner(Best(), tries_of(*scored)) == best
    assert winner(Racing(), tries_of(*scored)) == best


@given(all_tries)
def test_the_order_is_by_score_first_of_equals_first_without_the_failed(tries: list[Try]) -> None:
    order = by_score(tries)
    assert sorted(order) == [i for i, each in enumerate(tries) if each.error is None]
    for before, after in itertools.pairwise(order):
        higher, lower = tries[before].rank_key, tries[after].rank_key
        assert higher > lower or (higher == lower and before < after)
    assert Best().ranking([], at(0))(tries) == order


def test_a_failed_try_is_behind_even_what_is_not_finite() -> None:
    assert by_score([try_(0, 9.0, "E: failed"), try_(1, math.nan)]) == [1]
    assert by_score([try_(0, 9.0, "E: failed")]) == []


# Racing


def running_tries(selection: Selection, tries: int, epochs: int) -> list[int]:
    """How many train in each epoch."""
    numbers: list[int] = []
    for stage in selection.stages(tries, epochs):
        numbers += [tries] * stage.epochs
        tries = min(tries, stage.keep)
    assert tries == 1
    return numbers


@pytest.mark.parametrize(
    ("keep", "tries", "epochs", "expected"),
    [
        (0.5, 5, 5, [5, 3, 2, 1, 1]),
        (0.5, 6, 5, [6, 3, 2, 1, 1]),
        (0.5, 8, 5, [8, 4, 2, 1, 1]),
        (0.5, 9, 2, [9, 5]),
        (0.5, 9, 1, [9]),
        (0.5, 1, 4, [1, 1, 1, 1]),
        (0.5, 2, 3, [2, 1, 1]),
        (0.07, 100, 3, [100, 7, 1]),  # in binary, 100 * 0.07 is 7.000000000000001
        (0.28, 25, 2, [25, 7]),
        (0.3, 10, 4, [10, 3, 1, 1]),
        (0.1, 30, 3, [30, 3, 1]),
        (0.7, 10, 5, [10, 7, 5, 4, 3]),
        (1 / 3, 9, 4, [9, 3, 1, 1]),
        (0.9, 3, 5, [3, 3, 3, 3, 3]),  # rounded up, three are never fewer: all finish
        (0.01, 50, 3, [50, 1, 1]),
    ],
)
def test_racing_counts_who_trains_in_each_epoch(
    keep: float, tries: int, epochs: int, expected: list[int]
) -> None:
    assert running_tries(Racing(keep), tries, epochs) == expected


def test_racing_five_for_five_epochs_costs_twelve() -> None:
    assert sum(running_tries(Racing(), 5, 5)) == 12
    assert Racing().stages(5, 5) == (Stage(1, 3), Stage(1, 2), Stage(1, 1), Stage(2, 1))


def test_racing_can_wait_for_some_epochs_before_it_halves() -> None:
    expected = (Stage(12, 3), Stage(12, 2), Stage(12, 1), Stage(26, 1))
    assert Racing(every=12).stages(5, 62) == expected
    assert Racing(every=5).stages(5, 5) == (Stage(5, 1),)  # all are compared at the end
    assert Racing(every=4).stages(5, 5) == (Stage(4, 3), Stage(1, 1))


@pytest.mark.parametrize("arguments", [{"keep": 1}, {"every": 0}])
def test_a_race_that_cannot_be_is_refused(arguments: Any) -> None:
    with raises(SettingsError):
        Racing(**arguments)


@given(st.floats(0.01, 0.99), st.integers(1, 60), st.integers(1, 12))
def test_racing_trains_the_survivor_for_all_epochs(keep: float, tries: int, epochs: int) -> None:
    stages = Racing(keep).stages(tries, epochs)
    assert sum(stage.epochs for stage in stages) == epochs
    assert all(stage.epochs > 0 for stage in stages)
    assert stages[-1].keep == 1
    numbers = running_tries(Racing(keep), tries, epochs)
    assert numbers[0] == tries
    for before, after in itertools.pairwise(numbers):
        # The better part and no more, rounded up; at least one.
        assert after == max(1, math.ceil(round(before * keep, 9)))


@given(st.integers(1, 9), st.integers(1, 9))
def test_the_others_run_all_tries_to_the_end(tries: int, epochs: int) -> None:
    for selection in (Best(), BestByMargin(delta=0.1)):
        assert running_tries(selection, tries, epochs) == [tries] * epochs


# BestByMargin


@pytest.mark.parametrize(
    ("delta", "scored", "best"),
    [
        (0.1, (0.5, 0.55), 0),
        (0.1, (0.5, 0.65), 1),
        (0.25, (0.5, 0.75), 0),  # a gain of exactly delta is not above it
        (0.0, (0.5, 0.5000001), 1),
        (0.0, (0.5, 0.5), 0),
        (0.1, (0.5, 0.55, 0.7, 0.65), 2),
        (0.1, (math.nan, 0.0), 1),
        (0.1, (math.nan, math.nan), 0),
        (0.1, (0.5, math.inf), 0),
    ],
)
def test_the_value_in_force_is_left_only_for_more_than_delta(
    delta: float, scored: tuple[float, ...], best: int
) -> None:
    assert winner(BestByMargin(delta=delta), tries_of(*scored)) == best


def test_where_the_value_in_force_failed_the_best_is_kept() -> None:
    tries = [try_(0, 0.5, "E: failed"), try_(1, 0.1), try_(2, 0.2)]
    assert BestByMargin(delta=9).ranking([], at(0))(tries) == [2, 1]


@given(all_tries, margins)
def test_the_margin_orders_all_that_did_not_fail(tries: list[Try], delta: float) -> None:
    order = BestByMargin(delta=delta).ranking([], at(0))(tries)
    assert sorted(order) == sorted(by_score(tries))
    rest = [place for place in order[1:] if tries[place].candidate != at(0)]
    assert rest == [place for place in by_score(tries) if place in rest]


def test_among_copies_of_the_value_in_force_one_that_clears_the_margin_is_kept() -> None:
    # A placebo: whatever is kept, the value is not left; the first copy is what must be beaten.
    tries = [try_(0, 0.0), try_(0, 1.0), try_(0, 0.9)]
    assert BestByMargin(delta=0.5).ranking([], at(0))(tries)[0] == 1


noisy_history = [
    # The gain of 1 over 0 is 0.1, 0.3, 0.1: jumps of 0.2 and 0.2, so sqrt(0.04 / 2).
    round_of(0, tries_of(0.5, 0.6)),
    round_of(0, tries_of(0.7, 1.0)),
    round_of(0, tries_of(0.2, 0.3)),
]


def test_paired_noise_by_hand() -> None:
    assert paired_noise(noisy_history) == pytest.approx(math.sqrt(0.02))
    # Another candidate's gains over 0: 0.0, then 0.6: half the square is 0.18.
    more = [
        round_of(0, tries_of(0.5, 0.6, 0.5)),
        round_of(0, tries_of(0.7, 1.0, 1.3)),
        round_of(0, tries_of(0.2, 0.3)),
    ]
    assert paired_noise(more) == pytest.approx(math.sqrt((0.02 + 0.02 + 0.18) / 3))


def test_paired_noise_needs_one_pair_twice() -> None:
    assert paired_noise([]) == 0.0
    assert paired_noise(noisy_history[:1]) == 0.0
    # The gain of 1 over 0 and the gain of 0 over 1 are different things.
    assert paired_noise([noisy_history[0], round_of(1, tries_of(9.0, 0.6))]) == 0.0
    # So are the gains of 2 over 0 and over 1.
    assert paired_noise([round_of(i, [try_(i, 0.5), try_(2, i)]) for i in (0, 1)]) == 0.0


def test_paired_noise_leaves_out_what_failed_or_is_not_finite() -> None:
    broken = [
        round_of(0, [try_(0, 0.5), try_(1, 7.0, "E: failed")]),
        round_of(0, tries_of(0.5, math.nan)),
        round_of(0, tries_of(math.nan, 0.5)),
        round_of(0, [try_(1, 0.5), try_(2, 0.5)]),  # the value in force was not tried
    ]
    assert paired_noise(broken) == 0.0
    assert paired_noise([*noisy_history[:2], *broken, noisy_history[2]]) == pytest.approx(
        math.sqrt(0.02)
    )


@pytest.mark.parametrize("noise", [0.01, 0.5])
def test_paired_noise_finds_the_noise_under_drift_and_common_luck(noise: float) -> None:
    rng = np.random.default_rng(0)
    history = []
    for i in range(400):
        common, drift = 10 * rng.normal(), noise * i / 100  # what is best changes slowly
        differences = drift * np.arange(1, 5) + noise * rng.normal(size=4)
        history.append(round_of(0, tries_of(common, *(common + differences))))
    assert paired_noise(history) == pytest.approx(noise, rel=0.07)


def test_a_multiple_of_the_noise_is_a_margin_too() -> None:
    spread = math.sqrt(0.02)
    above, below = tries_of(0.5, 0.5 + 2.01 * spread), tries_of(0.5, 0.5 + 1.99 * spread)
    selection = BestByMargin(noise=2)
    assert winner(selection, above, noisy_history) == 1
    assert winner(selection, below, noisy_history) == 0
    assert winner(selection, below) == 1  # nothing seen yet, and delta is 0
    # The larger of both margins counts, not their sum.
    assert winner(BestByMargin(noise=2, delta=0.01), above, noisy_history) == 1
    assert winner(BestByMargin(noise=2, delta=0.5), above, noisy_history) == 0
    assert winner(BestByMargin(noise=2, delta=0.01), below, noisy_history) == 0


selections: st.SearchStrategy[Any] = (
    st.just(Best())
    | st.just(Racing())
    | st.builds(lambda d: BestByMargin(delta=d), margins)
    | st.builds(lambda n: BestByMargin(noise=n), margins)
)


@given(all_tries, selections, st.booleans())
def test_losers_can_be_forgotten_as_they_come(
    tries: list[Try], selection: Selection, copies: bool
) -> None:
    """A round keeps the best state so far, and the record of the value in force: as contracted."""
    if copies:
        tries = [try_(0, each.score, each.error) for each in tries]
    rank = selection.ranking(noisy_history, at(0))
    kept: list[Try] = []
    seen: list[int] = []
    for i, each in enumerate(tries):
        in_force = [tries[0]] if i and tries[0] not in kept else []
        compared = [*in_force, *kept, each]
        kept = [compared[place] for place in rank(compared)[:1]]
        front = rank(tries[: i + 1])[:1]
        assert all(place == i or place in seen for place in front)  # none comes back
        seen = list(front)
    assert kept == [tries[place] for place in rank(tries)[:1]]


@given(all_tries, st.integers(1, 4))
def test_the_leaders_of_a_race_can_be_kept_as_they_come(tries: list[Try], keep: int) -> None:
    kept: list[Try] = []
    for each in tries:
        compared = [*kept, each]
        kept = [compared[place] for place in by_score(compared)[:keep]]
    assert kept == [tries[place] for place in by_score(tries)[:keep]]


# The reason


@pytest.mark.parametrize(
    ("tries", "chosen", "expected"),
    [
        ([try_(0, 0.5)], 0, "the only candidate"),
        (tries_of(0.5, 0.4), 0, "the value in force scored best"),
        (tries_of(0.5, 0.75), 0, "the gain of 0.25 did not clear the margin"),
        (tries_of(0.5, 0.75), 1, "scored 0.25 above the value in force"),
        ([try_(1, 0.5), try_(2, 0.6), try_(3, 0.1)], 1, "scored best of 3"),
        (
            [try_(0, math.nan, "ValueError: no"), try_(1, 0.5)],
            1,
            "the value in force failed: ValueError: no",
        ),
        (
            [try_(0, 0.9, epochs=1), try_(1, 0.5, epochs=3)],
            1,
            "the value in force was overtaken earlier",
        ),
        ([try_(0, 0.5, epochs=3), try_(1, 0.9, epochs=1)], 0, "the value in force scored best"),
        ([try_(0, 0.5), try_(1, 0.9, "E: late")], 0, "the value in force scored best"),
    ],
)
def test_the_reason_in_a_few_words(tries: list[Try], chosen: int, expected: str) -> None:
    assert reason(tries, chosen, at(0)) == expected


@settings(max_examples=25)
@given(all_tries, selections)
def test_every_choice_has_a_reason(tries: list[Try], selection: Selection) -> None:
    for place in selection.ranking([], at(0))(tries)[:1]:
        assert reason(tries, place, at(0))


@pytest.mark.parametrize("selection", SELECTIONS)
def test_each_is_a_selection(selection: object) -> None:
    assert isinstance(selection, Selection)
