"""each_epoch: the main line looked at epoch by epoch, in order, and ended after any of them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest

from dynhp import DynamicGridAdapter, History, Racing, lowest
from dynhp.middleware import Display, each_epoch
from dynhp.records import Metrics
from dynhp.spaces import Around
from dynhp.tails import scale, scheduled
from dynhp.testing import NoisyQuadratic
from tests.support.reference import Toy, bits, without_times

RUNS: dict[str, dict[str, Any]] = {
    "plain": {},
    "dry": {"dry_run": True},
    "a race": {"selection": Racing(), "try_for": 3},
    "tries as long as rounds": {"try_for": 4},
    "only the value": {"keep": "value", "randomness": "independent"},
    "a schedule": {"course": scheduled("lr", "linear")},
    "corrected": {"then": scale(0.5), "space": {"lr": Around(0.2)}},
    "no tries at all": {"max_rounds": 0},
    "watched": {"record_every": 3},
}


def made(**changes: Any) -> DynamicGridAdapter:
    settings: dict[str, Any] = {
        "space": {"lr": [0.05, 0.2, 0.6]},
        "criterion": lowest("loss"),
        "adapt_every": 4,
        "try_for": 2,
        "epochs": 14,
    }
    return DynamicGridAdapter(Toy(2), **(settings | changes))


@cache
def whole(name: str) -> tuple[History, dict[int, Metrics]]:
    """A run to the end that nothing looks at; and what each epoch of it measures."""
    looked: dict[int, Metrics] = {}
    made(**RUNS[name], middleware=[each_epoch(lambda *each: bool(looked.update([each])))]).run(14)
    return made(**RUNS[name]).run(14), looked


@pytest.mark.parametrize("name", RUNS)
def test_each_epoch_is_looked_at_once_and_the_run_is_the_same(name: str) -> None:
    looked: list[tuple[int, Metrics]] = []

    def look(epoch: int, metrics: Metrics) -> bool:
        looked.append((epoch, metrics))
        return False

    plain, watched = made(**RUNS[name]), made(**RUNS[name], middleware=[each_epoch(look)])
    plain.run(14)
    watched.run(14)
    assert without_times(watched.history) == without_times(plain.history)
    assert bits(watched.trainer.get_state()) == bits(plain.trainer.get_state())
    assert [epoch for epoch, _ in looked] == list(range(14))
    known = dict(looked)
    assert all(known[epoch] == metrics for epoch, metrics in plain.history.measured)


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("end", range(14))
def test_it_ends_the_round_after_that_epoch_or_with_the_try(name: str, end: int) -> None:
    looked: list[int] = []

    def look(epoch: int, metrics: Metrics) -> bool:
        looked.append(epoch)
        return epoch == end

    adapter = made(**RUNS[name], middleware=[each_epoch(look)])
    while end not in looked:
        round_ = adapter.step()
    assert looked == list(range(end + 1))
    assert round_.start <= end < round_.start + round_.epochs
    kept = 0 if round_.restarted or not round_.tries else round_.winner.own.epochs
    assert adapter.epoch == max(end + 1, round_.start + kept)
    history, measured = whole(name)
    same = history[round_.index]
    assert (same.start, same.tries, same.chosen) == (round_.start, round_.tries, round_.chosen)
    assert round_.values_by_epoch == same.values_by_epoch[: round_.epochs]
    assert round_.metrics == measured[adapter.epoch - 1]


def test_where_the_main_line_goes_back_so_do_the_numbers() -> None:
    looked: list[int] = []
    adapter = made(
        start_from="best",
        max_rounds=9,
        criterion=lambda series, progress: -abs(progress.epoch - 5),
        middleware=[each_epoch(lambda epoch, metrics: bool(looked.append(epoch)))],
    )
    history = adapter.run(14)
    assert any(round_.abandoned for round_ in history)
    expected = [
        epoch for round_ in history for epoch in range(round_.start, round_.start + round_.epochs)
    ]
    assert looked == expected


class Breaks(NoisyQuadratic):
    """Cannot bear a high rate after five epochs."""

    def train_k(self, k: int, hyperparameters: Mapping[str, Any]) -> None:
        for _ in range(k):
            if self.metrics()["steps"] >= 5 and hyperparameters["lr"] > 0.3:
                raise RuntimeError("broken")
            super().train_k(1, hyperparameters)


def test_an_epoch_that_raises_is_not_looked_at_and_may_be_rescued() -> None:
    looked: list[int] = []
    adapter = DynamicGridAdapter(
        Breaks(),
        {"lr": [0.1, 0.5]},
        minimize="loss",
        adapt_every=4,
        try_for=1,
        initial={"lr": 0.5},
        max_rounds=0,
        start_from="before",
        max_rescues=1,
        middleware=[each_epoch(lambda epoch, metrics: bool(looked.append(epoch)))],
    )
    history = adapter.run(8)
    assert [round_.failure is not None for round_ in history].count(True) == 1
    assert looked == list(range(8))


class Shown(Display):
    """Notes the beats of the stretch."""

    def __init__(self) -> None:
        self.beats: list[int] = []

    def open(self, run: Any) -> None: ...

    def __call__(self, moment: Any) -> None: ...

    def beat(self, place: int | None, epochs: int, metrics: Metrics | None) -> None:
        if place is None:
            self.beats.append(epochs)

    def close(self, failure: BaseException | None) -> None: ...


def test_a_display_sees_how_far_the_stretch_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dynhp.middleware.display.BEATS", 0)
    display = Shown()
    adapter = DynamicGridAdapter(
        NoisyQuadratic(),
        {"lr": [0.1, 0.5]},
        minimize="loss",
        adapt_every=6,
        try_for=2,
        middleware=[each_epoch(lambda epoch, metrics: False)],
    )
    adapter.run(6, progress=display)
    assert display.beats[-4:] == [1, 2, 3, 4]  # before come those of the self-check
