"""A loop with counters ends as the plain loop with ints does, or stops and says why."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from dynhp import Counter, adapt, schedule_of
from dynhp.errors import LoopError
from dynhp.loops.counter import CounterNames
from tests.support.messages import raises


class Model:
    """A weight that shrinks faster each time that something has fired."""

    def __init__(self) -> None:
        self.weight = 1.0
        self.fires = 0

    def state_dict(self) -> dict[str, Any]:
        return dict(vars(self))

    def load_state_dict(self, state: dict[str, Any]) -> None:
        vars(self).update(state)

    def train(self, lr: float, *, fire: bool) -> None:
        self.fires += fire
        self.weight *= 1 - lr * (1 + self.fires)


def loop_over(*state: Any, epochs: int = 20) -> Any:
    space = {"lr": [0.01, 0.02]}
    settings: Any = {"minimize": "loss", "adapt_every": 4, "try_for": 1}
    return adapt(epochs, state=list(state), space=space, **settings)


Body = Callable[[Model, Any, Any, Any], tuple[Any, Any]]


def aliasing(model: Model, lr: float, steps: Any, last: Any) -> tuple[Any, Any]:
    steps += 1
    fire = steps >= last + 5  # no operator meets one counter on both sides
    if fire:
        last = steps
    model.train(lr, fire=fire)
    return steps, last


def taking_the_number(model: Model, lr: float, steps: Any, last: Any) -> tuple[Any, Any]:
    steps += 1
    fire = steps - last >= 5
    if fire and isinstance(last, Counter):
        last.value = steps.value
    elif fire:
        last = steps
    model.train(lr, fire=fire)
    return steps, last


def with_counters(body: Body) -> tuple[Model, Any]:
    model, steps, last = Model(), Counter(), Counter()
    loop = loop_over(model, steps, last)
    for epoch in loop:
        steps, last = body(model, epoch["lr"], steps, last)
        epoch.report(loss=model.weight)
    return model, loop


def with_ints(body: Body, loop: Any) -> Model:
    model, steps, last = Model(), 0, 0
    for epochs, values in schedule_of(loop.history).as_list():
        for _ in range(epochs):
            steps, last = body(model, values["lr"], steps, last)
    return model


def test_counters_give_what_ints_give() -> None:
    model, loop = with_counters(taking_the_number)
    assert model.fires == 4
    assert vars(model) == vars(with_ints(taking_the_number, loop))


def test_a_second_name_for_a_counter_stops_the_loop() -> None:
    with raises(LoopError):
        with_counters(aliasing)


def test_a_second_name_that_an_operator_meets_stops_it_there() -> None:
    def body(model: Model, lr: float, steps: Any, last: Any) -> tuple[Any, Any]:
        steps += 1
        held = SimpleNamespace(last=steps)  # in no name that the loop can see
        model.train(lr, fire=steps - held.last >= 5)
        return steps, last

    with raises(LoopError):
        with_counters(body)


@pytest.mark.parametrize("start", [0, 2.5, None])
def test_a_number_that_becomes_a_counter_of_the_state_stops_the_loop(start: Any) -> None:
    seen = []

    def run(last: Any) -> None:
        model, steps = Model(), Counter()
        for epoch in loop_over(model, steps):
            steps += 1
            if epoch >= 5 and epoch.main:
                last = steps
            seen.append((int(epoch), last))
            model.train(epoch["lr"], fire=False)
            epoch.report(loss=model.weight)

    with raises(LoopError):
        run(start)
    assert seen[-1][0] == 5  # it is noticed after this very epoch


def test_a_counter_that_a_number_replaces_stops_the_loop() -> None:
    def run() -> None:
        model, bad_epochs = Model(), Counter()
        for epoch in loop_over(model, bad_epochs):
            bad_epochs += 1
            if bad_epochs > 5:
                bad_epochs = 0  # type: ignore[assignment]
            model.train(epoch["lr"], fire=False)
            epoch.report(loss=model.weight)

    with raises(LoopError):
        run()


class Fit:
    """A loop in a method, with its counters in attributes, a list and a dictionary."""

    def __init__(self) -> None:
        self.model = Model()
        self.steps = Counter()
        self.last: Any = 0
        self.counts = {"fires": Counter(), "pauses": Counter()}
        self.bounds = [Counter(), Counter()]

    def run(self, change: Callable[[Any], None]) -> None:
        counters = (self.steps, *self.counts.values(), *self.bounds)
        for epoch in loop_over(self.model, *counters):
            self.steps += 1
            if epoch == 6 and epoch.main:
                change(self)
            self.model.train(epoch["lr"], fire=False)
            epoch.report(loss=self.model.weight)


def alias_an_attribute(fit: Fit) -> None:
    fit.last = fit.steps


def alias_an_item(fit: Fit) -> None:
    fit.counts["pauses"] = fit.counts["fires"]


def replace_in_a_list(fit: Fit) -> None:
    fit.bounds[1] = Counter(5)


@pytest.mark.parametrize(
    "change",
    [
        alias_an_attribute,
        alias_an_item,
        replace_in_a_list,
    ],
)
def test_places_inside_things_are_looked_at_too(change: Any) -> None:
    with raises(LoopError):
        Fit().run(change)


def test_what_else_happens_to_names_is_nobodys_concern() -> None:
    def change(fit: Any) -> None:
        fit.last = int(fit.steps)
        fit.logged = fit.steps  # a new place, as of an object that is made in the first epoch
        fit.counts |= {str(number): number for number in range(100)}  # too long to be looked at
        del fit.bounds[:]

    fit = Fit()
    fit.run(change)
    assert fit.steps == 20
    assert fit.last == 7


def test_a_counter_known_under_no_name_is_called_what_it_is() -> None:
    steps = Counter()
    names = CounterNames([steps], {"last": 0})
    with raises(LoopError):
        names.require_unchanged({"last": steps})


def test_only_so_much_is_looked_at() -> None:
    steps = Counter()
    many = {f"name_{number}": [number] * 60 for number in range(1000)}
    names = CounterNames([steps], {**many, "last": 0})
    with raises(LoopError):
        names.require_unchanged({**many, "last": steps})
    CounterNames([steps], {**many, "rows": [0] * 100}).require_unchanged({"rows": [steps] * 100})
