"""What is spent lies within the plan, also with corrections and with rounds that go back."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynhp import (
    Best,
    DynamicGridAdapter,
    Float,
    FullGrid,
    Interpolation,
    Neighbors,
    OneAxis,
    Racing,
    plan_for,
    spent,
)
from dynhp.errors import SettingsError
from dynhp.planning.budget import rounds_of
from dynhp.proposers import Climb, Ladder
from dynhp.records import Candidate
from dynhp.spaces import Around
from dynhp.tails import annealed, scale
from dynhp.tails.contract import Searched
from dynhp.testing import Quadratic
from dynhp.triggers import OnPlateau, any_of
from tests.support.messages import raises
from tests.support.reference import Toy


def lower(candidate: Candidate, searched: Searched) -> Candidate:
    """Seven tenths of the rate, which is on no grid here, down to the lowest one."""
    rate: Any = candidate["lr"]
    return candidate.but({"lr": max(0.1, rate * 0.7)})


def always(line: object) -> bool:
    """A round is due whenever one may be."""
    return True


def sometimes(line: Any) -> bool:
    """A round is due at odd times, as far as a plan knows."""
    return bool(line.epoch * 7 % 5 < 3)


def adapter(space: Any = None, **given: Any) -> DynamicGridAdapter:
    space = {"lr": [0.1, 0.2, 0.5]} if space is None else space
    moving = Toy(4)
    moving.velocity += 1.0  # so that momentum matters from the first step on
    trainer = Quadratic() if len(space) == 1 else moving
    return DynamicGridAdapter(trainer, space, minimize="loss", **given)


def require_within(run: DynamicGridAdapter, epochs: int) -> None:
    """Whenever one asks on the way, the plan holds at the end."""
    plans = [plan_for(run, epochs)]
    plans += [plan_for(run, epochs) for _ in run.rounds(epochs)]
    cost = spent(run)
    for plan in plans:
        assert plan.least.main_line == plan.most.main_line == cost.main_line
        assert plan.least.overhead <= cost.overhead <= plan.most.overhead
    assert plans[-1].exact
    assert plans[-1].most.overhead == cost.overhead


@pytest.mark.parametrize(
    ("space", "given", "least", "most"),
    [
        ({"lr": [0.1, 0.2, 0.5]}, {}, 20, 22),  # two rounds may have one candidate more
        ({"lr": Around(0.3)}, {"then": scale(0.5, "lr")}, 20, 22),
        ({"lr": [0.1, 0.2, 0.5]}, {"proposer": OneAxis()}, 20, 22),
        ({"lr": [0.1, 0.5]}, {"proposer": Neighbors()}, 17, 19),
        ({"lr": [0.1, 0.5]}, {"proposer": Climb(rungs=1)}, 17, 19),
        ({"lr": [0.1, 0.2, 0.5]}, {"dry_run": True}, 27, 27),  # which corrects nothing
    ],
)
def test_a_corrected_value_may_be_one_candidate_more(
    space: Any, given: dict[str, Any], least: int, most: int
) -> None:
    settings = {"then": lower, "adapt_every": 4, "try_for": 1} | given
    plan = plan_for(adapter(space, **settings), 12)
    assert (plan.least.total, plan.most.total) == (least, most)
    require_within(adapter(space, **settings), 12)


def test_the_first_round_tries_what_it_would_without_a_correction() -> None:
    once = adapter(adapt_every=12, try_for=1, then=lower)
    assert plan_for(once, 12).exact
    assert plan_for(once, 12).most.total == 16


def test_a_run_that_has_begun_is_planned_from_a_value_off_the_grid() -> None:
    begun = adapter({"lr": Around(0.3)}, adapt_every=4, try_for=1, then=scale(0.5, "lr"))
    begun.run(4)
    assert begun.current["lr"] not in begun.policy.space["lr"].grid()
    assert plan_for(begun, 8).most.overhead == spent(begun).overhead + 3


@pytest.mark.parametrize("when", [always, OnPlateau("loss", patience=1)])
@pytest.mark.parametrize("given", [{"keep": "value", "then": scale(1.0, "lr")}, {"dry_run": True}])
def test_rounds_that_go_back_to_their_origin_may_come_at_every_epoch(
    when: Any, given: dict[str, Any]
) -> None:
    require_within(adapter({"lr": [0.2, 2.0]}, when=when, try_for=3, **given), 12)


@pytest.mark.parametrize(
    ("try_for", "epochs", "rounds"),
    [
        (3, 12, {3: 10, 2: 1, 1: 1}),
        (1, 4, {1: 4}),
        (5, 3, {3: 1, 2: 1, 1: 1}),
        (3, 3, {3: 1, 2: 1, 1: 1}),
    ],
)
def test_tries_are_shorter_only_near_the_end(
    try_for: int, epochs: int, rounds: dict[int, int]
) -> None:
    run = adapter(when=always, try_for=try_for, dry_run=True)
    _, most = rounds_of(run.policy, run.memory, epochs)
    assert most.rounds == Counter(rounds)
    assert list(most.rounds) == sorted(rounds, reverse=True)


def test_tries_of_a_tail_alone_may_come_at_every_epoch() -> None:
    alone = adapter(when=always, try_for=0, tail=annealed("lr", epochs=2))
    assert rounds_of(alone.policy, alone.memory, 4)[1].rounds == Counter({0: 4})
    assert rounds_of(alone.policy, alone.memory, 0)[1].rounds == Counter()
    require_within(alone, 4)


def test_a_plan_refuses_tails_of_tries_that_are_judged_on_the_way() -> None:
    shares = adapter(adapt_every=5, try_for=0.2, tail=annealed("lr", epochs=2), selection=Racing())
    with raises(SettingsError):
        plan_for(shares, 20)


@pytest.mark.many
@settings(max_examples=300, deadline=None)
@given(
    space=st.sampled_from(
        [
            {"lr": [0.1, 0.5]},
            {"lr": [0.1, 0.2, 0.5, 1.9]},
            {"lr": Float(0.1, 1.9, points=3), "momentum": [0.0, 0.5]},
        ]
    ),
    proposer=st.sampled_from(
        [
            *(FullGrid(), Neighbors(), Neighbors(2), Climb(), Ladder(1), Interpolation()),
            *(OneAxis(), OneAxis(Neighbors()), OneAxis(Climb())),
        ]
    ),
    selection=st.sampled_from([Best(), Racing()]),
    when=st.sampled_from(
        [
            *({"adapt_every": 4}, {"when": always}, {"when": sometimes}),
            *({"when": sometimes, "max_rounds": 3}, {"when": OnPlateau("loss", patience=1)}),
            {"when": any_of(OnPlateau("loss", patience=2), sometimes)},
        ]
    ),
    how=st.sampled_from([{}, {"keep": "value"}, {"dry_run": True}]),
    then=st.sampled_from([None, lower, scale(1.0, "lr")]),
    check=st.sampled_from(["first", "every", "off"]),
    try_for=st.integers(1, 4),
    epochs=st.integers(1, 14),
)
def test_what_is_spent_lies_within_the_plan(
    space: Any, epochs: int, when: Any, how: Any, **given: Any
) -> None:
    require_within(adapter(space, **when, **how, **given), epochs)
