"""Loops with triggers: the same run as a trainer's, and what a loop must report for it."""

from __future__ import annotations

import copy
import math
import shutil
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynhp import DynamicGridAdapter, adapt, lowest, rescue, schedule_of, spent, trainer_from
from dynhp.errors import LoopError, RescuesSpent
from dynhp.loops.parts import Parts, global_generators, part_of
from dynhp.proposers import Ladder
from dynhp.snapshots import Snapshots
from dynhp.storage import checkpoints
from dynhp.testing.toys.quadratic import NoisyQuadratic
from dynhp.triggers import At, OnPlateau, OnSpike
from dynhp.triggers.contract import ask
from tests.support.kinds import LOSS_TRIGGERS
from tests.support.loops import loop_over, run, seen, train
from tests.support.messages import raises
from tests.support.reference import without_times


@pytest.mark.many
@given(
    seed=st.integers(0, 2**32),
    epochs=st.integers(1, 14),
    when=st.sampled_from(LOSS_TRIGGERS),
    try_for=st.integers(1, 3),
    record_every=st.integers(1, 5),
    start_from=st.sampled_from(["here", "best", "before"]),
    max_rescues=st.integers(0, 4),
    fails=st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_a_loop_is_the_same_run_as_a_trainer(
    seed: int, epochs: int, fails: bool, max_rescues: int, **rest: Any
) -> None:
    back = rest["start_from"] != "here"
    arguments: dict[str, Any] = {
        "space": {"lr": [0.01, 0.03, 0.1, 0.3]},
        "criterion": lowest("loss"),
        "max_rounds": 3,
        "max_rescues": max_rescues if back else 0,
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
    expected: type[BaseException] | None = None
    try:
        adapter.run(epochs)
    except (RescuesSpent, ArithmeticError) as error:
        expected = type(error)

    loop = adapt(epochs, state=[model], space=adapter.policy.space, **arguments)

    def body() -> None:
        for epoch in loop:
            with epoch:
                model.train_k(1, epoch.values)
                if fails and epoch["lr"] == 0.3:
                    raise ArithmeticError("diverged")
                epoch.report(**model.metrics())

    if expected is not None:
        with pytest.raises(expected):
            body()
        return
    body()
    assert _plain(loop.history) == _plain(adapter.history)
    assert repr(model.get_state()) == repr(other.get_state())
    assert schedule_of(loop) == schedule_of(adapter)


def _plain(history: Any) -> list[dict[str, Any]]:
    plain = without_times(history)
    for round_ in plain:
        round_.pop("stretch", None)  # a loop reports also where nothing looks
    return plain


def test_a_main_line_that_is_watched_must_be_reported() -> None:
    model = NoisyQuadratic()
    loop = loop_over(model, adapt_every=None, when=OnPlateau("loss", patience=2))
    with raises(LoopError):
        run(loop, lambda epoch: model.train_k(1, {"lr": epoch["lr"]}))
    loop = loop_over(
        model, adapt_every=None, when=At([3]), start_from="best", max_rounds=1
    )  # whose criterion must see it
    with raises(LoopError):
        run(loop, lambda epoch: model.train_k(1, {"lr": epoch["lr"]}))


def test_what_looks_at_nothing_needs_no_report() -> None:
    model = NoisyQuadratic()
    loop = loop_over(model, adapt_every=None, when=At([3]))
    for epoch in loop:
        model.train_k(1, {"lr": epoch["lr"]})
        if epoch.trying:
            epoch.report(**model.metrics())
    assert [round_.start for round_ in loop.history if round_.tries] == [3]


def test_steps_are_reported_when_they_were_measured() -> None:
    model = NoisyQuadratic()

    def steps(every: int, **more: Any) -> Any:
        loop = adapt(
            steps=60, state=[model], space={"lr": [0.01, 0.1]}, minimize="loss", try_for=5,
            when=OnPlateau("loss", patience=10), check="off", **more,
        )  # fmt: skip
        for step in loop:
            model.train_k(1, {"lr": step["lr"]})
            if step % every == every - 1:
                step.report(**model.metrics())
        return loop

    for more in ({"record_every": 10}, {"record_every": 2}, {}):  # also fewer than lie between two
        measured = dict(steps(5, **more).history.measured)
        assert list(measured) == list(range(4, 60, 5))
    with raises(LoopError):
        steps(50)


def test_an_exception_outside_the_context_is_raised_as_ever() -> None:
    model = NoisyQuadratic()
    loop = adapt(
        9,
        state=[model],
        policy=rescue("lr", default=0.1, loss="loss"),
        max_rescues=1,
        check="off",
    )

    def body(epoch: Any) -> None:
        train(model, epoch)
        assert epoch == 0 or 1 / 0

    with pytest.raises(ZeroDivisionError):
        run(loop, body)
    assert loop.adapter.epoch == model.steps == 2  # what was reported has been


def test_killed_and_going_on(tmp_path: Any) -> None:
    arguments: dict[str, Any] = {
        "adapt_every": None, "when": OnPlateau("loss", patience=2), "start_from": "before",
        "snapshots": Snapshots(k=3), "max_rounds": 4, "record_every": 4,
    }  # fmt: skip
    whole = NoisyQuadratic()
    undisturbed = loop_over(whole, 20, **arguments)
    run(undisturbed, lambda epoch: train(whole, epoch))
    assert sum(bool(round_.tries) for round_ in undisturbed.history) == 4
    assert spent(undisturbed).abandoned > 0
    kills = 0
    while True:  # what is on disk in the middle of a pass is all that a kill leaves
        model = NoisyQuadratic()
        loop = loop_over(model, 20, **arguments)
        with checkpoints(tmp_path / str(kills), loop):
            for count, epoch in enumerate(loop):
                train(model, epoch)
                if count == 4 + kills:
                    shutil.copytree(tmp_path / str(kills), tmp_path / str(kills + 1))
                    break
            else:
                break
        kills += 1
    assert kills > 3
    assert seen(model) == seen(whole)
    assert without_times(loop.history) == without_times(undisturbed.history)


def test_a_loop_left_on_the_main_line_is_looked_at_as_far_as_it_came() -> None:
    model = NoisyQuadratic()
    loop = loop_over(model, adapt_every=None, when=OnSpike("loss", factor=9.0), record_every=50)
    for epoch in loop:
        train(model, epoch)
        if epoch == 3:
            break
    assert loop.history.epochs == 4
    line = loop.adapter.memory.line
    assert line is not None
    assert len(line.measured) == 4
    assert ask(loop.adapter.policy.trigger, line) is None


def test_the_text_of_a_loop() -> None:
    loop = adapt(40, state=[NoisyQuadratic()], policy=rescue("lr", default=0.1, loss="loss"))
    text = str(loop)
    assert "when   OnSpike(metric='loss'" in text
    assert ", tries of 3 from before\n" in text
    assert "at least 40 epochs on the main line + 0 overhead = 40: 1.00 runs" in text
    assert "when=OnSpike(" in repr(loop)


def test_the_text_says_where_tries_start_unless_it_is_here() -> None:
    model = NoisyQuadratic()
    back: Any = {"start_from": "best", "max_rounds": 9}
    assert "every  3 epochs, tries of 1 from best\n" in str(loop_over(model, **back))
    assert "every  3 epochs, tries of 1\n" in str(loop_over(model))
    when: Any = {"adapt_every": None, "when": OnSpike("loss", factor=9.0)}
    assert ", tries of 1\n" in str(loop_over(model, **when))


def test_generators_of_the_caller_are_left_as_they_were() -> None:
    import random

    random.seed(5)
    before = random.getstate()
    model = NoisyQuadratic()
    loop = adapt(
        9, state=[model], space={"lr": [0.01, 0.1]}, minimize="loss", initial={"lr": 0.1},
        when=OnSpike("loss", factor=9.0), proposer=Ladder(), start_from="before", max_rounds=0,
        max_rescues=1, try_for=1, check="off",
    )  # fmt: skip
    for epoch in loop:
        model.train_k(1, {"lr": epoch["lr"]})
        value = math.nan if epoch == 4 and epoch.main and not loop.history[-1].rescue else 1.0
        epoch.report(loss=value)
    assert sum(round_.rescue for round_ in loop.history) == 1
    assert random.getstate() == before


def test_an_exception_on_the_main_line_begins_a_round() -> None:
    model, left = NoisyQuadratic(), [1]
    loop = adapt(
        9,
        state=[model],
        policy=rescue("lr", default=0.1, loss="loss", spike=1e9, try_for=1),
        check="off",
    )
    for epoch in loop:
        with epoch:
            model.train_k(1, {"lr": epoch["lr"]})
            if epoch == 3 and epoch.main and left:
                raise ArithmeticError(f"bad batch {left.pop()}")
            epoch.report(**model.metrics())
    assert [round_.failure for round_ in loop.history if round_.failure] == [
        "ArithmeticError: bad batch 1"
    ]
    [saved] = [round_ for round_ in loop.history if round_.tries]
    assert (saved.start, saved.rescue, saved.abandoned) == (3, True, 0)
    assert model.steps == 9
    assert spent(loop).abandoned == 1


@pytest.mark.parametrize("start_from", ["here", "best", "before"])
def test_a_loop_that_is_saved_by_hand_in_the_middle_of_a_round(start_from: str) -> None:
    arguments: dict[str, Any] = {
        "adapt_every": None, "when": OnPlateau("loss", patience=2), "start_from": start_from,
        "max_rounds": 3, "record_every": 5,
    }  # fmt: skip
    whole = NoisyQuadratic()
    undisturbed = loop_over(whole, 20, **arguments)
    run(undisturbed, lambda epoch: train(whole, epoch))
    assert sum(bool(round_.tries) for round_ in undisturbed.history) == 3
    for stop in range(1, 40, 3):
        model = NoisyQuadratic()
        loop, saved = loop_over(model, 20, **arguments), None
        for passes, epoch in enumerate(loop, start=1):
            train(model, epoch)
            if passes >= stop and epoch.main:
                saved = copy.deepcopy((loop.state_dict(), model.get_state()))
                break
        if saved is None:
            break
        other = NoisyQuadratic()
        again = loop_over(other, 20, **arguments)
        again.load_state_dict(saved[0])
        other.set_state(saved[1])
        run(again, lambda epoch, other=other: train(other, epoch))
        assert seen(other) == seen(whole)
        assert without_times(again.history) == without_times(undisturbed.history)


def test_the_best_state_among_steps_that_were_reported() -> None:
    model = NoisyQuadratic()
    loop = adapt(
        steps=30, state=[model], space={"lr": [0.01, 0.1]}, minimize="loss", try_for=4,
        when=At([0.5]), start_from="best", max_rounds=1, record_every=10, check="off",
    )  # fmt: skip
    for step in loop:
        model.train_k(1, {"lr": step["lr"]})
        if step % 2:
            step.report(**model.metrics())
    [round_] = [round_ for round_ in loop.history if round_.tries]
    assert round_.start % 2 == 0
    assert round_.abandoned == 15 - round_.start
