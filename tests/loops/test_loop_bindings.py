"""Bound values in a loop: set before each pass, checked after it, put back with the state."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest

from dynhp import adapt, attribute
from dynhp.errors import ValueNotInForce
from dynhp.loops import Epoch
from dynhp.testing import Quadratic
from dynhp.testing.toys.quadratic import NoisyQuadratic
from tests.support.loops import Layer, loop_over, run, seen
from tests.support.messages import raises


def test_bound_values_are_in_force_and_leave_no_trace() -> None:
    model, layer = NoisyQuadratic(), Layer()
    layer.p = 0.5
    loop = loop_over(model, space={"p": [0.1, 0.2, 0.3]}, bind={"p": attribute(layer, "p")})
    for epoch in loop:
        assert layer.p == epoch["p"]
        epoch.report(loss=1.0)
        if layer.p == 0.3:
            break
    assert layer.p == 0.5


def test_after_the_last_try_the_winners_value_is_in_force() -> None:
    layer = Layer()
    loop = loop_over(
        NoisyQuadratic(),
        epochs=2,
        adapt_every=1,
        space={"p": [0.1, 0.2, 0.3]},
        bind={"p": attribute(layer, "p")},
    )
    for epoch in loop:
        epoch.report(loss=abs(layer.p - 0.2))
    assert loop.history[-1].candidate["p"] == layer.p == 0.2


def test_the_run_starts_from_the_bound_value() -> None:
    layer = Layer()
    bind = {"p": attribute(layer, "p")}
    for bound, start in ((0.3, 0.3), (0.7, 0.7)):  # 0.7 is not on the grid: it joins
        layer.p = bound
        loop = loop_over(NoisyQuadratic(), space={"p": [0.1, 0.2, 0.3]}, bind=bind)
        assert loop.adapter.current == {"p": start}
    loop = loop_over(NoisyQuadratic(), space={"p": [0.1, 0.2, 0.3]}, bind=bind, initial={"p": 0.1})
    assert loop.adapter.current == {"p": 0.1}


@pytest.mark.parametrize("line", [False, True])
def test_a_value_overwritten_in_the_body_stops_the_run_at_the_origin(line: bool) -> None:
    model, layer = NoisyQuadratic(), Layer()
    origin = seen(model)
    bind = {"p": attribute(layer, "p")}
    loop = loop_over(model, space={"p": [0.1, 0.2]}, bind=bind)

    def body(epoch: Epoch) -> None:
        model.train_k(1, {"lr": 0.1})
        epoch.report(**model.metrics())
        if epoch.trying != line:
            layer.p = 0.9

    with raises(ValueNotInForce):
        run(loop, body)
    assert (seen(model), layer.p) == (origin, 0.1)


@pytest.mark.parametrize("overwritten", [2, 10])  # in the tries, on the main line
def test_a_value_overwritten_in_a_step_that_is_not_reported_stops_the_run_too(
    overwritten: int,
) -> None:
    model, layer = NoisyQuadratic(), Layer()
    bind = {"p": attribute(layer, "p")}
    steps = {"epochs": None, "steps": 24, "adapt_every": 12, "try_for": 4}
    loop = loop_over(model, space={"p": [0.1, 0.2]}, bind=bind, **steps)

    def body(step: Epoch) -> None:
        if step % 4 == 1:
            step.report(loss=layer.p)
        elif step == overwritten:
            layer.p = 0.9  # nothing is reported after it in this try, or in this round

    with raises(ValueNotInForce):
        run(loop, body)
    assert (layer.p, loop.history.epochs) == (0.1, 0)


def test_a_round_that_restarts_trains_with_the_value_it_chose() -> None:
    layer = Layer()
    loop = loop_over(
        NoisyQuadratic(),
        space={"p": [0.1, 0.2, 0.3]},
        bind={"p": attribute(layer, "p")},
        keep="value",
        randomness="independent",
    )
    for epoch in loop:
        assert layer.p == epoch["p"]
        epoch.report(loss=abs(layer.p - 0.2))
    assert layer.p == 0.2


class Visited:
    """A place that notes where a run begins and where it is over."""

    def __init__(self) -> None:
        self.value: Any = 0.1
        self.notes: list[Any] = []

    def set(self, value: Any) -> None:
        self.value = value
        self.notes.append(value)

    def get(self) -> Any:
        return self.value

    def enter(self) -> None:
        self.notes.append("enter")

    def leave(self) -> None:
        self.notes.append("leave")


def test_a_run_that_a_binding_refuses_is_over() -> None:
    class Refuses(Visited):
        def enter(self) -> None:
            raise ZeroDivisionError

    model = Quadratic()
    loop = adapt(
        4, state=[model], space={"lr": [0.1, 0.5]}, bind={"lr": Refuses()}, minimize="loss",
        adapt_every=2, try_for=1, keep_best=True,
    )  # fmt: skip
    with pytest.raises(ZeroDivisionError):
        next(iter(loop))
    loop.restore_best()  # it does not say that the loop must be left first


@pytest.mark.parametrize("end", ["whole", "break", "error"])
def test_a_binding_is_told_where_a_run_begins_and_where_it_is_over(end: str) -> None:
    model, place = Quadratic(), Visited()
    loop = adapt(
        4,
        state=[model],
        space={"lr": [0.1, 0.5]},
        bind={"lr": place},
        minimize="loss",
        adapt_every=2,
        try_for=1,
    )
    assert "enter" not in place.notes
    with contextlib.suppress(ZeroDivisionError):
        for epoch in loop:
            model.train_k(1, {"lr": place.value})
            epoch.report(loss=model.metrics()["loss"])
            if epoch == 1 and end == "break":
                break
            if epoch == 1 and end == "error":
                raise ZeroDivisionError
    del epoch
    loop.close()
    assert (place.notes.count("enter"), place.notes.count("leave")) == (1, 1)
    assert place.notes[-1] == "leave"
