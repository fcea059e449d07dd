"""Records printed: short tables, however long the run, the round or the try was."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dynhp import DynamicGridAdapter, History, lowest
from dynhp.records import Candidate, Round, Try
from dynhp.testing import Quadratic


class CannotTrain(Quadratic):
    """Cannot train with 0.9."""

    def train_k(self, k: int, hyperparameters: Any) -> None:
        if hyperparameters["lr"] == 0.9:
            raise RuntimeError("too fast\n" + "x" * 1000)
        super().train_k(k, hyperparameters)


def a_run(epochs: int = 4, values: int = 0) -> History:
    space = {"lr": [i / 1000 for i in range(1, values + 1)] or [0.1, 0.5, 0.9]}
    adapter = DynamicGridAdapter(
        CannotTrain(), space, criterion=lowest("loss"), adapt_every=2, try_for=1
    )
    return adapter.run(epochs)


def test_a_history_is_printed_as_a_table() -> None:
    assert str(a_run()).splitlines() == [
        "round  epochs  values  score       gain  tries         reason",
        "0      0-2     lr=0.5  -0.125      0     3 (1 failed)  the value in force scored best",
        "1      2-4     lr=0.5  -0.0078125  0     3 (1 failed)  the value in force scored best",
    ]
    assert str(History(())) == "no rounds yet"


def test_a_long_history_shows_its_ends() -> None:
    lines = str(a_run(epochs=100)).splitlines()
    assert len(lines) == 22
    assert lines[11] == "... 30 rounds more"
    assert lines[10].startswith("9 ")
    assert lines[12].startswith("40 ")
    assert lines[-1].startswith("49 ")


def test_a_round_is_printed_as_a_table_of_its_tries() -> None:
    lines = str(a_run()[0]).splitlines()
    assert lines[:4] == [
        "round 0, epochs 0-2: lr=0.5 (the value in force scored best)",
        "values  epochs  score",
        "lr=0.5  1       -0.125  kept, in force before",
        "lr=0.1  1       -0.405",
    ]
    assert lines[4].startswith("lr=0.9  1       nan     failed: RuntimeError: too fast xxx")
    assert len(lines) == 5
    assert max(map(len, lines)) < 120
    (moved,) = a_run(epochs=2, values=2)
    assert str(moved).splitlines()[2:] == [
        "lr=0.001  1       -0.499  in force before",
        "lr=0.002  1       -0.498  kept",
    ]


def test_a_large_round_shows_the_best_and_always_the_one_kept() -> None:
    (round_,) = a_run(epochs=2, values=300)
    lines = str(round_).splitlines()
    assert len(lines) == 2 + 20 + 1
    assert lines[-1] == "... 280 worse tries more"
    assert sum("kept" in line for line in lines) == 1


def test_a_try_is_printed_as_a_table_of_its_epochs() -> None:
    series = ({"loss": 0.5}, {"loss": 0.25, "norm": float("nan")})
    try_ = Try(candidate=Candidate({"lr": 0.1, "act": "relu"}), series=series, epochs=2, score=-1.0)
    assert str(try_).splitlines() == [
        "lr=0.1 act=relu, epochs 2, score -1",
        "epoch  loss  norm",
        "1      0.5   nan",
        "2      0.25  nan",
    ]
    long = Try(candidate=Candidate({"lr": 0.1}), series=series[:1] * 50, epochs=50, score=-1.0)
    assert len(str(long).splitlines()) == 23
    failed = a_run()[0].tries[2]
    assert str(failed).startswith("lr=0.9, epochs 1, failed: RuntimeError: too fast xxx")
    assert len(str(failed)) < 130


def test_a_try_over_steps_shows_which_were_reported() -> None:
    series = ({"loss": 0.5}, {"loss": 0.25})
    tried = Try(candidate=Candidate({}), series=series, epochs=250, score=-0.25, reported=(99, 250))
    assert [line.split()[0] for line in str(tried).splitlines()[1:]] == ["epoch", "99", "250"]


def corrected(value: float) -> Round:
    """A round whose best try was 0.5, and that went on with another value."""
    return replace(a_run()[0], corrected=Candidate({"lr": value}), restarted=True)


def test_a_corrected_value_is_marked_in_the_table_of_tries() -> None:
    lines = str(corrected(0.25)).splitlines()
    assert lines[0] == (
        "round 0, epochs 0-2: lr=0.25 (the value in force scored best; made of lr=0.5)"
    )
    assert lines[2].endswith("-0.125  best, in force before")
    assert lines[-1] == "lr=0.25  -       -       taken: the best, corrected by then=, not tried"


def test_a_corrected_value_that_was_tried_is_marked_in_its_own_row() -> None:
    lines = str(corrected(0.1)).splitlines()
    assert lines[3].endswith("-0.405  taken: the best, corrected by then=")
    assert len(lines) == 5
    failed = str(corrected(0.9)).splitlines()[4]
    assert "failed: RuntimeError: too fast" in failed
    assert failed.endswith(", taken: the best, corrected by then=")


def test_a_corrected_value_is_shown_however_many_tries_there_are() -> None:
    (many,) = a_run(epochs=2, values=30)
    text = str(replace(many, corrected=min(many.tries, key=lambda t: t.rank_key).candidate))
    assert text.count("taken: the best, corrected by then=") == 1
    assert "not tried" not in text
