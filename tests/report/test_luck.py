"""The luck report: silent where a value is better, and only there."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dynhp import Best, DynamicGridAdapter, Placebo, Racing, lowest, random_search
from dynhp.records import Candidate, History, Round, Try
from dynhp.records.noise import comparable_scores
from dynhp.report import luck_of
from dynhp.report.evidence import LEVEL, _again, evidence_of
from dynhp.report.luck import MISSED, Luck
from dynhp.report.student import missed_share, t_tail
from dynhp.testing import NoisyQuadratic, Quadratic

THE_SAME = "All tries of a round scored the same: a choice between them is luck."


class Trend:
    """A loss with a trend of 1 per epoch and noise of 0.01; one value is better by ``effect``.

    Which one it is changes from round to round.
    """

    def __init__(self, effect: float, trend: float) -> None:
        self.effect, self.trend = effect, trend
        self.rng = np.random.default_rng(0)
        self.epochs, self.gained, self.noise = 0, 0.0, 0.0

    def get_state(self) -> Any:
        return self.rng.bit_generator.state, self.epochs, self.gained, self.noise

    def set_state(self, state: Any) -> None:
        self.rng.bit_generator.state, self.epochs, self.gained, self.noise = state

    def reseed(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def train_k(self, k: int, hyperparameters: Mapping[str, Any]) -> None:
        best = [0.003, 0.3][(self.epochs // 10) % 2]
        for _ in range(k):
            self.epochs += 1
            self.gained += self.effect * (hyperparameters["lr"] == best)
            self.noise = 0.01 * self.rng.normal()

    def metrics(self) -> dict[str, float]:
        return {"loss": 1000 + self.trend * self.epochs - self.gained + self.noise}


@pytest.mark.parametrize("selection", [Best(), Racing()])
@pytest.mark.parametrize("effect", [0.0, 0.05])
@pytest.mark.parametrize("trend", [-1, 1])
def test_tries_of_different_length_are_not_compared(
    trend: float, effect: float, selection: Any
) -> None:
    """The noise of a paired difference is 0.014; training progress is a hundred times that."""
    adapter = DynamicGridAdapter(
        Trend(effect, trend),
        {"lr": [0.003, 0.03, 0.3]},
        criterion=lowest("loss"),
        adapt_every=10,
        try_for=5,
        selection=selection,
        randomness="independent",
    )
    verdict = luck_of(adapter.run(200))
    assert 0.007 < verdict.noise < 0.028
    assert ("luck" in str(verdict)) == (effect == 0)
    assert (2 * verdict.clear > verdict.changes) == (effect > 0)


def a_try(value: int, score: float, epochs: int = 1, **fields: Any) -> Try:
    return Try(candidate=Candidate({"x": value}), series=(), epochs=epochs, score=score, **fields)


def a_history(*rows: Mapping[int, float]) -> History:
    rounds = []
    for index, scores in enumerate(rows):
        tries = tuple(a_try(value, score) for value, score in scores.items())
        chosen = max(range(len(tries)), key=lambda place: tries[place].score)
        rounds.append(
            Round(
                index=index,
                start=index,
                epochs=1,
                previous=rounds[-1].candidate if rounds else tries[0].candidate,
                tries=tries,
                chosen=chosen,
                reason="",
                metrics={},
            )
        )
    return History(tuple(rounds))


def test_the_chance_of_two_values_is_that_of_a_t_test() -> None:
    gains = [1.0, 2.0, 4.0, 3.0]
    history = a_history(*({1: 10.0 * i, 2: 10.0 * i + gain} for i, gain in enumerate(gains)))
    t = np.mean(gains) / (np.std(gains, ddof=1) / 2)
    assert evidence_of(history).chance == pytest.approx(2 * t_tail(t, 3))


def test_values_that_were_tried_in_some_rounds_only_are_adjusted_for() -> None:
    """By hand: 3 is compared with 2 alone, which is better than 1 by 1."""
    rows = [{1: 0.0, 2: 1.0}, {1: 5.0, 2: 6.1}, {2: 3.0, 3: 4.0}, {2: 7.0, 3: 8.1}]
    together = evidence_of(a_history(*rows)).chance
    assert together is not None
    assert together < 0.01
    again = evidence_of(a_history(*rows, {2: 0.0, 9: 50.0}))
    assert again.chance == together  # 9 was never seen again
    nothing_in_common = a_history(*rows[:1], {3: 1.0, 4: 2.0})
    assert evidence_of(nothing_in_common) == (None, 1.0, False, False)


def test_rounds_that_agree_to_the_last_digit_are_no_luck() -> None:
    assert evidence_of(a_history(*[{1: 0.0, 2: 1.0}] * 3)).chance == 0.0
    assert "luck" not in str(luck_of(a_history(*[{1: 0.0, 2: 1.0}] * 3)))


def test_where_all_tries_score_the_same_any_choice_is_luck() -> None:
    for score, rounds in [(0.5, 9), (0.1, 3), (0.1, 9)]:  # three times 0.1 is not 0.3 in floats
        verdict = luck_of(a_history(*[{1: score, 2: score, 3: score}] * rounds))
        assert (verdict.verdict, verdict.chance, verdict.equal) == ("luck", 1.0, True)
        assert str(verdict).endswith(f"{rounds} rounds. {THE_SAME}")


def test_rounds_of_equal_scores_put_the_values_in_no_order() -> None:
    rows = [[(value, 0.1) for value in range(3)]] * 9
    assert _again(rows) == 0.5


def test_a_chance_that_is_certain_does_not_mean_that_all_scored_the_same() -> None:
    """The chance is a sum over the values, cut at 1."""
    history = a_history({1: 0.0, 2: 1.0, 3: 2.0, 4: 3.0}, {1: 3.0, 2: 2.0, 3: 1.0, 4: 0.0})
    verdict = luck_of(history)
    assert (verdict.chance, verdict.noise, verdict.equal) == (1.0, 0.0, False)
    assert verdict.verdict == "luck"
    assert str(verdict).startswith(
        "The value changed in 2 of 2 rounds. The noise of such gains cannot be estimated from "
        "this run. The tries do not tell the values apart (p = 1): the choices may be luck."
    )
    assert str(replace(verdict, equal=True)) == f"The value changed in 2 of 2 rounds. {THE_SAME}"


def test_a_value_that_was_tried_once_can_differ_from_equal_ones() -> None:
    verdict = luck_of(a_history({1: 0.5, 2: 0.5}, {1: 0.5, 2: 0.5, 9: 0.7}))
    assert (verdict.chance, verdict.equal, verdict.verdict) == (1.0, False, "luck")
    assert THE_SAME not in str(verdict)


@pytest.mark.filterwarnings("ignore::dynhp.errors.Hint")
def test_short_runs_on_noise_are_not_said_to_have_equal_tries() -> None:
    for seed in range(12):
        adapter = DynamicGridAdapter(
            NoisyQuadratic(noise=1),
            {"lr": [0.01, 0.03, 0.1, 0.3]},
            criterion=lowest("loss"),
            adapt_every=2,
            try_for=1,
            randomness="independent",
            seed=seed,
        )
        verdict = luck_of(adapter.run(4))
        assert not verdict.equal
        assert THE_SAME not in str(verdict)


def test_a_best_value_that_changes_slowly_is_seen() -> None:
    rng = np.random.default_rng(0)
    rows = [{1: 5.0 * (i < 10), 2: 5.0 * (i >= 10)} for i in range(20)]
    noisy = [{value: score + rng.normal() for value, score in row.items()} for row in rows]
    assert "luck" not in str(luck_of(a_history(*noisy)))


def test_more_values_than_can_be_adjusted_for_leave_the_chance_open() -> None:
    wide = {value: float(value % 7) for value in range(700)}
    narrow = {value: score for value, score in wide.items() if value}
    assert evidence_of(a_history(wide, narrow, wide)).chance is None
    assert evidence_of(a_history(wide, wide, wide)).chance == 0.0


def test_a_race_is_compared_where_all_were_scored() -> None:
    (round_,) = a_history({1: 0.0})

    def scores(*tries: Try) -> list[float]:
        return [score for _, score in comparable_scores(replace(round_, tries=tries))]

    def raced(value: int, *losses: float, error: str | None = None, sign: float = -1) -> Try:
        series = tuple({"norm": 1.0, "loss": loss} for loss in losses)
        score = math.nan if error else sign * losses[-1]
        return replace(a_try(value, score, len(losses)), series=series, error=error)

    assert scores(raced(1, 4.0), raced(2, 3.0, 2.0, 1.0), raced(3, 3.5, 2.5)) == [-4, -3, -3.5]
    assert scores(raced(1, 4.0, 3.0), raced(2, 3.0, 2.0)) == [-3, -2]  # at the end of all
    failed = raced(3, 3.5, math.nan, error="loss is nan")
    assert scores(raced(1, 4.0), raced(2, 3.0, 2.0), failed) == [-4, -3, -3.5]
    assert scores(failed) == []
    # By a criterion that is no metric of the last epoch only equal lengths are compared.
    odd = [raced(i, *losses, sign=-2) for i, losses in enumerate([(4.0,), (3.0,), (3.0, 2.0)])]
    assert scores(*odd) == [-8, -6]
    assert scores(a_try(1, 0.5, 1), a_try(2, 0.5, 2)) == [0.5]  # nothing was measured


def test_what_it_says() -> None:
    assert str(luck_of([])) == "No rounds yet."
    known: dict[str, Any] = {"rounds": 5, "noise": 0.1}
    assert str(Luck(changes=2, clear=2, **known)) == (
        "The value changed in 2 of 5 rounds. In 2 of these the gain was clear of the noise (0.1)."
    )
    doubtful = (
        " The tries do not tell the values apart{}: the choices may be luck. Compare with a "
        "placebo before you believe them."
    )
    assert str(Luck(changes=2, clear=0, **known)).endswith(doubtful.format(""))
    assert str(Luck(changes=2, clear=2, chance=0.3, **known)).endswith(
        doubtful.format(" (p = 0.3)")
    )
    assert str(Luck(changes=0, clear=0, chance=0.3, **known)) == (
        "The value in force was kept in all 5 rounds." + doubtful.format(" (p = 0.3)")
    )
    assert "luck" not in str(Luck(changes=2, clear=0, chance=0.001, **known))


def test_between_luck_and_effect_there_is_a_third_answer() -> None:
    known: dict[str, Any] = {"rounds": 4, "changes": 2, "clear": 1, "noise": 0.1}
    few = Luck(chance=LEVEL, missed=0.123, **known)
    assert few.verdict == "unknown"
    assert str(few).endswith(
        " Too few rounds tried the same values to tell luck from an effect (p = 0.02): one of 5 "
        "times the noise would go unseen in 12 of 100 such runs. Compare with a placebo, or adapt "
        "in more rounds."
    )
    assert "luck" not in str(few).replace("luck from an effect", "")
    assert Luck(chance=LEVEL, missed=MISSED, **known).verdict == "luck"
    assert Luck(chance=0.9 * LEVEL, missed=0.5, **known).verdict == "effect"
    assert str(Luck(chance=0.9 * LEVEL, missed=0.5, **known)).endswith("noise (0.1).")
    assert Luck(chance=1.0, missed=0.5, **known).verdict == "luck"
    assert [Luck(**{**known, "clear": n}).verdict for n in (0, 1, 2)] == ["luck", *["effect"] * 2]
    assert Luck(**{**known, "noise": 0.0}).verdict == "unknown"
    assert Luck(**{**known, "changes": 0}).verdict == "unknown"


def test_two_rounds_of_two_values_can_tell_nothing() -> None:
    """One degree of freedom: even 30 times the noise would be no news."""
    verdict = luck_of(a_history({1: 0.0, 2: 3.0}, {1: 10.0, 2: 13.1}))
    assert verdict.verdict == "effect"  # by luck these two agree to 3 %
    verdict = luck_of(a_history({1: 0.0, 2: 3.0}, {1: 10.0, 2: 13.9}))
    assert verdict.chance == pytest.approx(2 * t_tail(3.45 / 0.45, 1))
    assert verdict.missed == pytest.approx(missed_share(5 * math.sqrt(2), 1, chance=LEVEL / 2))
    assert verdict.missed > 0.7
    assert verdict.verdict == "unknown"


def test_what_a_walk_may_miss_is_the_mean_over_the_values_that_may_be_the_better_one() -> None:
    """The same by hand: 3 was tried in two of the six rounds, and only beside 2."""
    rows = [{1: 0.0, 2: 1.0}, {1: 5.0, 2: 6.3}] * 2 + [{2: 3.0, 3: 3.5}, {2: 7.0, 3: 8.1}]
    evidence = evidence_of(a_history(*rows))
    # Effects are against the mean of all three, as least squares with a sum of 0 give them.
    design = np.zeros((12, 6 + 2))
    contrast = {1: [1.0, 0.0], 2: [0.0, 1.0], 3: [-1.0, -1.0]}
    for row, (number, value) in enumerate((n, v) for n, r in enumerate(rows) for v in r):
        design[row, number] = 1
        design[row, 6:] = contrast[value]
    covariance = np.linalg.inv(design.T @ design)[6:, 6:]
    errors = [math.sqrt(np.array(each) @ covariance @ np.array(each)) for each in contrast.values()]
    missed = [
        missed_share(5 * math.sqrt(2) * (1 - 1 / 3) / error, 4, chance=LEVEL / 6)
        for error in errors
    ]
    assert missed[2] > 1.5 * missed[1]  # the value that was tried least
    assert evidence.missed == pytest.approx(sum(missed) / 3, rel=1e-6)


def test_where_no_value_was_tried_twice_the_noise_is_unknown() -> None:
    history = random_search(Quadratic(), {"lr": [0.1, 0.2, 0.3]}, epochs=10)
    verdict = luck_of(history)
    assert (verdict.clear, verdict.chance) == (0, None)
    assert verdict.changes > 0
    assert "The noise cannot be estimated from this run" in str(verdict)


def test_a_placebo_compares_no_values() -> None:
    adapter = DynamicGridAdapter(
        NoisyQuadratic(),
        {"lr": [0.1]},
        criterion=lowest("loss"),
        adapt_every=2,
        try_for=1,
        proposer=Placebo(3),
    )
    assert str(luck_of(adapter.run(10))) == "The value in force was kept in all 5 rounds."


def test_rounds_that_have_no_two_values_in_common_say_nothing_about_order() -> None:
    first, second = [("a", 1.0), ("b", 2.0)], [("b", 1.0), ("c", 2.0)]
    assert _again([first, second]) is None
    assert _again([first, second, second]) == _again([second, second])
