"""The adapter with triggers against a plain reference, on random toy problems."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynhp import Best, Racing, Space, lowest, plan_for, replay, schedule_of, spent
from dynhp.records import Round
from tests.support.losses import starts_inside
from tests.support.reference import Toy, bits, without_times
from tests.support.reference_when import (
    OFTEN,
    ReferenceWhen,
    WhenSettings,
    bad_values,
    problems,
    problems_from_the_best,
)


@pytest.mark.many
@settings(max_examples=200, deadline=None)
@given(problems(), st.integers(0, 99), bad_values, st.integers(1, 25))
def test_adapter_equals_reference(
    problem: WhenSettings, seed: int, bad: tuple[list[float], list[float]], epochs: int
) -> None:
    require_equal(problem, seed, bad, epochs)


@pytest.mark.many
@settings(max_examples=100, deadline=None)
@given(problems_from_the_best(), st.integers(0, 99), st.integers(9, 25))
def test_adapter_equals_reference_from_the_best_state(
    problem: WhenSettings, seed: int, epochs: int
) -> None:
    require_equal(problem, seed, ([], []), epochs)


def test_the_best_state_is_often_inside_a_try() -> None:
    inside = 0
    for seed, when in enumerate(OFTEN * 5):
        problem = WhenSettings(
            space=Space({"lr": [0.05, 0.2, 0.6]}), criterion=lowest("loss"), when=when, try_for=4,
            record_every=3, start_from="best", max_rounds=6, seed=seed,
            selection=[Best(), Racing(), Racing(every=2)][seed % 3],
        )  # fmt: skip
        inside += starts_inside(require_equal(problem, seed, ([], []), 20))
    assert inside >= 20


def require_equal(
    problem: WhenSettings, seed: int, bad: tuple[list[float], list[float]], epochs: int
) -> Sequence[Round]:
    """Run both, and compare all that is left of them; the rounds are given back."""
    trainer, plain, third = (Toy(seed, raising=bad[0], blind=bad[1]) for _ in range(3))
    expected = ReferenceWhen(plain, problem, epochs)
    expected.run()
    adapter = problem.made(trainer)
    length = {"epochs": epochs} if problem.until is None else {"at_most": epochs}
    plan = plan_for(adapter, epochs)
    if expected.error is not None:
        with pytest.raises(expected.error):
            adapter.run(**length)
    else:
        adapter.run(**length)
        assert adapter.epoch == expected.epoch
        assert adapter.epoch == epochs or adapter.history[-1].ended
        cost = spent(adapter.history)
        assert cost.total == trainer.trained
        assert cost.main_line == adapter.epoch
        assert cost.total <= plan.most.total
        if not any(bad):
            assert plan.least.total <= cost.total
            assert not plan.exact or cost == plan.most
        if not bad[0]:
            replay(schedule_of(adapter), third)
            assert bits(third.get_state()) == bits(trainer.get_state())
            assert third.trained == adapter.epoch
    assert records(adapter.history, problem) == records(expected.rounds, problem)
    assert bits(trainer.get_state()) == bits(plain.get_state())
    return expected.rounds


def records(rounds: Any, problem: WhenSettings) -> list[dict[str, Any]]:
    """What rounds say; where nothing looks inside them, the reference has measured more."""
    plain = without_times([dataclasses.replace(round_, reason="") for round_ in rounds])
    looks = [
        name for each in (problem.when, problem.until) for name in getattr(each, "metrics", ())
    ]
    for round_ in plain:
        if round_.get("ended", "").startswith("tests."):  # the rule itself, where it says nothing
            round_["ended"] = "by a rule without a reason"
        if not looks:
            round_.pop("stretch", None)
    return plain
