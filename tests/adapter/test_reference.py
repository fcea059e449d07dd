"""The adapter against a plain reference of Algorithm 1, on random toy problems."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynhp import (
    Space,
    highest,
    lowest,
    phased,
    plan_for,
    smallest_gap,
    smoothed,
    spent,
)
from dynhp.engine import first_memory
from dynhp.planning import Plan
from tests.support.kinds import PROPOSERS, SELECTIONS, randomness_of, row_of
from tests.support.reference import ReferenceSettings, Toy, bits, reference, without_times

LR = [0.01, 0.05, 0.2, 0.6, 1.5]


def own_criterion(series: Any, progress: Any) -> float:
    """A criterion of one's own, which is sometimes not finite."""
    gain = series[0]["norm"] - series[-1]["norm"] + progress.share
    return float("nan") if gain < -0.5 else float(gain)


CRITERIA = [
    lowest("loss"),
    highest("norm"),
    smallest_gap("loss", "norm"),
    smallest_gap("loss", "norm", floor=1.0),
    smoothed(lowest("loss")),
    smoothed(lowest("loss"), 2),
    phased(lowest("norm"), lowest("loss"), at=0.5),
    own_criterion,
]


@st.composite
def problems(draw: st.DrawFn) -> ReferenceSettings:
    axes: dict[str, Any] = {"lr": LR[: draw(st.integers(1, 5))]}
    if draw(st.booleans()):
        axes["momentum"] = [0.0, 0.5, 0.9][: draw(st.integers(1, 3))]
    proposer = draw(st.sampled_from(PROPOSERS))
    adapt_every = draw(st.integers(1, 7))
    return ReferenceSettings(
        space=Space(axes),
        criterion=draw(st.sampled_from(CRITERIA)),
        adapt_every=adapt_every,
        try_for=draw(st.integers(1, adapt_every)),
        proposer=proposer,
        selection=draw(st.sampled_from(SELECTIONS)),
        keep=draw(st.sampled_from(["winner", "value"])),
        randomness=randomness_of(proposer, draw(st.sampled_from(["common", "independent"]))),
        seed=draw(st.integers(0, 2**32)),
    )


def trainers(seed: int, bad: tuple[list[float], list[float]]) -> tuple[Toy, Toy]:
    return Toy(seed, raising=bad[0], blind=bad[1]), Toy(seed, raising=bad[0], blind=bad[1])


some_values = st.lists(st.sampled_from(LR), max_size=2)
bad_values = st.one_of(st.just(([], [])), st.tuples(some_values, some_values))


@pytest.mark.many
@settings(max_examples=150, deadline=None)
@given(problems(), st.integers(0, 99), bad_values, st.integers(1, 25))
def test_adapter_equals_reference(
    problem: ReferenceSettings, seed: int, bad: tuple[list[float], list[float]], epochs: int
) -> None:
    trainer, plain = trainers(seed, bad)
    expected = reference(plain, problem, epochs)
    adapter = problem.adapter(trainer)
    if plain.error is not None:
        with pytest.raises(type(plain.error)):
            adapter.run(epochs)
    else:
        adapter.run(epochs)
        assert adapter.epoch == epochs
        assert_counted(adapter, trainer, failures=any(bad))
    adapted = [dataclasses.replace(round_, reason="") for round_ in adapter.history]
    assert without_times(adapted) == without_times(expected)
    assert bits(trainer.get_state()) == bits(plain.get_state())
    if plain.error is None:
        again = sum(r.winner.epochs for r in expected) if saves_the_way_back(problem) else 0
        assert trainer.trained == plain.trained - again


def saves_the_way_back(problem: ReferenceSettings) -> bool:
    return problem.keep == "value" and problem.randomness == "common"


def planned_before(adapter: Any) -> Plan:
    """The plan as it was before the first round."""
    memory = adapter.memory
    adapter.memory = first_memory(memory.rounds[0].previous, seed=adapter.policy.seed)
    try:
        return plan_for(adapter, memory.epoch)
    finally:
        adapter.memory = memory


def assert_counted(adapter: Any, trainer: Toy, *, failures: bool) -> None:
    """Plan, count and trainer agree on the epochs."""
    planned, cost = planned_before(adapter), spent(adapter.history)
    assert cost.total == trainer.trained
    assert cost.total <= planned.most.total
    if not failures:
        assert planned.least.total <= cost.total
        if planned.exact:
            assert cost == planned.most


@pytest.mark.parametrize("proposer", PROPOSERS, ids=repr)
@pytest.mark.parametrize("selection", SELECTIONS, ids=repr)
def test_every_proposer_with_every_selection(proposer: Any, selection: Any) -> None:
    problem = ReferenceSettings(
        space=Space({"lr": LR, "momentum": [0.0, 0.5, 0.9]}),
        criterion=lowest("loss"),
        adapt_every=5,
        try_for=3,
        proposer=proposer,
        selection=selection,
        randomness="independent",
        seed=3,
    )
    trainer, plain = trainers(1, ([], []))
    expected = reference(plain, problem, 33)
    adapter = problem.adapter(trainer)
    adapted = [dataclasses.replace(round_, reason="") for round_ in adapter.run(33)]
    assert without_times(adapted) == without_times(expected)
    assert len(adapted) == 7
    assert_counted(adapter, trainer, failures=False)
    if not row_of(proposer).stays:
        assert any(round_.changed for round_ in adapted), (
            f"{proposer!r} never changed the value; if that is right, its row says stays=True"
        )
