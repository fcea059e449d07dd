"""The luck report on runs whose truth is known, and whether these are what an adapter records."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dynhp import DynamicGridAdapter, highest
from dynhp.records import Round
from dynhp.records.noise import paired_noise
from dynhp.report import luck_of
from dynhp.report.evidence import _effects, evidence_of
from dynhp.report.student import t_tail

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))

import _luck_runs as runs
import luck as bench
from _luck_runs import LuckCase


class Scored:
    """A trainer with the scores of a case."""

    def __init__(self, case: LuckCase, seed: int) -> None:
        self.table = runs.score_table(case, seed)
        self.steps, self.value = 0, 0

    def get_state(self) -> tuple[int, int]:
        return self.steps, self.value

    def set_state(self, state: tuple[int, int]) -> None:
        self.steps, self.value = state

    def reseed(self, seed: int) -> None:
        """The table holds all noise."""

    def train_k(self, k: int, hyperparameters: Mapping[str, Any]) -> None:
        self.steps, self.value = self.steps + k, int(hyperparameters["x"])

    def metrics(self) -> dict[str, float]:
        return {"score": float(self.table[self.steps - 1, self.value])}


def adapted(case: LuckCase, seed: int) -> Sequence[Round]:
    adapter = DynamicGridAdapter(
        Scored(case, seed),
        {"x": [float(value) for value in range(case.values)]},
        criterion=highest("score"),
        adapt_every=runs.TRY_FOR,
        try_for=runs.TRY_FOR,
        selection=runs.SELECTIONS[case.selection],
        proposer=runs.PROPOSERS[case.proposer],
        randomness=case.randomness,
    )
    return adapter.run(runs.TRY_FOR * case.rounds)


def judged(history: Sequence[Round]) -> list[Any]:
    """All that the report looks at."""
    return [
        (each.previous, each.chosen, [(t.candidate, t.epochs, t.score) for t in each.tries])
        for each in history
    ]


@pytest.mark.filterwarnings("ignore::dynhp.errors.Hint")
@pytest.mark.parametrize("selection", runs.SELECTIONS)
@pytest.mark.parametrize("proposer", runs.PROPOSERS)
@pytest.mark.parametrize("randomness", ["common", "independent"])
def test_the_records_are_those_of_an_adapter(
    selection: str, proposer: str, randomness: Any
) -> None:
    truths: list[runs.Truth] = ["noise", "peak", "hill"]
    for truth in truths:
        case = LuckCase(6, 9, selection, proposer, randomness, truth)
        ours, real = runs.recorded(case, 4), adapted(case, 4)
        assert judged(ours) == judged(real)
        assert luck_of(ours) == luck_of(real)
        assert bench.verdict(ours) == luck_of(real).verdict


def test_the_verdict_on_short_records_is_that_of_the_report() -> None:
    """There the chance is often cut at 1, which does not mean that all scores are equal."""
    short = [runs.recorded(LuckCase(4, 2), seed) for seed in range(30)]
    assert any(luck_of(history).chance == 1 for history in short)
    equal = [
        replace(round_, tries=tuple(replace(each, score=0.1) for each in round_.tries))
        for round_ in short[0]
    ]
    assert luck_of(equal).verdict == bench.verdict(equal) == "luck"
    assert [bench.verdict(each) for each in short] == [luck_of(each).verdict for each in short]


@pytest.mark.parametrize("seed", range(3))
def test_the_noise_on_a_grid_is_that_of_the_selection(seed: int) -> None:
    case = LuckCase(4, 130, "BestByMargin(noise=1)", "FullGrid", "common")
    history, noise = runs.recorded(case, seed), runs.GridNoise()
    table = runs.score_table(case, seed)
    for index, round_ in enumerate(history):
        expected = paired_noise(history[max(0, index - 50) : index])
        assert noise.of_recent_rounds() == pytest.approx(expected, rel=1e-12)
        assert round_ == runs._round(
            runs.SELECTIONS[case.selection],
            history[:index],
            round_.previous,
            [each.candidate for each in round_.tries],
            [[0.0, each.score] for each in round_.tries],
        )
        noise.add(table[runs.TRY_FOR * (index + 1) - 1], int(round_.previous["x"]))


CASES = [
    LuckCase(2, 4, "Best"),
    LuckCase(2, 4, "Racing"),
    LuckCase(5, 4, "Best"),
    LuckCase(5, 4, "Racing", "FullGrid", "common"),
    LuckCase(3, 12, "BestByMargin(delta=1)", "FullGrid", "common"),
    LuckCase(3, 12, "Best", "Neighbors"),
    LuckCase(9, 40, "Best", "Neighbors"),
    LuckCase(3, 4, "Best", "Neighbors"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("truth", ["noise", "peak"])
def test_at_most_5_of_100_are_wrong(case: LuckCase, truth: Any) -> None:
    """Forty runs of a few cases; ``benchmarks/luck.py`` counts many more."""
    counted = bench.count(case._replace(truth=truth), 40)
    assert counted.counted >= 25
    assert not counted.too_much


def test_a_short_walk_that_has_seen_little_of_the_best_value_is_not_accused() -> None:
    """It tried that value at least twice; where that was too little, the report says so."""
    counted = bench.count(LuckCase(9, 4, "Best", "Neighbors", truth="peak"), 100)
    assert counted.counted >= 40
    assert counted.wrong == 0
    assert 0 < counted.unknown < 0.2 * counted.counted


@pytest.mark.parametrize("seed", [10_008, 10_014, 10_019, 10_028])
def test_a_long_walk_gets_an_answer_although_it_left_a_few_values_soon(seed: int) -> None:
    history = runs.recorded(LuckCase(300, 500, proposer="Neighbors"), seed)
    tried = Counter(try_.candidate for round_ in history for try_ in round_.tries)
    assert 10 * min(tried.values()) < max(tried.values())
    assert bench.verdict(history) == "luck"


def test_too_many_answers_that_say_nothing_do_not_keep_the_limit_either() -> None:
    grid, walk = LuckCase(3, 4), LuckCase(3, 4, proposer="Neighbors")
    assert bench.CountedRuns(grid, 100, 100, 0, 6).too_much
    assert not bench.CountedRuns(grid, 100, 100, 5, 5).too_much
    assert not bench.CountedRuns(walk, 100, 100, 0, 20).too_much
    assert bench.CountedRuns(walk._replace(rounds=20), 100, 100, 0, 6).too_much
    assert bench.CountedRuns(walk, 100, 100, 6, 0).too_much


def test_counted_cells_are_kept_in_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "cells.jsonl"
    truths: list[runs.Truth] = ["noise", "peak", "hill"]
    few = [(LuckCase(2, 4, truth=truth), 3) for truth in truths]
    monkeypatch.setattr(bench, "cells", lambda runs: iter(few))
    monkeypatch.setattr(sys, "argv", ["luck.py", "3", "1/1", str(file)])
    assert bench.main() == 0
    first = capsys.readouterr().out
    monkeypatch.delattr(bench, "count")  # nothing is counted again
    assert bench.main() == 0
    assert capsys.readouterr().out.splitlines()[:-1] == first.splitlines()[:-1]


def test_many_values_are_no_trouble() -> None:
    assert bench.count(LuckCase(300, 9), 1).wrong == 0
    assert bench.count(LuckCase(300, 9, truth="peak"), 1).wrong == 0
    assert bench.count(LuckCase(300, 12, proposer="Neighbors", truth="hill"), 1).wrong == 0


def test_an_effect_that_was_never_tried_leaves_the_record_of_noise() -> None:
    """So that whoever is right on noise must speak of luck there too."""
    case = LuckCase(9, 40, "Best", "Neighbors", truth="peak")
    unseen = [seed for seed in range(60) if not _tried(runs.recorded(case, seed), seed % 9)]
    assert len(unseen) > 3
    for seed in unseen:
        equal = runs.recorded(case._replace(truth="noise"), seed)
        assert judged(runs.recorded(case, seed)) == judged(equal)


def _tried(history: Sequence[Round], value: int) -> bool:
    return any(each.candidate["x"] == value for round_ in history for each in round_.tries)


def test_a_walk_that_stays_where_it_was_lucky_is_no_evidence() -> None:
    """All values are equal here; a t-test that counts in full, as on a grid, would be silent."""
    history = runs.recorded(LuckCase(9, 40, "Best", "Neighbors"), 287)
    assert "luck" in str(luck_of(history))


def test_values_that_were_never_compared_have_effects_of_their_own() -> None:
    """Two groups of 300 values, each in two rounds: rounding must not tie them together."""
    counts = np.kron(np.eye(2), np.ones((300, 2))).astype(np.float64)
    _, variances, shares = _effects(counts, np.zeros(600))
    assert shares == pytest.approx(np.full(600, 1 - 1 / 300))
    assert variances == pytest.approx(np.full(600, (1 - 1 / 300) / 2))


def test_a_chance_is_never_below_zero() -> None:
    assert all(t_tail(t, freedom) >= 0 for t in (20.0, 50.0, 1e3) for freedom in range(1, 300, 7))
    chance = evidence_of(runs.recorded(LuckCase(9, 40, truth="peak"), 1)).chance
    assert chance is not None
    assert 0 <= chance < 1e-9
