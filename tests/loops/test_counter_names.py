"""A loop with counters ends as the plain loop with ints does, or stops and says why."""

from __future__ import annotations

import functools
from collections import defaultdict, deque
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from dynhp import Counter, adapt, schedule_of
from dynhp.errors import Hint, LoopError
from dynhp.loops.counter_watch import CounterWatch
from tests.support.messages import raises, warns

no_hint = pytest.mark.filterwarnings("error::dynhp.errors.Hint")


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
    space = {"pace": [0.01, 0.02]}
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
        steps, last = body(model, epoch["pace"], steps, last)
        epoch.report(loss=model.weight)
    return model, loop


def with_ints(body: Body, loop: Any) -> Model:
    model, steps, last = Model(), 0, 0
    for epochs, values in schedule_of(loop.history).as_list():
        for _ in range(epochs):
            steps, last = body(model, values["pace"], steps, last)
    return model


@no_hint
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
            model.train(epoch["pace"], fire=False)
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
            model.train(epoch["pace"], fire=False)
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
            self.model.train(epoch["pace"], fire=False)
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


@no_hint
def test_what_else_happens_to_names_is_nobodys_concern() -> None:
    def change(fit: Any) -> None:
        fit.last = int(fit.steps)
        fit.counts |= {str(number): number for number in range(100)}  # too long to be looked at
        del fit.bounds[:]

    fit = Fit()
    fit.run(change)
    assert fit.steps == 20
    assert fit.last == 7


def share_in_an_attribute(fit: Any) -> None:
    fit.logged = fit.steps


def share_in_a_record(fit: Any) -> None:
    fit.log = [(6, fit.steps)]


def share_with_a_function(fit: Any) -> None:
    fit.show = lambda steps=fit.steps: print(steps)


@pytest.mark.parametrize(
    "change", [share_in_an_attribute, share_in_a_record, share_with_a_function]
)
def test_a_place_that_is_new_gets_a_hint(change: Any) -> None:
    fit = Fit()
    with warns(Hint) as caught:
        fit.run(change)
    assert len(caught) == 1
    assert fit.steps == 20  # it may be meant, so the loop goes on


def test_a_hint_is_given_once_and_hides_no_error() -> None:
    def run() -> None:
        model, steps, last = Model(), Counter(), 0
        log: list[Any] = []
        for epoch in loop_over(model, steps):
            steps += 1
            if epoch.main:
                log.append(steps)
            if epoch == 6:
                last = steps  # type: ignore[assignment]
            model.train(epoch["pace"], fire=steps > 4 + last)
            epoch.report(loss=model.weight)

    with warns(Hint) as caught, raises(LoopError, name="the error"):
        run()
    assert len(caught) == 1


def test_a_variable_that_is_new_gets_a_hint() -> None:
    model, steps = Model(), Counter()
    with warns(Hint):
        for epoch in loop_over(model, steps):
            steps += 1
            if epoch == 6:
                last = steps
            model.train(epoch["pace"], fire=epoch > 6 and steps > 4 + last)
            epoch.report(loss=model.weight)


def test_a_second_name_before_the_loop_gets_a_hint() -> None:
    model = Model()
    steps = last = Counter()
    with warns(Hint):
        for epoch in loop_over(model, steps):
            steps += 1
            model.train(epoch["pace"], fire=epoch > last)
            epoch.report(loss=model.weight)


def test_a_second_name_in_a_function_gets_a_hint_where_the_counter_changes() -> None:
    def train(model: Model, lr: float, steps: Any) -> None:
        start = steps
        steps += 1
        model.train(lr, fire=start > 4)

    model, steps = Model(), Counter()
    with warns(Hint):
        for epoch in loop_over(model, steps):
            train(model, epoch["pace"], steps)
            epoch.report(loss=model.weight)


@no_hint
def test_what_a_notebook_has_shown_is_no_second_name() -> None:
    space: dict[str, Any] = {"steps": Counter(), "__name__": "script"}
    space["_12"] = space["_"] = space["steps"]
    exec("steps += 1", space)
    assert space["steps"] == 1


@no_hint
def test_an_exception_that_is_kept_is_no_second_name() -> None:
    def train(model: Model, lr: float, steps: Any) -> None:
        steps += 1
        model.train(lr, fire=False)
        if steps > 3:
            raise ValueError("too late")

    model, steps, errors = Model(), Counter(), []
    for epoch in loop_over(model, steps):
        try:
            train(model, epoch["pace"], steps)
        except ValueError as error:
            errors.append(error)  # with the frame, whose variable is the counter
        epoch.report(loss=model.weight)
    assert steps == 20
    assert errors


class Held:
    """An object that has a counter."""

    def __init__(self, last: Any) -> None:
        self.last = last

    def due(self, now: Any) -> bool:
        return bool(now >= self.last + 5)


class Slot:
    __slots__ = ("last",)

    def __init__(self, last: Any) -> None:
        self.last = last


def in_default(last: Any) -> Any:
    def due(now: Any, last: Any = last) -> bool:
        return bool(now >= last + 5)

    return due


def in_default_by_name(last: Any) -> Any:
    def due(now: Any, *, last: Any = last) -> bool:
        return bool(now >= last + 5)

    return due


def in_closure(last: Any) -> Any:
    def due(now: Any) -> bool:
        nonlocal last
        if fire := now >= last + 5:
            last = now
        return bool(fire)

    return due


def in_attribute_of_function(last: Any) -> Any:
    def due() -> None: ...

    due.last = last  # type: ignore[attr-defined]
    return due


def in_class(last: Any) -> Any:
    class Run:
        seen = last

        def due(self) -> None: ...

    return Run


def due_after(last: Any, now: Any) -> bool:
    return bool(now >= last + 5)


HOLDERS: dict[str, Callable[[Any], Any]] = {
    "attribute": Held,
    "slot": Slot,
    "attribute of an attribute": lambda last: SimpleNamespace(inner=SimpleNamespace(last=last)),
    "key": lambda last: {"last": last, "model": Model()},
    "key that is a number": lambda last: {7: last},
    "list": lambda last: [0, "start", None, last],
    "tuple": lambda last: (last, 1.5),
    "deque": lambda last: deque([last], maxlen=1),
    "default": in_default,
    "default by name": in_default_by_name,
    "closure": in_closure,
    "attribute of a function": in_attribute_of_function,
    "class": in_class,
    "partial": lambda last: functools.partial(due_after, last),
    "partial by name": lambda last: functools.partial(due_after, last=last),
    "partial of a method": lambda last: functools.partial(Model().train, last, fire=False),
    "partial without names": lambda last: functools.partial(max, last),
    "method": lambda last: Held(last).due,
}


@pytest.mark.parametrize("kind", HOLDERS)
def test_a_second_place_before_the_loop_gets_a_hint(kind: str) -> None:
    model, steps = Model(), Counter()
    held = HOLDERS[kind](steps)
    with warns(Hint) as caught:
        for epoch in loop_over(model, steps, epochs=4):
            steps += 1
            model.train(epoch["pace"], fire=held is None)
            epoch.report(loss=model.weight)
    assert len(caught) == 1


def test_two_attributes_of_one_object_that_are_one_counter_get_a_hint() -> None:
    class Run:
        def __init__(self) -> None:
            self.steps = self.last = Counter()

        def fit(self) -> None:
            model = Model()
            for epoch in loop_over(model, self.steps):
                self.steps += 1
                if fire := self.steps >= self.last + 5:
                    self.last = self.steps
                model.train(epoch["pace"], fire=fire)
                epoch.report(loss=model.weight)

    with warns(Hint) as caught:
        Run().fit()
    assert len(caught) == 1


def test_each_loop_gets_the_hint_anew() -> None:
    def run(steps: Counter) -> None:
        model, held = Model(), Held(steps)
        for epoch in loop_over(model, steps, epochs=4):
            start = steps
            steps += 1
            model.train(epoch["pace"], fire=held.due(start))
            epoch.report(loss=model.weight)

    steps = Counter()
    with warns(Hint) as caught:
        run(steps)
        told = [str(each.message) for each in caught]
        run(steps)
        run(Counter())
    assert len(told) == 2
    assert [str(each.message) for each in caught] == 3 * told


SHARED: dict[str, Callable[[Any, Any], Any]] = {
    "the list for state=": lambda model, steps: [model, steps],
    "a row of counters": lambda model, steps: (steps, Counter()),
    "the same name": lambda model, steps: SimpleNamespace(steps=steps),
    "the same key": lambda model, steps: {"steps": steps},
    "a default of the same name": lambda model, steps: lambda steps=steps: steps,
    "too long a list": lambda model, steps: [steps, *range(64)],
    "too long a dictionary": lambda model, steps: (
        {7: steps, "last": steps}
        | dict.fromkeys("a" * 9)
        | {str(number): number for number in range(64)}
    ),
    "a thing of the standard library": lambda model, steps: SimpleNamespace,
    "a thing of dynhp": lambda model, steps: Counter,
}


@pytest.mark.parametrize("kind", SHARED)
@no_hint
def test_what_may_well_share_a_counter_gets_no_hint(kind: str) -> None:
    model, steps = Model(), Counter()
    shared = SHARED[kind](model, steps)
    for epoch in loop_over(model, steps, epochs=4):
        steps += 1
        model.train(epoch["pace"], fire=shared is None)
        epoch.report(loss=model.weight)
    assert steps == 4


@no_hint
def test_functions_that_use_the_variables_of_the_loop_have_no_names_of_their_own() -> None:
    model, steps = Model(), Counter()

    def train(lr: float) -> None:
        nonlocal steps
        steps += 1
        model.train(lr, fire=False)

    def later() -> None:
        print(unknown)

    for epoch in loop_over(model, steps, epochs=4):
        train(epoch["pace"])
        epoch.report(loss=model.weight)
    assert steps == 4
    unknown = later


def test_a_function_of_the_body_that_uses_the_counter_is_not_what_a_hint_names() -> None:
    model, steps = Model(), Counter()
    show: Any = None
    log: list[Any] = []
    with warns(Hint) as caught:
        for epoch in loop_over(model, steps, epochs=4):
            steps += 1
            show = lambda: steps  # noqa: B023, E731
            if epoch.main:
                log.append(steps)
            model.train(epoch["pace"], fire=show is None)
            epoch.report(loss=model.weight)
    assert len(caught) == 1


@no_hint
def test_a_function_may_call_the_counter_that_it_is_given_as_it_likes() -> None:
    text = """
def run(loop, model, number):
    for epoch in loop:
        number += 1
        model.train(epoch["pace"], fire=False)
        epoch.report(loss=model.weight)
"""
    model, steps = Model(), Counter()
    names: dict[str, Any] = {"__name__": "script", "steps": steps, "held": Held(steps)}
    exec(text, names)
    names["run"](loop_over(model, steps, epochs=4), model, steps)
    assert steps == 4


@no_hint
def test_the_wrapper_of_a_loop_may_call_the_counter_as_it_likes() -> None:
    def counted(loop: Any, count: Any) -> Any:
        for epoch in loop:
            count += 1
            yield epoch

    model, steps, count = Model(), Counter(), 0
    for epoch in counted(loop_over(model, steps, epochs=4), steps):
        model.train(epoch["pace"], fire=steps > 3 + count)
        epoch.report(loss=model.weight)
    assert steps == 4


NUMBERS: dict[str, tuple[Any, Callable[[Any, Any], Any]]] = {
    "attribute of a function": (
        in_attribute_of_function(0),
        lambda f, now: vars(f).update(last=now),
    ),
    "class": (in_class(0), lambda kind, now: setattr(kind, "seen", now)),
    "closure": (in_closure(0), lambda due, now: due(now)),
    "deque": (deque([0], maxlen=1), lambda window, now: window.append(now)),
    "key that is a number": ({7: 0}, lambda table, now: table.update({7: now})),
}


@pytest.mark.parametrize("kind", NUMBERS)
def test_a_number_anywhere_in_reach_that_becomes_a_counter_stops_the_loop(kind: str) -> None:
    def run() -> None:
        model, steps = Model(), Counter()
        held, put = NUMBERS[kind]
        for epoch in loop_over(model, steps):
            steps += 1
            if steps >= 5:
                put(held, steps)
            model.train(epoch["pace"], fire=False)
            epoch.report(loss=model.weight)

    with raises(LoopError):
        run()


def test_a_tuple_of_numbers_that_gets_a_counter_stops_the_loop() -> None:
    def run() -> None:
        model, steps = Model(), Counter()
        best: Any = (0, 1e9)
        for epoch in loop_over(model, steps):
            steps += 1
            if model.weight < best[1]:
                best = (steps, model.weight)
            model.train(epoch["pace"], fire=steps > best[0] + 2)
            epoch.report(loss=model.weight)

    with raises(LoopError):
        run()


def test_a_place_that_takes_over_the_reference_of_another_stops_the_loop() -> None:
    def run() -> None:
        model, steps = Model(), Counter()
        kept, last = [model, steps], SimpleNamespace(seen=0)
        for epoch in loop_over(model, steps):
            steps += 1
            if steps >= last.seen + 5:
                kept.clear()
                last.seen = steps  # there are as many references as before
            model.train(epoch["pace"], fire=False)
            epoch.report(loss=model.weight)

    with raises(LoopError):
        run()


def test_a_place_that_takes_over_the_reference_of_a_variable_stops_the_loop() -> None:
    def run() -> None:
        model, steps, last = Model(), Counter(), SimpleNamespace(seen=0)
        start = steps
        for epoch in loop_over(model, steps):
            steps += 1
            if steps == 5:
                del start
                last.seen = steps
            model.train(epoch["pace"], fire=False)
            epoch.report(loss=model.weight)

    with warns(Hint), raises(LoopError, name="the error"):
        run()


def test_a_new_place_that_takes_over_a_reference_gets_a_hint() -> None:
    model, steps = Model(), Counter()
    kept, log = [model, steps], [0]
    with warns(Hint) as caught:
        for epoch in loop_over(model, steps):
            steps += 1
            if steps >= log[-1] + 5:
                kept.clear()
                log.append(steps)  # type: ignore[arg-type]
            model.train(epoch["pace"], fire=False)
            epoch.report(loss=model.weight)
    assert len(caught) == 1


def test_that_the_list_for_the_state_has_a_counter_excuses_no_second_name() -> None:
    def run() -> None:
        model, steps, last = Model(), Counter(), Counter()
        state = [model, steps, last]
        for epoch in loop_over(*state):
            steps += 1
            if steps >= last + 5:
                last = steps
            model.train(epoch["pace"], fire=False)
            epoch.report(loss=model.weight)

    with raises(LoopError):
        run()


def test_the_variable_of_a_for_over_a_row_of_counters_gets_a_hint_at_most() -> None:
    model, counters = Model(), [Counter(), Counter()]
    for each in counters:
        each.value = 1
    with warns(Hint) as caught:
        for epoch in loop_over(model, *counters, epochs=4):
            for each in reversed(counters):
                each += 1
            model.train(epoch["pace"], fire=False)
            epoch.report(loss=model.weight)
    assert len(caught) == 1
    assert [each.value for each in counters] == [5, 5]


@no_hint
def test_objects_that_share_a_counter_from_before_the_loop_are_fine() -> None:
    model, steps = Model(), Counter()
    warmup = SimpleNamespace(steps=steps)
    for epoch in loop_over(model, steps):
        warmup.steps += 1
        model.train(epoch["pace"], fire=steps > 5)
        epoch.report(loss=model.weight)
    assert steps == 20


def test_two_counters_that_change_places_stop_the_loop() -> None:
    def run() -> None:
        model, good, bad = Model(), Counter(), Counter(3)
        for epoch in loop_over(model, good, bad):
            good, bad = bad, good
            model.train(epoch["pace"], fire=good > bad)
            epoch.report(loss=model.weight)

    with raises(LoopError):
        run()


def test_a_counter_of_the_module_that_a_number_replaces_stops_the_loop() -> None:
    text = """
def run():
    global steps
    for epoch in loop_over(model, steps):
        steps = steps + 1
        model.train(epoch["pace"], fire=False)
        epoch.report(loss=model.weight)
"""
    names: dict[str, Any] = {"__name__": "script", "loop_over": loop_over}
    names |= {"model": Model(), "steps": Counter()}
    exec(text, names)
    with raises(LoopError):
        names["run"]()


def test_a_counter_known_under_no_name_is_called_what_it_is() -> None:
    hidden, last = (((Counter(),),),), 0
    watch = CounterWatch(hidden[0][0])
    watch.begin()
    assert last == 0
    last = hidden[0][0][0]  # type: ignore[assignment]
    with raises(LoopError):
        watch.require_unchanged()


def test_only_so_much_is_looked_at() -> None:
    steps = Counter()
    last = 0
    many = {f"name_{number}": [number] * 60 for number in range(64)}  # noqa: F841
    more = {f"name_{number}": [number] * 60 for number in range(64)}  # noqa: F841
    watch = CounterWatch([steps])
    watch.begin()
    assert last == 0
    last = steps  # type: ignore[assignment]
    with raises(LoopError):
        watch.require_unchanged()


@no_hint
def test_a_loop_that_goes_on_elsewhere_is_not_looked_at_there() -> None:
    def begun() -> CounterWatch:
        steps = Counter()
        watch = CounterWatch([steps])
        watch.begin()
        return watch

    watch = begun()
    steps = 0  # noqa: F841
    watch.require_unchanged()


@no_hint
def test_a_dictionary_makes_no_default_when_it_is_looked_at() -> None:
    steps = Counter()
    counts: Any = defaultdict(int, steps=steps)
    watch = CounterWatch([steps])
    watch.begin()
    del counts["steps"]
    watch.require_unchanged()
    assert not counts


def test_the_variable_of_a_for_may_be_used_for_anything() -> None:
    model, a, b = Model(), Counter(), Counter()
    c: Any
    for c in (a, b):
        c.value = 1
    for epoch in loop_over(model, a, b, epochs=4):
        for c in (b, a):
            c += 1
        for c in (1, 2):
            model.train(c * epoch["pace"], fire=False)
        epoch.report(loss=model.weight)
    assert (a.value, b.value) == (5, 5)
