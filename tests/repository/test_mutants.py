"""Tests that ``scripts/mutants.py`` asked for: each notices a change that no other test did."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dynhp import BestByMargin, DynamicGridAdapter, Float, Space, lowest, spent
from dynhp.planning import Cost
from dynhp.proposers import Known, Waves
from dynhp.records import Candidate, Round, Try
from dynhp.testing.toys.quadratic import NoisyQuadratic


def round_with_gain(gain: float) -> Round:
    """A round in which the value 1 scored that much above the value in force, 0."""
    tries = tuple(
        Try(candidate=Candidate({"x": value}), series=({},), epochs=1, score=value * gain)
        for value in (0, 1)
    )
    return Round(
        index=0,
        start=0,
        epochs=1,
        previous=tries[0].candidate,
        tries=tries,
        chosen=0,
        reason="",
        metrics={},
    )


@pytest.mark.parametrize(("calm", "kept"), [(48, 0), (49, 0), (50, 1), (80, 1)])
def test_noise_older_than_50_rounds_is_forgotten(calm: int, kept: int) -> None:
    wild, quiet = round_with_gain(9.0), round_with_gain(0.25)
    rank = BestByMargin(noise=2.0).ranking([wild] + [quiet] * calm, Candidate({"x": 0}))
    assert rank(quiet.tries)[0] == kept


def test_a_run_not_begun_has_cost_nothing() -> None:
    assert spent([]) == Cost(main_line=0, overhead=0)
    assert spent([]).candidates is None
    assert spent([], candidates=4).candidates == 4


def independent(**settings: Any) -> DynamicGridAdapter:
    return DynamicGridAdapter(
        NoisyQuadratic(noise=1.0),
        {"lr": [0.05, 0.1]},
        criterion=lowest("loss"),
        adapt_every=2,
        try_for=1,
        randomness="independent",
        **settings,
    )


def test_the_seed_is_0_where_none_is_given() -> None:
    default, zero, other = (independent(**s).run(4) for s in ({}, {"seed": 0}, {"seed": 1}))
    assert default == zero != other


def test_a_proposer_draws_from_the_adapters_own_generator() -> None:
    class OneDrawnToo:
        """The value in force, and one at random."""

        def propose(self, known: Known, rng: np.random.Generator) -> list[Candidate]:
            return [] if known.tries else [known.current, known.space.draw(rng)]

        def waves(self, space: Space, current: Candidate) -> Waves:
            return Waves((2,), (2,))

    def tried(seed: int) -> list[Candidate]:
        adapter = DynamicGridAdapter(
            NoisyQuadratic(),
            {"lr": Float(0.01, 0.1)},
            criterion=lowest("loss"),
            adapt_every=1,
            try_for=1,
            proposer=OneDrawnToo(),
            seed=seed,
        )
        return [round_.tries[1].candidate for round_ in adapter.run(3)]

    space, rng = Space({"lr": Float(0.01, 0.1)}), np.random.default_rng(5)
    assert tried(5) == [space.draw(rng) for _ in range(3)]
    assert tried(5) != tried(6)
