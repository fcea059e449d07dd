"""A placebo is the control of a margin: only its first copy is the value in force."""

from __future__ import annotations

import random
from typing import Any

import pytest

from dynhp import BestByMargin, DynamicGridAdapter, FullGrid, Placebo, lowest
from dynhp.records import Candidate, Round, Try
from dynhp.records.noise import paired_noise


def at(value: Any) -> Candidate:
    return Candidate({"x": value})


def try_(value: Any, score: float, error: str | None = None) -> Try:
    return Try(candidate=at(value), series=(), epochs=1, score=score, error=error)


def round_of(tries: list[Try]) -> Round:
    return Round(
        index=0,
        start=0,
        epochs=1,
        previous=at(0),
        tries=tuple(tries),
        chosen=0,
        reason="",
        metrics={},
    )


class LuckOnly:
    """A trainer whose loss is the seed's luck: no value makes a difference."""

    def __init__(self) -> None:
        self.seed, self.epochs = 0, 0

    def get_state(self) -> tuple[int, int]:
        return self.seed, self.epochs

    def set_state(self, state: tuple[int, int]) -> None:
        self.seed, self.epochs = state

    def reseed(self, seed: int) -> None:
        self.seed = seed

    def train_k(self, k: int, hyperparameters: Any) -> None:
        self.epochs += k

    def metrics(self) -> dict[str, float]:
        return {"loss": random.Random(self.seed + self.epochs).random()}


@pytest.mark.parametrize("margin", [0.0, 0.3, 0.6, 1e9])
def test_a_placebo_is_the_control_of_a_margin(margin: float) -> None:
    """Where no value is better, its copies win in the places where the values do."""
    chosen = {}
    for proposer in (FullGrid(), Placebo(4)):
        adapter = DynamicGridAdapter(
            LuckOnly(),
            {"lr": [0.01, 0.02, 0.03, 0.04]},
            criterion=lowest("loss"),
            adapt_every=3,
            try_for=1,
            proposer=proposer,
            randomness="independent",
            selection=BestByMargin(delta=margin),
        )
        chosen[type(proposer)] = [round_.chosen for round_ in adapter.run(60)]
    assert chosen[Placebo] == chosen[FullGrid]
    assert (set(chosen[Placebo]) == {0}) == (margin == 1e9)


def test_the_first_copy_is_the_one_in_force_even_where_it_failed() -> None:
    copies = [try_(0, 0.5, "E: failed"), try_(0, 0.1), try_(0, 0.2)]
    rank = BestByMargin(delta=1.0).ranking([], at(0))
    assert list(rank(copies)) == [2, 1]
    assert list(rank(copies[1:])) == [0, 1]


def test_copies_of_one_value_have_noise_like_different_values() -> None:
    def history(*values: int) -> list[Round]:
        rows = [(0.0, 0.1, 0.2), (0.0, 0.3, 0.1)]
        return [round_of(list(map(try_, values, row))) for row in rows]

    assert paired_noise(history(0, 0, 0)) == paired_noise(history(0, 1, 2)) > 0
