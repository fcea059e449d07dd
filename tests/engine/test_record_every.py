"""How often a round is recorded does not change when rounds with tries begin."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynhp import DynamicGridAdapter, adapt, lowest, plan_for, spent
from dynhp.loops import LoopDriver, Move
from dynhp.testing.toys.quadratic import NoisyQuadratic
from dynhp.triggers import At, Every, LineSoFar, OnPlateau, OnSpike, any_of
from tests.support.kinds import LOSS_TRIGGERS
from tests.support.loops import loop_over, run, seen, train
from tests.support.reference import Toy, bits
from tests.support.reference_when import WhenSettings, bad_values, problems


def asked_twice(line: LineSoFar) -> bool:
    """Due also right where tries have ended, and where they led back to their start."""
    return line.epoch % 4 == 0


AFTER_TRIES: dict[str, tuple[Any, list[int]]] = {
    "every": (Every(4), [0, 4, 8]),
    "every, beside what reads": (any_of(Every(4), OnSpike("loss", factor=1e9)), [0, 4, 8]),
    "moments in tries": (At([0, 3, 8, 9]), [0, 4, 8]),
    "one's own": (asked_twice, [0, 4, 8]),
}


@pytest.mark.parametrize(("when", "starts"), AFTER_TRIES.values(), ids=AFTER_TRIES)
@pytest.mark.parametrize("driver", ["adapter", "loop", "hooks"])
@pytest.mark.parametrize("record_every", [1, 4, 10])
def test_a_round_begins_right_after_the_tries_of_the_one_before(
    when: Any, starts: list[int], driver: str, record_every: int
) -> None:
    arguments: dict[str, Any] = {"when": when, "try_for": 4, "record_every": record_every}
    model = NoisyQuadratic()
    if driver == "adapter":
        line: Any = DynamicGridAdapter(
            model, {"lr": [0.01, 0.1]}, criterion=lowest("loss"), check="off", **arguments
        )
        plan = plan_for(line, 12)
        line.run(12)
        assert not plan.exact or plan.most == spent(line)
        assert plan.exact == (when != asked_twice and len(getattr(when, "metrics", ())) == 0)
    else:
        line = loop_over(model, 12, adapt_every=None, space={"lr": [0.01, 0.1]}, **arguments)
        if driver == "loop":
            run(line, lambda epoch: train(model, epoch))
        else:
            driver_of, move = LoopDriver(line), Move.GO_ON
            while move is not Move.STOP:
                model.train_k(1, driver_of.begin_epoch().values)
                move = driver_of.end_epoch(model.metrics())
    assert [round_.start for round_ in line.history if round_.tries] == starts
    assert model.steps == line.history.epochs == 12


@pytest.mark.parametrize("record_every", [1, 4, 10])
def test_the_trigger_is_not_asked_after_tries_that_are_undone(record_every: int) -> None:
    trainer = Toy(1)
    adapter = DynamicGridAdapter(
        trainer, {"lr": [0.05, 0.2]}, criterion=lowest("loss"), when=asked_twice, try_for=4,
        record_every=record_every, dry_run=True,
    )  # fmt: skip
    adapter.run(12)
    assert [round_.start for round_ in adapter.history if round_.tries] == [0, 4, 8]


@settings(max_examples=100, deadline=None)
@given(
    problem=problems(),
    try_for=st.integers(2, 5),
    seed=st.integers(0, 99),
    bad=bad_values,
    epochs=st.integers(1, 25),
    other=st.integers(1, 30),
)
def test_records_change_nothing(
    problem: WhenSettings, try_for: int, seed: int, bad: tuple[Any, Any], epochs: int, other: int
) -> None:
    if isinstance(problem.when, Every):
        try_for = min(try_for, problem.when.n)
    ends = []
    for every in (problem.record_every, other):
        trainer = Toy(seed, raising=bad[0], blind=bad[1])
        adapter = replace(problem, record_every=every, try_for=try_for).made(trainer)
        try:
            adapter.run(epochs)
        except Exception as error:  # whatever ends one ends the other
            ends.append((type(error), [], ""))
        else:
            ends.append((None, tries_of(adapter), bits(trainer.get_state())))
    assert ends[0] == ends[1]


@settings(max_examples=100, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    steps=st.integers(1, 40),
    when=st.sampled_from(
        [
            *LOSS_TRIGGERS,
            any_of(Every(7), OnPlateau("loss", patience=4)),
        ]
    ),
    try_for=st.integers(1, 5),
    gap=st.integers(1, 5),
    start_from=st.sampled_from(["here", "best", "before"]),
    record_every=st.tuples(st.integers(1, 20), st.integers(1, 20)),
)
def test_records_change_nothing_of_a_loop_over_steps(
    seed: int, steps: int, try_for: int, gap: int, record_every: tuple[int, int], **rest: Any
) -> None:
    ends = []
    if isinstance(rest["when"], Every):
        try_for = min(try_for, rest["when"].n)
    for every in record_every:
        model = NoisyQuadratic(seed=seed)
        loop = adapt(
            steps=steps, state=[model], space={"lr": [0.01, 0.3]}, criterion=lowest("loss"),
            try_for=try_for, record_every=every, max_rounds=4, check="off", **rest,
        )  # fmt: skip
        for step in loop:
            model.train_k(1, step.values)
            if step % min(gap, try_for) == 0:
                step.report(model.metrics())
        ends.append((tries_of(loop), seen(model)))
    assert ends[0] == ends[1]


def tries_of(run: Any) -> list[tuple[int, int, str, Any]]:
    return [
        (round_.start, round_.abandoned, round_.because, round_.candidate)
        for round_ in run.history
        if round_.tries
    ]
