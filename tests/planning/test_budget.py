"""The plan before and the count after: equal, and equal to the paper's table."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynhp import (
    Best,
    BestByMargin,
    DynamicGridAdapter,
    Float,
    FullGrid,
    Int,
    Neighbors,
    Placebo,
    Racing,
    lowest,
    plan,
    plan_for,
    spent,
)
from dynhp.errors import SettingsError
from dynhp.planning import Cost, Plan
from dynhp.spaces import Around
from tests.support.kinds import PROPOSERS, SELECTIONS, randomness_of
from tests.support.messages import raises
from tests.support.reference import Diary, Toy


@pytest.mark.parametrize(
    ("alpha", "beta", "runs"),
    [
        (100, 1, 1.08),
        (100, 5, 1.40),
        (100, 100, 9.00),
        (50, 1, 1.16),
        (50, 5, 1.80),
        (50, 50, 9.00),
        (10, 1, 1.80),
        (10, 5, 5.00),
        (10, 10, 9.00),
    ],
)
def test_the_papers_table_of_relative_epochs(alpha: int, beta: int, runs: float) -> None:
    cost = plan(epochs=500, adapt_every=alpha, try_for=beta, candidates=9, check="off")
    assert cost.runs == runs
    assert cost.main_line == 500
    assert cost.total == round(500 * runs)
    assert str(cost).endswith(f", {runs / 9:.0%} of a complete search of 9")


@given(st.integers(1, 40), st.data(), st.integers(1, 20), st.integers(1, 12))
def test_the_formula_where_rounds_divide_the_epochs(
    alpha: int, data: st.DataObject, rounds: int, candidates: int
) -> None:
    beta = data.draw(st.integers(1, alpha))
    given = {"adapt_every": alpha, "try_for": beta, "candidates": candidates}
    cost = plan(epochs=alpha * rounds, check="off", **given)
    assert cost.total * alpha == alpha * rounds * (alpha + (candidates - 1) * beta)
    assert cost.candidates == candidates


@pytest.mark.parametrize(
    ("arguments", "overhead"),
    [
        ({"epochs": 10}, 2 * 3 * 2 + 2 * 2),  # two whole rounds, then one of 2 with tries of 2
        ({"epochs": 9}, 2 * 3 * 2 + 1 * 2),
        ({"epochs": 11}, 2 * 3 * 2 + 3 * 2),
        ({"epochs": 1}, 2),
        ({"epochs": 8, "candidates": 1}, 0),
        ({"epochs": 8, "restart": True}, 2 * 3 * 3),
        ({"epochs": 9, "restart": True}, 2 * 3 * 3 + 3),
        ({"epochs": 8, "selection": BestByMargin(delta=1.0)}, 2 * 3 * 2),
        # 3 epochs of 3, then 2, then 1: 6 of which 3 are the winner's
        ({"epochs": 8, "selection": Racing()}, 2 * 3),
        ({"epochs": 8, "selection": Racing(), "restart": True}, 2 * 6),
        ({"epochs": 9, "selection": Racing()}, 2 * 3 + 2),
        # tries of a tail alone, and tries that have one besides
        ({"epochs": 8, "try_for": 0, "tail": 1}, 2 * 3),
        ({"epochs": 8, "try_for": 0, "tail": 2, "check": "every"}, 2 * (3 + 2) * 2),
        ({"epochs": 8, "tail": 2}, 2 * (3 * 2 + 2 * 3)),
        # one try twice more: in the first round, or in both and in the short last one
        ({"epochs": 9, "check": "first"}, 2 * 3 * 2 + 1 * 2 + 2 * 3),
        ({"epochs": 9, "check": "every"}, 2 * 3 * 2 + 1 * 2 + 2 * (3 + 3 + 1)),
    ],
)
def test_plans_worked_out_by_hand(arguments: dict[str, Any], overhead: int) -> None:
    cost = plan(**({"adapt_every": 4, "try_for": 3, "candidates": 3, "check": "off"} | arguments))
    assert cost.overhead == overhead
    assert cost.main_line == arguments["epochs"]
    assert cost.total == arguments["epochs"] + overhead


def test_an_unknown_check_is_refused_by_its_name() -> None:
    unknown: Any = "always"
    with raises(SettingsError):
        plan(epochs=8, adapt_every=4, try_for=1, candidates=2, check=unknown)


SPACES: list[dict[str, Any]] = [
    {"lr": [0.01, 0.05, 0.2, 0.6]},
    {"lr": [0.1]},
    {"lr": [0.1, 0.2]},
    {"lr": Float(0.01, 1.0, log=True, points=4), "momentum": [0.0, 0.5]},
    {"lr": [0.01, 0.05, 0.2], "momentum": [0.0, 0.3, 0.6, 0.9]},
    {"lr": [0.05, 0.2], "depth": Int(1, 4)},
]


@pytest.mark.many
@settings(max_examples=80, deadline=None)
@given(
    space=st.sampled_from(SPACES),
    proposer=st.sampled_from(PROPOSERS),
    selection=st.sampled_from(SELECTIONS),
    keep=st.sampled_from(["winner", "value"]),
    randomness=st.sampled_from(["common", "independent"]),
    lengths=st.tuples(st.integers(1, 6), st.integers(1, 6)),
    epochs=st.integers(1, 25),
    bad=st.sampled_from([(), (0.05,), (0.2,)]),
)
def test_what_is_planned_is_what_is_spent(
    space: Any,
    proposer: Any,
    selection: Any,
    keep: Any,
    randomness: Any,
    lengths: tuple[int, int],
    epochs: int,
    bad: tuple[float, ...],
) -> None:
    trainer = Toy(4, blind=bad)
    adapter = DynamicGridAdapter(
        trainer,
        space,
        criterion=lowest("norm" if not bad else "loss"),
        adapt_every=max(lengths),
        try_for=min(lengths),
        proposer=proposer,
        selection=selection,
        keep=keep,
        randomness=randomness_of(proposer, randomness),
    )
    planned = plan_for(adapter, epochs)
    failed = False
    try:
        adapter.run(epochs)
    except RuntimeError:
        return  # all tries failed: nothing was delivered
    cost = spent(adapter.history)
    failed = any(try_.error for round_ in adapter.history for try_ in round_.tries)
    assert cost.total == trainer.trained
    assert cost.main_line == planned.most.main_line == epochs
    assert cost.total <= planned.most.total
    if not failed:
        assert planned.least.total <= cost.total
        assert cost == planned.most or not planned.exact
    if isinstance(proposer, FullGrid | Placebo):
        assert planned.exact


@pytest.mark.parametrize("selection", [Best(), Racing()])
@pytest.mark.parametrize("randomness", ["common", "independent"])
@pytest.mark.parametrize("keep", ["winner", "value"])
def test_plan_and_plan_for_agree(selection: Any, randomness: Any, keep: Any) -> None:
    adapter = DynamicGridAdapter(
        Toy(),
        SPACES[0],
        criterion=lowest("loss"),
        adapt_every=5,
        try_for=3,
        selection=selection,
        keep=keep,
        randomness=randomness,
    )
    planned = plan_for(adapter, 13)
    restart = (keep, randomness) == ("value", "independent")
    assert planned.most == plan(
        epochs=13, adapt_every=5, try_for=3, candidates=4, selection=selection, restart=restart
    )
    assert planned.exact
    assert spent(adapter.run(13)) == planned.least


def test_a_plan_that_is_not_exact_shows_both_ends() -> None:
    adapter = DynamicGridAdapter(
        Toy(),
        SPACES[0],
        criterion=lowest("loss"),
        adapt_every=5,
        try_for=1,
        proposer=Neighbors(),
    )
    planned = plan_for(adapter, 10)
    assert planned == Plan(
        least=Cost(main_line=10, overhead=4), most=Cost(main_line=10, overhead=6)
    )
    assert planned.least.candidates == planned.most.candidates == 4  # the whole grid's
    assert not planned.exact
    assert str(planned) == (
        "at least 10 epochs on the main line + 4 overhead = 14: 1.40 runs, 35% of a complete "
        "search of 4; at most 10 epochs on the main line + 6 overhead = 16: 1.60 runs, 40% of a "
        "complete search of 4"
    )
    assert str(Plan(least=planned.most, most=planned.most)) == str(planned.most)


def test_nothing_spent_is_no_runs() -> None:
    cost = spent([])
    assert cost == Cost(main_line=0, overhead=0)
    assert (cost.total, cost.runs, cost.candidates) == (0, 0.0, None)
    assert str(cost) == "0 epochs on the main line + 0 overhead = 0: 0.00 runs"


def test_where_an_axis_has_no_ends_there_is_no_complete_search() -> None:
    adapter = DynamicGridAdapter(
        Toy(), {"lr": Around(0.1)}, criterion=lowest("loss"), adapt_every=5, try_for=1
    )
    planned = plan_for(adapter, 10)
    assert planned.least.candidates is planned.most.candidates is None


def test_what_has_not_ended_is_counted_in_runs_of_the_planned_length() -> None:
    going = Cost(main_line=10, overhead=4, abandoned=6, candidates=5)
    assert going.text(40) == (
        "10 epochs on the main line + 4 overhead + 6 abandoned = 20: 0.50 runs so far, 10% of a "
        "complete search of 5"
    )
    assert going.text(10) == going.text(8) == str(going)
    assert going.in_runs(10) == "2.00 runs"
    assert Cost(main_line=0, overhead=0).in_runs() == "0.00 runs"


def test_a_cost_says_what_was_left_behind() -> None:
    assert str(Cost(main_line=10, overhead=4, abandoned=6)) == (
        "10 epochs on the main line + 4 overhead + 6 abandoned = 20: 2.00 runs"
    )


def test_a_plan_in_mid_run_is_what_was_spent_and_what_is_left() -> None:
    # Two runs to 15 and 30 have a short round more than one run to 30.
    adapter = DynamicGridAdapter(
        Toy(), {"lr": [0.1, 0.2, 0.3]}, criterion=lowest("loss"), adapt_every=10, try_for=1
    )
    assert plan_for(adapter, 30).most.overhead == 6 + 2
    adapter.run(15)
    planned = plan_for(adapter, 30)
    assert planned.exact
    assert planned.most == spent(adapter.run(30)) == Cost(main_line=30, overhead=8 + 2)
    assert plan_for(adapter, 20).most == planned.most  # what is spent is spent


def test_spent_counts_what_was_begun() -> None:
    trainer = Diary({0: 3, 1: ValueError("no"), 2: 1})
    adapter = DynamicGridAdapter(
        trainer, {"x": [0, 1, 2]}, criterion=lowest("loss"), adapt_every=4, try_for=3
    )
    cost = spent(adapter.run(7))
    assert cost == Cost(main_line=7, overhead=2 * (3 + 1) + 2 * 3)
    assert cost.total == trainer.trained


@pytest.mark.parametrize(
    "arguments",
    [
        {"epochs": 0},
        {"epochs": 1.5},
        {"adapt_every": -1},
        {"try_for": True},
        {"try_for": 5},
        {"candidates": 0},
    ],
)
def test_a_plan_that_cannot_be_is_refused(arguments: dict[str, Any]) -> None:
    given = {"epochs": 10, "adapt_every": 4, "try_for": 1, "candidates": 3} | arguments
    with raises(SettingsError):
        plan(**given)


def test_plan_for_refuses_epochs_that_are_none() -> None:
    adapter = DynamicGridAdapter(
        Toy(), SPACES[0], criterion=lowest("loss"), adapt_every=4, try_for=1
    )
    with raises(SettingsError):
        plan_for(adapter, None)  # type: ignore[arg-type]
