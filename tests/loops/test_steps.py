"""Loops over steps: the body runs once per step, and reports only when it has measured."""

from __future__ import annotations

import copy
import ctypes
import json
import pickle
from collections.abc import Iterable, Sized
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dynhp import Racing, adapt, plan_for, spent
from dynhp.errors import LoopError, SettingsError
from dynhp.loops import Epoch, Loop
from dynhp.loops.epoch import pickle_epochs_as
from dynhp.loops.named_number import named_number
from dynhp.records import Candidate
from dynhp.storage.codecs import decode, encode
from dynhp.tails import annealed
from dynhp.testing.toys.quadratic import NoisyQuadratic
from tests.support.loops import loop_over, replayed, run, seen
from tests.support.messages import raises


def steps_over(model: NoisyQuadratic, steps: int = 20, **settings: Any) -> Loop:
    known = {"steps": steps, "adapt_every": 10, "try_for": 4}
    return loop_over(model, epochs=None, **{**known, **settings})


def train_steps(model: NoisyQuadratic, loop: Loop, every: int) -> None:
    for step in loop:
        model.train_k(1, {"lr": step["lr"]})
        if (step + 1) % every == 0:
            step.report(model.metrics())


def test_the_body_reports_only_when_it_has_measured() -> None:
    model = NoisyQuadratic()
    loop = steps_over(model)
    train_steps(model, loop, every=2)
    tries = [try_ for round_ in loop.history for try_ in round_.tries]
    assert {(len(try_.series), try_.epochs, try_.reported) for try_ in tries} == {(2, 4, (2, 4))}
    assert [number for number, _ in loop.history.measured] == list(range(1, 20, 2))
    assert loop.history[-1].metrics == model.metrics()
    assert seen(replayed(loop)) == seen(model)
    assert (len(loop), bool(loop), loop.history.epochs) == (20, True, 20)


def test_a_step_is_a_loop_over_epochs_that_is_reported_now_and_then() -> None:
    by_steps, by_epochs = NoisyQuadratic(), NoisyQuadratic()
    train_steps(by_steps, steps_over(by_steps), every=1)
    loop = loop_over(by_epochs, epochs=20, adapt_every=10, try_for=4)
    train_steps(by_epochs, loop, every=1)
    assert seen(by_steps) == seen(by_epochs)


@pytest.mark.parametrize(
    ("every", "settings"),
    [
        (5, {}),
        (1000, {"try_for": 1}),
        (3, {"selection": Racing(every=2)}),
        (2, {"selection": Racing(every=1)}),
    ],
)
def test_a_try_without_a_report_says_which_steps_passed(
    every: int, settings: dict[str, Any]
) -> None:
    model = NoisyQuadratic()
    origin = seen(model)
    with raises(LoopError):
        train_steps(model, steps_over(model, **settings), every=every)
    assert seen(model) == origin


def test_a_step_says_whether_a_try_is_judged_after_it() -> None:
    model = NoisyQuadratic()
    loop = steps_over(model, tail=annealed("lr", epochs=3))
    last = []
    for step in loop:
        model.train_k(1, {"lr": step["lr"]})
        if step.ends_try:
            last.append((step.trying, step.tail, int(step)))
            step.report(model.metrics())
    tries = [try_ for round_ in loop.history for try_ in round_.tries]
    assert [try_.reported for try_ in tries] == [(7,)] * len(tries)
    assert set(last) == {(True, True, 6), (True, True, 16)}, "also that which is repeated"


def test_racing_over_steps_keeps_the_numbers_of_the_reports() -> None:
    model = NoisyQuadratic()
    loop = steps_over(model, try_for=8, selection=Racing(every=4))
    train_steps(model, loop, every=3)  # steps 2, 5 and 8 are reported: a stage has 0 to 3, 4 to 7
    assert loop.history[0].winner.reported == (3, 6)
    assert [number for number, _ in loop.history[0].measured] == [2, 5, 8]
    assert loop.history[0].metrics == {}  # step 9 was not measured


def test_a_stage_without_gaps_may_follow_one_with_gaps_and_the_other_way() -> None:
    for reported in ({0, 1, 3}, {1, 2, 3}):
        model = NoisyQuadratic()
        loop = steps_over(model, steps=4, adapt_every=4, selection=Racing(every=2))
        for step in loop:
            model.train_k(1, {"lr": step["lr"]})
            if step in reported:
                step.report(model.metrics())
        assert {number - 1 for number in loop.history[0].winner.reported} == reported
        assert {number for number, _ in loop.history.measured} == reported


def test_where_no_step_follows_the_try_the_end_is_its_last_step_or_unknown() -> None:
    for every, known in ((2, True), (3, False)):
        model = NoisyQuadratic()
        loop = steps_over(model, adapt_every=4)
        train_steps(model, loop, every=every)
        assert (loop.history[0].metrics != {}) == known


def test_a_failed_step_fails_the_try() -> None:
    model = NoisyQuadratic()
    loop = steps_over(model)
    for step in loop:
        with step:
            model.train_k(1, {"lr": step["lr"]})
            if step["lr"] == 0.3 and step.trying and step == 0:
                raise ArithmeticError("diverged")
            if step % 2:
                step.report(model.metrics())
    failed = [try_ for try_ in loop.history[0].tries if try_.error]
    assert [(try_.series, try_.epochs, try_.error) for try_ in failed] == [
        ((), 1, "ArithmeticError: diverged")
    ]


def test_the_plan_of_a_loop_is_what_it_spends() -> None:
    model = NoisyQuadratic()
    loop = steps_over(model)
    planned = plan_for(loop)
    assert planned == plan_for(loop.adapter, 20)
    train_steps(model, loop, every=2)
    assert spent(loop.history) == planned.most == plan_for(loop).most


@pytest.mark.parametrize(
    "arguments",
    [
        {"epochs": None},
        {"epochs": 5, "steps": 5},
        {"epochs": None, "steps": 0},
        {"epochs": None, "steps": 2.5},
    ],
)
def test_the_length_is_said_once(arguments: dict[str, Any]) -> None:
    with raises(SettingsError):
        loop_over(NoisyQuadratic(), **arguments)


@pytest.mark.parametrize(
    "arguments",
    [
        {"criterion": None},
        {"minimize": "loss"},
        {"criterion": None, "minimize": "a", "maximize": "b"},
        {"criterion": None, "minimize": 3},
        {"criterion": None, "maximize": ""},
        {"criterion": "loss"},
    ],
)
def test_what_a_try_is_worth_is_said_once(arguments: dict[str, Any]) -> None:
    with raises(SettingsError):
        loop_over(NoisyQuadratic(), **arguments)


@pytest.mark.parametrize("way", ["minimize", "maximize"])
def test_a_metric_in_place_of_a_criterion(way: str) -> None:
    model = NoisyQuadratic()
    loop = loop_over(model, criterion=None, **{way: "loss"})
    assert (
        repr(loop.adapter.policy.criterion)
        == f"{'lowest' if way == 'minimize' else 'highest'}('loss')"
    )


def test_an_epoch_is_a_number() -> None:
    epoch = Epoch(Candidate({"lr": 0.1}), number=12, trying=False)
    assert f"{epoch} {epoch:5d} {epoch:03}" == "12    12 012"
    assert (str(epoch), repr(epoch)) == ("12", "Epoch(12, {'lr': 0.1}, main line)")
    assert (epoch % 5, epoch + 1, -epoch, int(epoch), epoch.number) == (2, 13, -12, 12, 12)
    assert len(range(epoch)) == 12
    assert "abcdefghijklmn"[epoch] == "m"
    assert (epoch == 12, epoch < 13, {12: "x"}[epoch]) == (True, True, "x")
    assert json.dumps({"epoch": epoch}) == '{"epoch": 12}'
    pickled = (pickle.loads(pickle.dumps(epoch, protocol)) for protocol in (0, 4, 5))
    for copied in (copy.deepcopy(epoch), copy.copy(epoch), *pickled):
        assert (type(copied), copied) == (int, 12)
    assert (type(epoch.number), epoch.main, epoch.trying) == (int, True, False)
    assert (np.array([epoch]).tolist(), np.arange(20)[epoch], bool(epoch)) == ([12], 12, True)
    stored = decode(encode({"epoch": epoch}))["epoch"]  # a sampler's set_epoch keeps it
    assert (type(stored), stored) == (int, 12)


def test_a_framework_says_how_its_reader_gets_the_number_of_an_epoch() -> None:
    epoch = Epoch(Candidate({"lr": 0.1}), number=12, trying=False)
    pickle_epochs_as(Fraction, protocol=1)
    assert pickle.loads(pickle.dumps(epoch, 1)) == Fraction(12)
    assert type(pickle.loads(pickle.dumps(epoch, 4))) is int


def test_an_epoch_is_no_sequence() -> None:
    epoch: Any = Epoch(Candidate({"lr": 0.1}), number=12, trying=False)
    with pytest.raises(TypeError, match="has no len"):  # Python's own text, as for any number
        len(epoch)
    assert not isinstance(epoch, Iterable | Sized)
    assert ctypes.pythonapi.PySequence_Check(ctypes.py_object(epoch)) == 0  # asked by frameworks


def test_a_python_without_its_c_api_has_epochs_too() -> None:
    class Three(named_number(None)):  # type: ignore[misc]
        def __matmul__(self, name: str) -> str:
            return f"value of {name}"

    three: Any = Three(3)
    assert (three["lr"], three + 1, isinstance(three, Iterable)) == ("value of lr", 4, False)


def test_print_of_a_loop_is_a_short_table() -> None:
    model = NoisyQuadratic()
    loop = steps_over(model, space={"lr": [0.01, 0.1, 0.3]})
    assert str(loop).splitlines() == [
        "lr     0.01, 0.1, 0.3",
        "start  lr=0.1",
        "every  10 steps, tries of 4",
        "by     lowest('loss')",
        "plan   20 steps on the main line + 16 overhead = 36: 1.80 runs, 60% of a complete "
        "search of 3",
        "done   0 of 20 steps",
    ]
    assert repr(loop).startswith("Loop(steps=20, DynamicGridAdapter(")
    train_steps(model, loop, every=2)
    assert "now    lr=" in str(loop)
    assert "done   20 of 20 steps" in str(loop)
    many = loop_over(model, space={"lr": [0.01 * n for n in range(1, 100)]})
    assert max(map(len, str(many).splitlines())) <= 210


def test_reports_in_every_way() -> None:
    model = NoisyQuadratic()

    def body(epoch: Epoch) -> None:
        with raises(LoopError):
            epoch.report(0.5)  # type: ignore[arg-type]
        with raises(LoopError):
            epoch.report({})
        model.train_k(1, epoch.values)
        epoch.report(model.metrics(), extra=2.0)

    loop = adapt(2, state=[model], space={"lr": [0.1]}, minimize="loss", adapt_every=2, try_for=1)
    run(loop, body)
    assert loop.history[0].metrics == {**model.metrics(), "extra": 2.0}
