"""The loop driver: an ordinary loop, whatever its body does, and never a trace of a try."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import pytest

from dynhp import attribute
from dynhp.errors import AllTriesFailed, LoopError, MetricError, SettingsError
from dynhp.loops import Epoch, Loop, Part
from dynhp.records import Candidate
from dynhp.testing.toys.quadratic import NoisyQuadratic
from tests.support.loops import Layer, loop_over, replayed, run, seen, train
from tests.support.messages import raises


def test_the_body_runs_once_per_epoch_tries_included() -> None:
    model = NoisyQuadratic()
    loop = loop_over(model)
    passes = []
    for epoch in loop:
        passes.append((epoch.number, epoch.trying))
        train(model, epoch)
    first = [(0, True)] * 3 + [(1, False), (2, False)]
    assert passes[:5] == first
    assert [number for number, trying in passes if not trying] == [1, 2, 4, 5, 7, 8]
    assert loop.history.epochs == 9
    assert seen(replayed(loop)) == seen(model)


@pytest.mark.parametrize("error", [None, RuntimeError("oops"), KeyboardInterrupt()])
@pytest.mark.parametrize("passes", [1, 2, 3, 6, 7])
def test_leaving_during_a_try_leaves_no_trace(passes: int, error: BaseException | None) -> None:
    model = NoisyQuadratic()
    loop = loop_over(model)
    origin = seen(model)

    def body() -> None:
        nonlocal origin
        for count, epoch in enumerate(loop, start=1):
            train(model, epoch)
            if not epoch.trying:
                origin = seen(model)
            if count == passes:
                assert epoch.trying
                if error is not None:
                    raise error
                break

    if error is None:
        body()
    else:
        with pytest.raises(type(error)):
            body()
    assert seen(model) == origin
    assert loop.history.epochs == (3 if passes > 5 else 0)
    assert seen(replayed(loop)) == origin


@pytest.mark.parametrize("error", [None, RuntimeError("oops"), KeyboardInterrupt()])
@pytest.mark.parametrize("settings", [{}, {"keep": "value", "randomness": "independent"}])
def test_leaving_on_the_main_line_records_what_was_done(
    settings: dict[str, Any], error: BaseException | None
) -> None:
    for wanted in range(1, 6):
        model = NoisyQuadratic()
        loop = loop_over(model, **settings)

        def body(model: Any = model, loop: Any = loop, wanted: int = wanted) -> None:
            line = 0
            for epoch in loop:
                train(model, epoch)
                line += not epoch.trying
                if line == wanted:
                    if error is not None:
                        raise error
                    return

        if error is None:
            body()
        else:
            with pytest.raises(type(error)):
                body()
        assert loop.history[-1].metrics == model.metrics()
        assert seen(replayed(loop)) == seen(model)


def test_an_unreported_pass_that_is_left_is_not_counted() -> None:
    model = NoisyQuadratic()
    loop = loop_over(model)
    for epoch in loop:
        if epoch.number == 2:
            break
        train(model, epoch)
    assert loop.history.epochs == 2
    assert seen(replayed(loop)) == seen(model)


def test_a_main_line_without_a_single_epoch_is_no_round() -> None:
    model = NoisyQuadratic()
    origin = seen(model)
    loop = loop_over(model, keep="value", randomness="independent")
    for epoch in loop:
        if not epoch.trying:
            break
        train(model, epoch)
    assert (len(loop.history), seen(model)) == (0, origin)


def test_the_main_line_need_not_be_reported() -> None:
    model, quiet = NoisyQuadratic(), NoisyQuadratic()
    loop, other = loop_over(model), loop_over(quiet)
    for epoch in loop:
        train(model, epoch)
    for epoch in other:
        quiet.train_k(1, epoch.values)
        if not epoch.trying:
            continue
        epoch.report(**quiet.metrics())
    assert seen(model) == seen(quiet)
    assert other.history[-1].metrics == {}  # nobody measured where the round ended


def test_a_try_that_is_not_reported_stops_the_run_at_the_origin() -> None:
    model = NoisyQuadratic()
    origin = seen(model)

    def silent(epoch: Epoch) -> None:
        model.train_k(1, epoch.values)

    with raises(LoopError):
        run(loop_over(model), silent)
    assert seen(model) == origin


def test_with_epoch_a_failed_try_loses_and_the_run_goes_on() -> None:
    model = NoisyQuadratic()
    loop = loop_over(model)
    for epoch in loop:
        with epoch:
            model.train_k(1, epoch.values)
            if epoch["lr"] == 0.3:
                raise ArithmeticError("diverged")
            epoch.report(**model.metrics())
    tries = loop.history[0].tries
    assert {try_.candidate["lr"]: try_.error for try_ in tries} == {
        0.1: None,
        0.01: None,
        0.3: "ArithmeticError: diverged",
    }
    assert seen(replayed(loop)) == seen(model)


def test_with_epoch_the_main_line_raises_as_ever() -> None:
    model = NoisyQuadratic()
    loop = loop_over(model)

    def body(epoch: Epoch) -> None:
        with epoch:
            train(model, epoch)
            if not epoch.trying:
                raise ArithmeticError("diverged")

    with pytest.raises(ArithmeticError):
        run(loop, body)
    assert loop.history.epochs == 2


@pytest.mark.parametrize("error", [KeyboardInterrupt, LoopError])
def test_with_epoch_lets_through_what_is_nobodys_bad_luck(error: type[BaseException]) -> None:
    def body(epoch: Epoch) -> None:
        with epoch:
            raise error

    with pytest.raises(error):
        run(loop_over(NoisyQuadratic()), body)


def test_all_tries_failed() -> None:
    model = NoisyQuadratic()
    origin = seen(model)

    def body(epoch: Epoch) -> None:
        with epoch:
            model.train_k(1, epoch.values)
            raise ZeroDivisionError

    with raises(AllTriesFailed):
        run(loop_over(model), body)
    assert seen(model) == origin


def test_a_metric_that_is_not_finite_fails_the_try() -> None:
    model = NoisyQuadratic()
    loop = loop_over(model)
    for epoch in loop:
        model.train_k(1, epoch.values)
        epoch.report(loss=float("nan") if epoch["lr"] == 0.01 else model.metrics()["loss"])
    assert any(try_.error == "loss is nan after epoch 1" for try_ in loop.history[0].tries)


def test_reports_that_make_no_sense() -> None:
    model = NoisyQuadratic()
    loop = loop_over(model)
    stale: Any = None
    for epoch in loop:
        with raises(LoopError):
            epoch.report()
        with raises(MetricError):
            epoch.report(loss="low")  # type: ignore[arg-type]
        with raises(LoopError):
            epoch["lrr"]
        train(model, epoch)
        with raises(LoopError):
            epoch.report(loss=1.0)
        if stale is not None:
            with raises(LoopError):
                stale.report(loss=1.0)
        stale = epoch
        if not epoch.trying:
            break
    with raises(LoopError):
        epoch.report(loss=1.0)


def test_a_metric_the_criterion_needs_is_missing() -> None:
    with raises(MetricError):
        run(loop_over(NoisyQuadratic()), lambda epoch: epoch.report(los=1.0))


def test_names_of_pythons_own_are_asked_of_an_epoch_in_vain() -> None:
    epoch = Epoch(Candidate({"lr": 0.1}), number=3, trying=False)
    assert not hasattr(epoch, "__array__")
    with pytest.raises(AttributeError, match=r"^_private$"):
        _ = epoch._private


def test_names_of_pythons_own_are_asked_of_a_loop_in_vain() -> None:
    with pytest.raises(AttributeError, match=r"^__wrapped__$"):
        _ = loop_over(NoisyQuadratic()).__wrapped__


def test_a_loop_runs_once() -> None:
    model = NoisyQuadratic()
    loop = loop_over(model)
    for epoch in loop:
        train(model, epoch)
    with raises(LoopError):
        iter(loop)


def close_iterator(passes: Iterator[Any], loop: Loop) -> None:
    passes.close()  # type: ignore[attr-defined]


def close_loop(passes: Iterator[Any], loop: Loop) -> None:
    loop.close()


@pytest.mark.parametrize("close", [close_iterator, close_loop])
def test_an_iterator_held_elsewhere_is_closed_by_hand(close: Any) -> None:
    model = NoisyQuadratic()
    loop = loop_over(model)
    loop.close()  # before the start: nothing to do
    passes = iter(loop)
    origin = seen(model)
    train(model, next(passes))
    assert seen(model) != origin
    close(passes, loop)
    assert seen(model) == origin
    assert list(passes) == []
    del passes
    loop.close()  # after the end: nothing to do


def test_an_iterator_that_is_forgotten_is_closed_by_the_garbage_collector() -> None:
    model = NoisyQuadratic()
    passes = iter(loop_over(model))
    origin = seen(model)
    train(model, next(passes))
    del passes
    gc.collect()
    assert seen(model) == origin


def test_step_is_not_for_loops() -> None:
    loop = loop_over(NoisyQuadratic())
    with raises(LoopError):
        loop.adapter.step()


def test_a_broken_run_is_resumed_exactly() -> None:
    model, whole = NoisyQuadratic(), NoisyQuadratic()
    for epoch in loop_over(whole, randomness="independent"):
        train(whole, epoch)
    first = loop_over(model, randomness="independent")
    for epoch in first:
        train(model, epoch)
        if epoch.number == 5 and not epoch.trying:
            break
    second = loop_over(model, randomness="independent")
    second.adapter.load_state_dict(first.adapter.state_dict())
    for epoch in second:
        train(model, epoch)
    assert seen(model) == seen(whole)


@pytest.mark.parametrize(
    "settings",
    [
        {"state": "model"},
        {"state": []},
        {"state": [NoisyQuadratic]},
        {"state": [3]},
        {"bind": []},
        {"bind": {"lr": 0.1}},
        {"bind": {"lrr": attribute(Layer(), "p")}},
        {"epochs": 0},
        {"try_for": 4},
    ],
)
def test_bad_input(settings: dict[str, Any]) -> None:
    with raises(SettingsError):
        loop_over(NoisyQuadratic(), **settings)


def test_a_part_of_ones_own() -> None:
    weights = [1.0]
    part = Part(get=lambda: list(weights), set=lambda state: weights.__setitem__(0, state[0]))
    for epoch in loop_over(NoisyQuadratic(), state=[part]):
        weights[0] *= 1 - float(epoch["lr"])  # type: ignore[arg-type]
        epoch.report(loss=weights[0])
    assert weights[0] == pytest.approx(0.7**9)


def test_a_loop_is_closed_by_its_context() -> None:
    model = NoisyQuadratic()
    origin = seen(model)
    with loop_over(model) as loop:
        held = iter(loop)  # as enumerate would
        epoch = next(held)
        assert epoch.trying
        model.train_k(1, epoch.values)
        assert seen(model) != origin
    assert seen(model) == origin
