"""The peak between the best try and its neighbours, and what it becomes for a longer run."""

from __future__ import annotations

import math

import pytest

from dynhp.records import Candidate, Try
from dynhp.spaces import Around, Space
from dynhp.tails import at_peak
from dynhp.tails.contract import Searched

BEST = Candidate({"lr": 0.1})


def try_of(rate: float, score: float, error: str | None = None) -> Try:
    return Try(
        candidate=Candidate({"lr": rate}), series=(), epochs=3, score=score, error=error, tail=3
    )


def searched(*tries: Try, planned: int | None = 100) -> Searched:
    return Searched(Space({"lr": Around(0.1, 10.0)}), tries, planned)


def found(below: float, best: float, above: float) -> float:
    """The peak as a step on the grid, seen from the best: -1 is the rate below, 1 that above."""
    tries = (try_of(0.01, below), try_of(0.1, best), try_of(1.0, above))
    peak = at_peak("lr")(BEST, searched(*tries))["lr"]
    return math.log10(float(peak) / 0.1)  # type: ignore[arg-type]


@pytest.mark.parametrize("peak", [-0.45, -0.2, 0.0, 0.1, 0.5])
def test_the_peak_of_a_parabola_is_found(peak: float) -> None:
    assert found(*(-3 * (at - peak) ** 2 for at in (-1, 0, 1))) == pytest.approx(peak, abs=1e-4)


def test_the_peak_is_at_most_half_of_the_way_to_a_neighbour() -> None:
    assert found(-1.0, -1.0, -9.0) == pytest.approx(-0.5, abs=1e-4)
    assert found(-9.0, -1.0, -1.0) == pytest.approx(0.5, abs=1e-4)


def test_so_it_is_beside_a_better_neighbour_which_a_margin_may_leave_alone() -> None:
    assert found(-0.9, -1.0, -9.0) == pytest.approx(-0.5, abs=1e-4)
    assert found(-9.0, -1.0, -0.9) == pytest.approx(0.5, abs=1e-4)


@pytest.mark.parametrize("lost", [math.nan, -math.inf])
def test_a_neighbour_that_was_lost_pushes_the_peak_away(lost: float) -> None:
    assert found(-1.2, -1.0, lost) == pytest.approx(-0.5, abs=1e-4)
    assert found(lost, -1.0, -1.2) == pytest.approx(0.5, abs=1e-4)
    assert found(lost, -1.0, lost) == 0.0


def test_a_neighbour_that_failed_is_one_that_was_lost() -> None:
    tries = (try_of(0.01, -1.2), try_of(0.1, -1.0), try_of(1.0, -0.5, error="it exploded"))
    assert at_peak("lr")(BEST, searched(*tries))["lr"] == 0.0316228


def test_all_equal_scores_leave_the_best_as_it_is() -> None:
    assert found(-1.0, -1.0, -1.0) == 0.0


def test_without_neighbours_the_best_stays() -> None:
    one_sided = (try_of(0.01, -2.0), try_of(0.1, -1.0))
    for tries in ((), one_sided[1:], one_sided):
        assert at_peak("lr")(BEST, searched(*tries)) == BEST


def test_a_try_that_is_the_run_is_not_corrected() -> None:
    correct = at_peak("lr", power=0.5)
    one = (try_of(0.1, -1.0),)
    assert correct(BEST, searched(*one, planned=3)) == BEST
    assert correct(BEST, searched(*one, planned=2)) == BEST, "a try may be longer than its run"
    assert correct(BEST, searched(*one, planned=None)) == BEST
    assert correct(BEST, searched(*one, planned=12))["lr"] == 0.05


def test_only_tries_that_differ_in_this_value_alone_are_its_neighbours() -> None:
    space = Space({"lr": Around(0.1, 10.0), "wd": [0.0, 0.1]})
    best = Candidate({"lr": 0.1, "wd": 0.0})
    others = [
        Try(candidate=Candidate({"lr": rate, "wd": wd}), series=(), epochs=3, score=score)
        for rate, wd, score in [(0.01, 0.1, -1.0), (0.1, 0.0, -1.0), (1.0, 0.1, -9.0)]
    ]
    assert at_peak("lr")(best, Searched(space, others, 100)) == best
