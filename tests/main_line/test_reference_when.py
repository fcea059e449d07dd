"""The adapter with triggers against a plain reference, on random toy problems."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynhp import Space, lowest, plan_for, replay, schedule_of, smoothed, spent
from dynhp.main_line import Snapshots
from tests.support.kinds import PROPOSERS, SELECTIONS, TRIGGERS, randomness_of
from tests.support.reference import Toy, bits, without_times
from tests.support.reference_when import ReferenceWhen, WhenSettings

LR = [0.01, 0.05, 0.2, 0.6, 1.5]


@st.composite
def problems(draw: st.DrawFn) -> WhenSettings:
    proposer = draw(st.sampled_from(PROPOSERS))
    start_from = draw(st.sampled_from(["here", "best", "before"]))
    back = start_from != "here"
    return WhenSettings(
        space=Space({"lr": LR[: draw(st.integers(1, 5))]}),
        criterion=draw(st.sampled_from([lowest("loss"), smoothed(lowest("loss"), 2)])),
        when=draw(st.sampled_from(TRIGGERS)),
        record_every=draw(st.integers(1, 7)),
        try_for=draw(st.integers(1, 4)),
        proposer=proposer,
        selection=draw(st.sampled_from(SELECTIONS)),
        keep=draw(st.sampled_from(["winner", "value"])),
        randomness=randomness_of(proposer, draw(st.sampled_from(["common", "independent"]))),
        seed=draw(st.integers(0, 2**32)),
        start_from=start_from,
        snapshots=Snapshots(k=draw(st.integers(1, 3)), every=draw(st.integers(1, 4))),
        max_rounds=draw(st.integers(0, 4)) if back else draw(st.none() | st.integers(0, 4)),
        max_rescues=draw(st.integers(0, 3)) if back else 0,
    )


some_values = st.lists(st.sampled_from(LR), max_size=2)
bad_values = st.one_of(st.just(([], [])), st.tuples(some_values, some_values))


@settings(max_examples=200, deadline=None)
@given(problems(), st.integers(0, 99), bad_values, st.integers(1, 25))
def test_adapter_equals_reference(
    problem: WhenSettings, seed: int, bad: tuple[list[float], list[float]], epochs: int
) -> None:
    trainer, plain, third = (Toy(seed, raising=bad[0], blind=bad[1]) for _ in range(3))
    expected = ReferenceWhen(plain, problem, epochs)
    expected.run()
    adapter = problem.made(trainer)
    plan = plan_for(adapter, epochs)
    if expected.error is not None:
        with pytest.raises(expected.error):
            adapter.run(epochs)
    else:
        adapter.run(epochs)
        assert adapter.epoch == epochs
        cost = spent(adapter.history)
        assert cost.total == trainer.trained
        assert cost.main_line == epochs
        assert cost.total <= plan.most.total
        if not any(bad):
            assert plan.least.total <= cost.total
            assert not plan.exact or cost == plan.most
        if not bad[0]:
            replay(schedule_of(adapter), third)
            assert bits(third.get_state()) == bits(trainer.get_state())
            assert third.trained == epochs
    assert records(adapter.history, problem) == records(expected.rounds, problem)
    assert bits(trainer.get_state()) == bits(plain.get_state())


def records(rounds: Any, problem: WhenSettings) -> list[dict[str, Any]]:
    """What rounds say; where nothing looks inside them, the reference has measured more."""
    plain = without_times([dataclasses.replace(round_, reason="") for round_ in rounds])
    for round_ in plain:
        if not getattr(problem.when, "metrics", ()):
            round_.pop("stretch", None)
    return plain
