"""The record of a round: what of its tries and of its stretch is in it."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import pytest

from dynhp import DynamicGridAdapter, lowest
from dynhp.records import Candidate, RoundStarted, Try
from dynhp.rounds.record import NOT_DUE, round_record
from dynhp.rounds.running_try import RunningTry
from dynhp.rounds.steps import TrainStretch
from dynhp.selection import reason
from dynhp.testing import NoisyQuadratic

RATES = [Candidate({"lr": rate}) for rate in (0.1, 0.2, 0.3)]
TRIES = tuple(
    Try(candidate=rate, series=({"loss": 9.0}, {"loss": loss}), epochs=2, score=-loss)
    for rate, loss in zip(RATES, (2.0, 1.0, 3.0), strict=True)
)


def tries_of(place: int | None, **changes: Any) -> Any:
    """The tries of the fourth round, from epoch 20 on, of which one is kept."""
    given = {
        "started": RoundStarted(
            index=3, start=20, epochs=6, abandoned=4, planned=None, settings={}
        ),
        "current": RATES[0],
        "records": () if place is None else TRIES,
        "best": None if place is None else RunningTry(TRIES[place], None, place),
        "check": None,
        "because": "so it was",
        "rescue": True,
    }
    return SimpleNamespace(**(given | changes))


def stretch_of(epochs: int, *measured: tuple[int, float]) -> TrainStretch:
    stretch = TrainStretch(RATES[1], epochs, lambda stretch: None)  # type: ignore[arg-type,return-value]
    stretch.measured = [(number, {"loss": loss}) for number, loss in measured]
    stretch.metrics = {"loss": measured[-1][1]} if measured else {}
    stretch.failure = "E: failed"
    return stretch


@pytest.mark.parametrize("place", [0, 1])
def test_all_that_is_known_of_a_round_is_in_its_record(place: int) -> None:
    began = time.perf_counter() - 100.0
    check = SimpleNamespace(epochs=4, tolerance=0.5)
    stretch = stretch_of(4, (22, 0.9), (23, 0.8), (24, 0.7), (25, 0.6))
    record = round_record(
        tries_of(place, check=check), RATES[2], stretch, done=2, seed=7, began=began
    )
    assert (record.index, record.start, record.epochs) == (3, 20, 6)
    assert (record.previous, record.tries, record.chosen) == (RATES[0], TRIES, place)
    assert record.reason == reason(TRIES, place, RATES[0])
    assert (record.seed, record.restarted) == (7, False)
    assert (record.checked, record.tolerance) == (4, 0.5)
    assert record.metrics == {"loss": 0.6}
    # The last of them are the metrics of the round itself.
    assert record.stretch == ((22, {"loss": 0.9}), (23, {"loss": 0.8}), (24, {"loss": 0.7}))
    assert 100.0 <= record.seconds < 160.0
    assert (record.because, record.rescue, record.abandoned) == ("so it was", True, 4)
    assert (record.failure, record.corrected) == ("E: failed", RATES[2])


@pytest.mark.parametrize("place", [0, 2])
def test_a_main_line_that_goes_on_from_the_origin_was_restarted(place: int) -> None:
    stretch = stretch_of(1, (20, 0.9))
    record = round_record(tries_of(place), None, stretch, done=0, seed=None, began=0.0)
    assert record.restarted is True
    assert (record.epochs, record.seed, record.metrics) == (1, None, {"loss": 0.9})
    assert (record.checked, record.tolerance) == (0, 0.0)


def test_without_a_stretch_the_metrics_are_those_of_the_kept_try() -> None:
    record = round_record(tries_of(1), None, stretch_of(0), done=2, seed=None, began=0.0)
    assert (record.epochs, record.metrics, record.stretch) == (2, {"loss": 1.0}, ())


def test_a_round_without_tries_has_no_winner_and_was_not_restarted() -> None:
    stretch = stretch_of(2, (20, 0.9), (21, 0.8))
    record = round_record(tries_of(None), None, stretch, done=0, seed=None, began=0.0)
    assert (record.chosen, record.reason) == (-1, NOT_DUE)
    assert record.restarted is False
    assert (record.tries, record.metrics) == ((), {"loss": 0.8})
    assert record.stretch == ((20, {"loss": 0.9}),)


def test_a_round_knows_with_which_seed_the_main_line_goes_on() -> None:
    adapter = DynamicGridAdapter(
        NoisyQuadratic(),
        {"lr": [0.1, 0.2]},
        criterion=lowest("loss"),
        adapt_every=2,
        try_for=1,
        randomness="independent",
    )
    for record in adapter.run(4):
        assert record.seed is not None
        assert record.seed == record.winner.seed
