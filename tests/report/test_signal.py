"""Signal or noise: the headline, the one sentence of advice, and the saving that it names."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from dynhp import DynamicGridAdapter, Placebo, fixed
from dynhp.planning.budget import spent
from dynhp.records import Candidate, Round, Try
from dynhp.report import signal_of
from dynhp.report.page import ReportedRun, report_page
from dynhp.testing import NoisyQuadratic, Quadratic


def rounds_of(
    chosen: Sequence[float], scores: Sequence[Mapping[float, float]], *, first: float = 1.0
) -> list[Round]:
    """Rounds of ten epochs with tries of two, which keep these values."""
    history, before = [], first
    for index, (value, by_value) in enumerate(zip(chosen, scores, strict=True)):
        tries = tuple(
            Try(candidate=Candidate({"lr": rate}), series=({"m": s}, {"m": s}), epochs=2, score=s)
            for rate, s in by_value.items()
        )
        history.append(
            Round(
                index=index,
                start=10 * index,
                epochs=10,
                previous=Candidate({"lr": before}),
                tries=tries,
                chosen=list(by_value).index(value),
                reason="as asked",
                metrics={},
            )
        )
        before = value
    return history


CLEAR = {1.0: 0.0, 2.0: 1.0, 3.0: 2.0}


def level(n: int, best: float, rest: float = 0.0) -> dict[float, float]:
    """Scores of three values, one of which is far better; a little noise in all."""
    return {v: 5.0 * (v == best) + rest * v + 0.01 * math.sin(7 * n + v) for v in (1.0, 2.0, 3.0)}


def test_nothing_and_nothing_tried() -> None:
    assert signal_of([]).headline == "Nothing has been recorded yet."
    alone = signal_of(fixed(Quadratic(), {"lr": 0.1}, epochs=6))
    untried = [
        Round(index=0, start=0, epochs=6, previous=Candidate({"lr": 1}), tries=(), chosen=-1,
              reason="", metrics={})
    ]  # fmt: skip
    assert signal_of(untried).headline == "No round was due: 6 epochs, nothing tried."
    assert signal_of(untried).saving == alone.saving == 0


def test_a_value_that_has_settled_names_what_later_rounds_cost() -> None:
    history = rounds_of([3.0] * 9, [level(n, 3.0) for n in range(9)])
    signal = signal_of(history)
    assert signal.luck.verdict == "effect"
    assert (
        signal.headline
        == "The values differ by more than luck: lr went from 1 to 3, the best on average."
    )
    assert signal.saving == sum(round_.overhead for round_ in history[1:]) == 8 * 4
    assert "since epoch 0: one round alone would have saved 32 epochs of 126." in signal.advice
    later = signal_of(rounds_of([1.0] * 2 + [3.0] * 9, [level(n, 3.0) for n in range(11)]))
    assert "since epoch 20: the first 3 rounds alone would have saved" in later.advice


def test_a_value_that_was_never_left() -> None:
    signal = signal_of(rounds_of([3.0] * 9, [level(n, 3.0) for n in range(9)], first=3.0))
    assert signal.headline == "The values differ by more than luck: lr=3 stayed the best."
    assert "has not changed at all: one round alone" in signal.advice
    assert signal.returns == 0


def test_where_no_change_was_clear_of_the_noise_it_does_not_say_that_they_were() -> None:
    chosen = [1.0, 1.0, 2.0, 2.0, 1.0, 1.0, 2.0, 2.0, 2.0]
    scores = [level(n, 9.0, 0.0) | {3.0: -5.0 + 0.01 * math.sin(n)} for n in range(9)]
    signal = signal_of(rounds_of(chosen, scores))
    assert (signal.luck.verdict, signal.luck.changes, signal.luck.clear) == ("effect", 3, 0)
    assert signal.headline == (
        "Some values are worse by more than luck; the changes made (lr went from 1 to 2) are not "
        "clear of the noise."
    )


def test_the_headline_names_the_best_on_average_where_the_last_round_chose_another() -> None:
    scores = [{1.0: 0.0, 2.0: 1.0 + 0.1 * (n % 2), 3.0: -1.0 + 2.5 * (n == 8)} for n in range(9)]
    signal = signal_of(rounds_of([2.0] * 8 + [3.0], scores))
    assert signal.luck.verdict == "effect"
    assert signal.headline == (
        "The values differ by more than luck: lr=2 is the best on average; lr went from 1 to 3."
    )


def test_a_winner_that_was_corrected_is_not_the_value_that_the_run_went_to() -> None:
    history = rounds_of([3.0] * 9, [level(n, 3.0) for n in range(9)])
    corrected = [replace(each, corrected=Candidate({"lr": 2.0})) for each in history]
    assert signal_of(corrected).headline == (
        "The values differ by more than luck: lr=3 is the best on average; lr went from 1 to 2."
    )


def test_a_model_that_converges_is_not_called_luck() -> None:
    """Its values differ less and less, in the same order: nothing about it is random."""
    adapter = DynamicGridAdapter(
        Quadratic(), {"lr": [0.003, 0.01, 0.03]}, minimize="loss", adapt_every=10, try_for=5
    )
    signal = signal_of(adapter.run(40))
    assert signal.verdict == "effect"
    assert signal.headline.startswith("The values differ by more than luck: lr went from 0.01 to")


def test_one_round_that_stands_out_is_neither_luck_nor_an_effect() -> None:
    scores = [{1.0: 0.0, 2.0: -9.0, 3.0: 9.0}]
    scores += [{v: 0.001 * math.sin(7 * n + 3 * v) for v in (1.0, 2.0, 3.0)} for n in range(4)]
    signal = signal_of(rounds_of([3.0, 1.0, 2.0, 1.0, 3.0], scores))
    assert signal.verdict == "unknown"
    assert signal.headline == (
        "One round alone tells the values apart: luck, or an effect that is gone later."
    )
    assert "In one round the values differ far more than in all others" in str(signal.luck)
    assert "Leave it" not in signal.advice


def test_changes_that_are_taken_back() -> None:
    back = [1.0 if n % 2 else 3.0 for n in range(12)]
    signal = signal_of(rounds_of(back, [level(n, value) for n, value in enumerate(back)]))
    assert signal.luck.verdict == "effect"
    assert signal.headline == "The values differ by more than luck: all came back to lr=1."
    assert signal.returns == 11
    assert signal.advice.startswith("11 of 12 changes were taken back: adapting half as often")
    assert signal.saving == 6 * 4


def walk(values: Sequence[float], all_values: Sequence[float]) -> list[Round]:
    scores = [
        {v: 0.1 * (v == best) + 3.0 * v + 0.01 * math.sin(7 * n + v) for v in all_values}
        for n, best in enumerate(values)
    ]
    return rounds_of(values, scores)


def test_values_that_never_came_first_and_none_of_them() -> None:
    up = [1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 4.0, 4.0, 5.0]
    signal = signal_of(walk(up, [1.0, 2.0, 3.0, 4.0, 5.0, 9.0]))
    assert signal.advice == (
        "lr=9 never came first: leaving it out would have saved 18 epochs of 180."
    )
    many = signal_of(walk(up, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]))
    assert "and 1 more never came first: leaving them out" in many.advice
    none = signal_of(walk(up, [1.0, 2.0, 3.0, 4.0, 5.0]))
    assert none.advice.startswith("Every value was chosen at some time")
    assert none.saving == 9 * 8 // 2
    few = signal_of(walk([5.0, 5.0, 5.0], [1.0, 2.0, 3.0, 4.0, 5.0]))  # too few to name idle ones
    assert few.advice.startswith("Rounds twice as long would save about")


def test_a_winner_that_was_corrected_did_come_first() -> None:
    up = [1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 4.0, 4.0, 5.0]
    history: list[Round] = []
    for round_ in walk(up, [1.0, 2.0, 3.0, 4.0, 5.0, 9.0]):
        before = history[-1].candidate if history else round_.previous
        taken = Candidate({"lr": 0.125 * round_.winner.candidate["lr"]})  # type: ignore[operator]
        history.append(replace(round_, previous=before, corrected=taken))
    assert signal_of(history).advice.startswith("lr=9 never came first")


def noisy(**settings: Any) -> list[Round]:
    adapter = DynamicGridAdapter(
        NoisyQuadratic(noise=2.0, seed=1), {"lr": [0.01, 0.011, 0.012]}, minimize="loss",
        adapt_every=5, try_for=1, initial={"lr": 0.011}, **settings,
    )  # fmt: skip
    return list(adapter.run(100))


def test_on_noise_it_says_leave_it_and_what_that_saves() -> None:
    history = noisy()
    signal = signal_of(history)
    assert signal.luck.verdict == "luck"
    assert signal.headline.startswith("The tries do not tell the values apart")
    assert signal.saving == spent(history).overhead
    assert signal.advice.endswith(f"would have saved {signal.saving} epochs of 142.")


def test_a_placebo_tries_one_value_and_its_candidates_spread_as_equal_ones_do() -> None:
    history = noisy(proposer=Placebo(3))
    signal = signal_of(history)
    assert signal.headline == "Only one value was tried: lr=0.011."
    assert signal.advice.endswith(f"would have saved {spent(history).overhead} epochs of 142.")
    assert signal.ratio is not None
    assert 0.5 < signal.ratio < 2


def test_a_rescue_is_told_as_one() -> None:
    scores = {1.0: math.nan, 2.0: 1.0, 3.0: 2.0}
    broken = [replace(each, rescue=True) for each in rounds_of([3.0], [scores])]
    once = signal_of(broken)
    assert once.headline == "The main line broke once and was rescued: lr went from 1 to 3."
    assert once.advice == (
        "Begin with lr=3 the next time: where nothing breaks, that saves 4 epochs of 14."
    )
    assert once.saving == 4
    twice = [replace(each, rescue=True) for each in rounds_of([1.0] * 2, [{1.0: 0.0}] * 2)]
    assert signal_of(twice).headline == "The main line broke 2 times and was rescued: lr=1 stayed."


def test_a_rescue_among_other_rounds_does_not_hide_what_these_say() -> None:
    history = rounds_of([3.0] * 9, [level(n, 3.0) for n in range(9)])
    history[4] = replace(history[4], rescue=True)
    signal = signal_of(history)
    assert signal.headline == (
        "The main line broke once and was rescued. The values differ by more than luck: lr went "
        "from 1 to 3, the best on average."
    )
    assert "one round alone" in signal.advice


def test_a_search_with_a_correction_says_what_was_best_and_what_was_taken() -> None:
    history = rounds_of([3.0], [CLEAR])
    signal = signal_of([replace(history[0], corrected=Candidate({"lr": 0.9}))])
    assert signal.luck.verdict == "unknown"
    assert signal.headline == "The best try was lr=3; lr=0.9 was taken."
    assert signal.advice == (
        "A run that begins with lr=0.9 can do without the search, which cost 4 epochs of 14."
    )
    assert signal.saving == spent(history).overhead


def test_with_too_little_it_says_so() -> None:
    signal = signal_of(rounds_of([2.0, 3.0], [{1.0: 0.0, 2.0: 1.0}, {2.0: 0.0, 3.0: 0.5}]))
    assert signal.luck.verdict == "unknown"
    assert signal.headline == "Too little was tried to tell luck from an effect."
    assert signal.advice.startswith("Compare with a run that adapts nothing")
    assert signal.ratio is None


@pytest.mark.parametrize("effect", [1.0, 10.0])
def test_the_ratio_grows_with_the_effect(effect: float) -> None:
    scores = [
        {v: effect * v + 0.1 * math.sin(11 * n + 5 * v) for v in (1.0, 2.0)} for n in range(40)
    ]
    ratio = signal_of(rounds_of([2.0] * 40, scores)).ratio
    assert ratio is not None
    assert ratio == pytest.approx(effect / math.sqrt(2) / 0.07, rel=0.5)


def noise(n: int) -> dict[float, float]:
    """Scores of nine values that differ by noise alone."""
    rng = random.Random(200 + n)
    return {float(v): rng.gauss(0.0, 1.0) for v in range(1, 10)}


@pytest.mark.parametrize("rounds", [2, 3, 4, 12])
def test_a_short_run_is_not_accused_of_luck(rounds: int) -> None:
    history = rounds_of([2.0] * rounds, [noise(n) for n in range(rounds)])
    signal = signal_of(history)
    assert signal.luck.verdict == "luck"
    assert signal.luck.missed < 0.05
    short = rounds < 4
    assert signal.verdict == ("unknown" if short else "luck")
    assert signal.headline.startswith("Too little was tried" if short else "The tries do not tell")
    assert signal.advice.startswith("Compare with a run" if short else "Leave it at lr=1:")
    page = report_page([ReportedRun(name="run", history=history)], title="Run")
    assert ("<dd>cannot tell<" in page) is short
    assert ("<dd>noise<" in page) is not short


def test_nor_where_the_luck_report_would_miss_a_large_effect() -> None:
    scores = [{1.0: 0.0, 2.0: 1.0, 3.0: -1.0}, {1.0: 0.0, 2.0: -1.0, 3.0: 1.0}] * 2
    unsure = signal_of(rounds_of([2.0, 3.0] * 2, scores))
    unsure = replace(unsure, luck=replace(unsure.luck, chance=1.0, missed=0.3))
    assert (unsure.luck.verdict, unsure.verdict) == ("luck", "unknown")


def test_equal_scores_are_luck_however_few() -> None:
    signal = signal_of(rounds_of([2.0] * 2, [{1.0: 0.5, 2.0: 0.5, 3.0: 0.5}] * 2))
    assert signal.luck.equal
    assert signal.verdict == signal.luck.verdict == "luck"
    assert signal.advice.startswith("Leave it at lr=1")


def test_an_effect_is_told_however_few_rounds_show_it() -> None:
    signal = signal_of(rounds_of([3.0] * 3, [level(n, 3.0) for n in range(3)]))
    assert signal.verdict == signal.luck.verdict == "effect"
