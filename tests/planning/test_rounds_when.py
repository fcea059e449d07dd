"""How many rounds there may be where a trigger decides."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from dynhp import DynamicGridAdapter, Int, plan_for, spent
from dynhp.planning.budget import rounds_of
from dynhp.testing import NoisyQuadratic, Quadratic
from dynhp.triggers import At, OnPlateau


def adapter(**settings: Any) -> DynamicGridAdapter:
    space = {"lr": [0.1, 0.5]}
    return DynamicGridAdapter(Quadratic(), space, minimize="loss", try_for=2, **settings)


@pytest.mark.parametrize(("max_rounds", "most"), [(None, 10), (3, 3), (99, 10)])
def test_a_trigger_that_looks_may_never_fire_or_as_often_as_there_is_room(
    max_rounds: int | None, most: int
) -> None:
    looking = adapter(when=OnPlateau("loss", patience=2), max_rounds=max_rounds)
    fewest, highest = rounds_of(looking.policy, looking.memory, 20)
    assert fewest.rounds == Counter()
    assert highest.rounds == Counter({2: most})
    assert highest.abandoned == 0


def test_tries_up_to_the_last_epoch_are_the_end_of_the_plan() -> None:
    run = adapter(when=At([0, 4]))
    planned, same = rounds_of(run.policy, run.memory, 6)
    assert planned.rounds == same.rounds == Counter({2: 2})


def test_the_step_of_whole_numbers_is_one_of_its_points() -> None:
    assert Int(1, 9, points=5).step() == 0.25


def test_a_plan_counts_what_was_left_behind_and_what_may_be() -> None:
    going_back = DynamicGridAdapter(
        NoisyQuadratic(noise=1.0),
        {"lr": [0.05, 0.6]},
        minimize="loss",
        try_for=1,
        when=OnPlateau("loss", patience=2),
        start_from="best",
        max_rounds=3,
        epochs=20,
    )
    before = plan_for(going_back)
    assert before == plan_for(going_back, 20)
    assert before.least.abandoned == 0 < before.most.abandoned
    going_back.run(20)
    cost = spent(going_back)
    assert 0 < cost.abandoned <= before.most.abandoned
    after = plan_for(going_back)
    assert after.least == cost
    assert after.most.abandoned >= cost.abandoned
