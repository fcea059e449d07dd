"""A loop and a trainer under the same adapter are the same run: same records, same state."""

from __future__ import annotations

import weakref
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynhp import (
    Best,
    BestByMargin,
    DynamicGridAdapter,
    FullGrid,
    Interpolation,
    Neighbors,
    Placebo,
    Racing,
    adapt,
    lowest,
    replay,
    schedule_of,
    smoothed,
    trainer_from,
)
from dynhp.loops import Part
from dynhp.loops.parts import Parts, global_generators, part_of
from dynhp.testing.toys.quadratic import NoisyQuadratic


@pytest.mark.many
@given(
    seed=st.integers(0, 2**32),
    epochs=st.integers(1, 12),
    adapt_every=st.integers(1, 5),
    try_share=st.floats(0, 1),
    proposer=st.sampled_from([FullGrid(), Neighbors(), Interpolation(), Placebo(3)]),
    selection=st.sampled_from([Best(), Racing(), Racing(0.3), BestByMargin(noise=1.0)]),
    keep=st.sampled_from(["winner", "value"]),
    randomness=st.sampled_from([None, "common", "independent"]),
    fails=st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_a_loop_is_the_same_run_as_a_trainer(
    seed: int, epochs: int, adapt_every: int, try_share: float, fails: bool, **rest: Any
) -> None:
    if isinstance(rest["proposer"], Placebo):
        rest["randomness"] = None
    arguments: dict[str, Any] = {
        "space": {"lr": [0.01, 0.03, 0.1, 0.3]},
        "criterion": smoothed(lowest("loss")),
        "adapt_every": adapt_every,
        "try_for": max(1, round(try_share * adapt_every)),
        "seed": seed,
        **rest,
    }
    model, other = NoisyQuadratic(seed=seed), NoisyQuadratic(seed=seed)

    def train_k(k: int, values: Any) -> None:
        for _ in range(k):
            other.train_k(1, values)
            if fails and values["lr"] == 0.3:
                raise ArithmeticError("diverged")

    parts = Parts((part_of(other), *global_generators()))
    trainer = trainer_from(
        get_state=parts.get_state,
        set_state=parts.set_state,
        train_k=train_k,
        metrics=other.metrics,
        reseed=parts.reseed,
    )
    adapter = DynamicGridAdapter(trainer, arguments.pop("space"), **arguments)
    adapter.run(epochs)

    loop = adapt(epochs, state=[model], space=adapter.policy.space, **arguments)
    for epoch in loop:
        with epoch:
            model.train_k(1, epoch.values)
            if fails and epoch["lr"] == 0.3:
                raise ArithmeticError("diverged")
            epoch.report(**model.metrics())
    # A trainer is measured once at the end of a stretch, the body of a loop reports each epoch.
    assert [replace(round_, stretch=()) for round_ in loop.history] == list(adapter.history)
    assert [number for number, _ in loop.history.measured] == list(range(epochs))
    assert dict(adapter.history.measured).items() <= dict(loop.history.measured).items()
    assert repr(model.get_state()) == repr(other.get_state())

    again = NoisyQuadratic(seed=seed)
    replay(schedule_of(loop.history), again)
    assert repr(again.get_state()) == repr(model.get_state())


class CountedWeights:
    """A state that can be counted."""

    def __init__(self, value: np.ndarray[Any, Any]) -> None:
        self.value = value


def test_no_more_states_are_alive_than_need_be() -> None:
    alive: weakref.WeakSet[CountedWeights] = weakref.WeakSet()
    model = NoisyQuadratic()

    def get() -> CountedWeights:
        state = CountedWeights(model.weights.copy())
        alive.add(state)
        return state

    def put(state: CountedWeights) -> None:
        model.weights = state.value.copy()

    loop = adapt(
        6,
        check="off",
        state=[Part(get=get, set=put)],
        space={"lr": [0.01, 0.03, 0.1, 0.3, 0.5, 0.6]},
        criterion=lowest("loss"),
        adapt_every=3,
        try_for=2,
    )
    most = 0
    for epoch in loop:
        most = max(most, len(alive))
        model.train_k(1, {"lr": epoch["lr"]})
        epoch.report(loss=model.metrics()["loss"])
    assert most == 2  # the origin and the best; the current one is the model itself
