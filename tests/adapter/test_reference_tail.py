"""Tails, ladders and corrections against the plain reference of Algorithm 1, on random problems."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynhp import Best, BestByMargin, FullGrid, Neighbors, Space, lowest, plan_for, smoothed, spent
from dynhp.errors import AllTriesFailed
from dynhp.proposers import Climb
from dynhp.records import Candidate
from dynhp.spaces import Around
from dynhp.tails import annealed, at_peak, scale
from tests.adapter.test_reference import assert_counted
from tests.support.reference import (
    ReferenceSettings,
    Toy,
    bits,
    reference,
    restarts,
    without_times,
)


class HalfValue:
    """A tail of one's own: half the value, for so many epochs."""

    def __init__(self, epochs: int) -> None:
        self.epochs = epochs

    def __repr__(self) -> str:
        return f"HalfValue({self.epochs})"

    def length(self, planned: int | None, unit: str) -> int:
        return self.epochs

    def at(self, candidate: Candidate, progress: float) -> Candidate:
        return candidate.but({"lr": float(candidate["lr"]) / 2})  # type: ignore[arg-type]


def of_the_tail(series: Any, progress: Any) -> float:
    """A criterion that looks at the tail alone, and knows how much of the series that is."""
    tail = series[len(series) - progress.tail :]
    return -sum(each["loss"] for each in tail) / len(tail)


@st.composite
def problems(draw: st.DrawFn) -> ReferenceSettings:
    adapt_every = draw(st.integers(1, 7))
    return ReferenceSettings(
        space=Space(
            {
                "lr": Around(
                    draw(st.sampled_from([0.001, 0.05, 3.0])),
                    anchor=draw(st.sampled_from([None, 1.0])),
                )
            }
        ),
        criterion=draw(
            st.sampled_from([lowest("loss"), smoothed(lowest("loss"), 1 / 3), of_the_tail])
        ),
        adapt_every=adapt_every,
        try_for=draw(st.integers(0, adapt_every)),
        proposer=draw(
            st.sampled_from(
                [
                    Climb(),
                    Climb(1),
                    Climb(3, worse=1),
                    Climb(learns=lowest("loss")),
                    FullGrid(),
                    Neighbors(2),
                ]
            )
        ),
        selection=draw(st.sampled_from([Best(), BestByMargin(delta=0.01)])),
        keep=draw(st.sampled_from(["winner", "value"])),
        randomness=draw(st.sampled_from(["common", "independent"])),
        seed=draw(st.integers(0, 2**32)),
        tail=draw(
            st.sampled_from([annealed("lr", epochs=3), annealed("lr", epochs=0.2), HalfValue(1)])
        ),
        then=draw(st.sampled_from([None, scale(0.3), at_peak("lr", power=0.5)])),
    )


@pytest.mark.filterwarnings("ignore:lr was best at")
@settings(max_examples=150, deadline=None)
@given(problems(), st.integers(0, 99), st.integers(6, 25))  # a share of fewer epochs is refused
def test_adapter_equals_reference(problem: ReferenceSettings, seed: int, epochs: int) -> None:
    if isinstance(problem.proposer, FullGrid) and problem.then is not None:
        problem.proposer = Neighbors()  # the corrected value is not on the grid of the next round
    trainer, plain = Toy(seed), Toy(seed)
    expected = reference(plain, problem, epochs)
    adapter = problem.adapter(trainer)
    if plain.error is not None:
        with pytest.raises(AllTriesFailed):
            adapter.run(epochs)
        return
    adapter.run(epochs)
    adapted = [dataclasses.replace(round_, reason="") for round_ in adapter.history]
    assert without_times(adapted) == without_times(expected)
    assert bits(trainer.get_state()) == bits(plain.get_state())
    assert_counted(adapter, trainer, failures=False)
    saved = problem.keep == "value" and not restarts(problem)
    again = sum(round_.winner.own.epochs for round_ in expected) if saved else 0
    assert trainer.trained == plain.trained - again
    if isinstance(problem.proposer, Neighbors):
        assert plan_for(adapter, epochs).most == spent(adapter)
