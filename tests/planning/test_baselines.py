"""Baselines against what they stand for, trained by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynhp import Float, complete_search, fixed, lowest, random_search, schedule_of, spent
from dynhp.errors import SettingsError
from dynhp.testing.toys.quadratic import NoisyQuadratic
from tests.support.messages import raises

VALUES = [0.001, 0.01, 0.1, 0.3, 1.0]


def trained(seed: int, *pieces: tuple[int, float]) -> NoisyQuadratic:
    trainer = NoisyQuadratic(seed=seed)
    for epochs, value in pieces:
        trainer.train_k(epochs, {"lr": value})
    return trainer


def same(trainer: NoisyQuadratic, other: NoisyQuadratic) -> bool:
    return repr(trainer.get_state()) == repr(other.get_state())


@given(seed=st.integers(0, 99), epochs=st.integers(1, 12), part=st.floats(0.05, 1.0))
def test_complete_search_is_each_value_trained_by_hand(seed: int, epochs: int, part: float) -> None:
    trainer = NoisyQuadratic(seed=seed)
    history = complete_search(
        trainer, {"lr": VALUES}, criterion=lowest("loss"), epochs=epochs, part=part
    )
    tried = max(1, round(part * epochs))
    losses = {value: trained(seed, (tried, value)).metrics()["loss"] for value in VALUES}
    best = min(losses, key=lambda value: losses[value])
    assert history[0].candidate == {"lr": best}
    assert {t.candidate["lr"]: t.series[-1]["loss"] for t in history[0].tries} == losses
    assert same(trainer, trained(seed, (epochs, best)))
    assert len(history) == 1
    cost = spent(history)
    assert (cost.main_line, cost.overhead) == (epochs, (len(VALUES) - 1) * tried)


def test_a_whole_complete_search_costs_one_run_per_value() -> None:
    history = complete_search(NoisyQuadratic(), {"lr": VALUES}, criterion=lowest("loss"), epochs=7)
    assert spent(history).runs == len(VALUES)


@pytest.mark.parametrize(
    "changes",
    [
        {"part": 0},
        {"part": 1.1},
        {"part": math.nan},
        {"part": "half"},
        {"epochs": 0},
    ],
)
def test_complete_search_refuses(changes: dict[str, Any]) -> None:
    settings: dict[str, Any] = {"criterion": lowest("loss"), "epochs": 5, **changes}
    with raises(SettingsError):
        complete_search(NoisyQuadratic(), {"lr": VALUES}, **settings)


def drawn(space: Any, *, epochs: int = 30, seed: int = 0) -> list[Any]:
    history = random_search(NoisyQuadratic(), space, epochs=epochs, seed=seed)
    return [round_.candidate["lr"] for round_ in history]


def test_random_search_draws_from_the_interval_anew_every_epoch() -> None:
    values = drawn({"lr": Float(0.01, 0.1)})
    assert all(0.01 <= value <= 0.1 for value in values)
    assert len(set(values)) == 30


def test_random_search_draws_from_a_list() -> None:
    assert set(drawn({"lr": VALUES}, epochs=100)) == set(VALUES)


def test_random_search_is_decided_by_its_seed_and_by_nothing_else() -> None:
    space = {"lr": Float(0.01, 0.1)}
    first = drawn(space, seed=3)
    np.random.seed(5)  # a foreign generator
    assert drawn(space, seed=3) == first
    assert drawn(space, seed=4) != first


def test_random_search_leaves_the_global_generator_alone() -> None:
    np.random.seed(7)
    expected = np.random.random()
    np.random.seed(7)
    drawn({"lr": Float(0.01, 0.1)})
    assert np.random.random() == expected


def test_random_search_costs_one_run_and_trains_what_it_says() -> None:
    trainer = NoisyQuadratic(seed=5)
    history = random_search(trainer, {"lr": Float(0.01, 0.1)}, epochs=6)
    assert (spent(history).main_line, spent(history).overhead) == (6, 0)
    assert same(trainer, trained(5, *((1, float(r.candidate["lr"])) for r in history)))
    assert schedule_of(history).epochs == 6


@pytest.mark.parametrize(
    "settings",
    [
        {"epochs": 0},
        {"epochs": 3, "seed": -1},
    ],
)
def test_random_search_refuses(settings: dict[str, Any]) -> None:
    with raises(SettingsError):
        random_search(NoisyQuadratic(), {"lr": VALUES}, **settings)


@pytest.mark.parametrize(
    ("measure_every", "lengths"),
    [(None, [7]), (7, [7]), (9, [7]), (3, [3, 3, 1]), (1, [1] * 7)],
)
def test_fixed_measures_as_often_as_asked(measure_every: int | None, lengths: list[int]) -> None:
    trainer = NoisyQuadratic(seed=2)
    history = fixed(trainer, {"lr": 0.1}, epochs=7, measure_every=measure_every)
    assert [round_.epochs for round_ in history] == lengths
    assert [round_.metrics["steps"] for round_ in history] == np.cumsum(lengths).tolist()
    assert {round_.candidate["lr"] for round_ in history} == {0.1}
    assert not any(round_.changed for round_ in history)
    assert same(trainer, trained(2, (7, 0.1)))
    assert spent(history).runs == 1.0


@pytest.mark.parametrize(
    ("values", "settings"),
    [
        ({"lr": 0.1}, {"epochs": 0}),
        ({"lr": 0.1}, {"epochs": 3, "measure_every": 0}),
        (0.1, {"epochs": 3}),
        ({}, {"epochs": 3}),
    ],
)
def test_fixed_refuses(values: Any, settings: dict[str, Any]) -> None:
    with raises(SettingsError):
        fixed(NoisyQuadratic(), values, **settings)
