"""Programs that take counters for ints end as they do with ints, or are told the way out."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from types import SimpleNamespace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import dynhp.errors
from dynhp import Counter, adapt, schedule_of
from dynhp.errors import Hint, LoopError

Statements = st.SearchStrategy[str]

# The variables a, b and c are the counters of the state. The other places are in no state, so they
# are never given a number of their own, which a try would leave behind in them.
PROGRAM = """
def raised(number, by):
    number += by
    return number

def doubled(number):
    start = number
    number += 1
    number += start + 0
    return number

def run(loop, model, a, b, c, box, table, marks):
    d = 0
    nothing = None
    def mark():
        nonlocal d
        d = a
    def held(number=0):
        return number
{before}
    for epoch in loop:
        rate = epoch["pace"]
        model.train(rate, 1)
{body}
        epoch.report(loss=model.weight)
    return [float(number) for number in (a, b, c)] + [model.weight]
"""


class Model:
    """A weight that depends on all numbers that it was trained with, and on their order."""

    def __init__(self) -> None:
        self.weight = 1.0

    def state_dict(self) -> dict[str, float]:
        return dict(vars(self))

    def load_state_dict(self, state: dict[str, float]) -> None:
        vars(self).update(state)

    def train(self, rate: float, number: Any) -> None:
        self.weight = 0.9 * self.weight + rate * float(number)


class PlainEpoch(int):
    """A pass of the plain loop."""

    values: Any

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    def report(self, **_: float) -> None:
        """Nobody listens."""


def adapted(text: str) -> tuple[list[float], Any]:
    """The program with counters, in a loop whose tries are undone."""
    model, numbers = Model(), [Counter(number) for number in (0, 1, 2)]
    space = {"pace": [0.01, 0.02]}
    settings: Any = {"minimize": "loss", "adapt_every": 3, "try_for": 2, "check": "off"}
    loop = adapt(9, state=[model, *numbers], space=space, **settings)
    return run(text, loop, model, numbers), loop


def plain(text: str, loop: Any) -> list[float]:
    """The program with ints, in a loop that trains with the values of another one."""

    def epochs() -> Iterator[PlainEpoch]:
        for length, values in schedule_of(loop.history).as_list():
            for _ in range(length):
                epoch = PlainEpoch(next(numbers))
                epoch.values = values
                yield epoch

    numbers = iter(range(9))
    return run(text.replace(".value", ""), epochs(), Model(), [0, 1, 2])


def run(text: str, loop: Iterable[Any], model: Model, numbers: list[Any]) -> list[float]:
    names: dict[str, Any] = {"__name__": "script"}
    exec(compile(text, "<program>", "exec"), names)
    places = SimpleNamespace(last=0), {"last": 0}, [0]
    result: list[float] = names["run"](loop, model, *numbers, *places)
    return result


def flagged(text: str) -> tuple[list[str], list[float], Any]:
    """What a program with counters is told, what comes of it, and its loop."""
    dynhp.errors._given.clear()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result, loop = adapted(text)
        except LoopError as error:
            return [str(error)], [], None
    return [str(each.message) for each in caught if each.category is Hint], result, loop


COUNTERS = st.sampled_from("abc")
NUMBERS = st.integers(0, 3).map(str)
PLACES = st.sampled_from(
    ["d", "nothing", "new", "box.last", "box.new", "table['last']", "marks[0]"]
)
TWO = st.permutations("abc")


def texts(form: str, **parts: Statements) -> Statements:
    return st.fixed_dictionaries(parts).map(lambda chosen: form.format(**chosen))


def of_two(form: str) -> Statements:
    return TWO.map(lambda order: form.format(x=order[0], y=order[1]))


READ = "model.train(rate, {x} >= box.last + table['last'] + marks[0] + d + held() + {n})"
SOUND = [
    texts("{x} += {n}", x=COUNTERS, n=NUMBERS),
    texts("{x} -= {n}", x=COUNTERS, n=NUMBERS),
    texts("{x}.value = {n}", x=COUNTERS, n=NUMBERS),
    texts("{x} = raised({x}, {n})", x=COUNTERS, n=NUMBERS),
    texts("start = int({x}); {x} += 2; model.train(rate, start)", x=COUNTERS),
    texts("model.train(rate, {x} % 3 + {n})", x=COUNTERS, n=NUMBERS),
    texts("model.train(rate, {n} < {x})", x=COUNTERS, n=NUMBERS),
    texts("model.train(rate, sum(each * {n} for each in (a, b, c)))", n=NUMBERS),
    of_two("{x} += {y}"),
    of_two("{x}.value = {y}"),
    of_two("model.train(rate, {x} - {y})"),
    of_two("model.train(rate, {x} <= {y})"),
]
DOUBTFUL = [
    texts("{x} = {n}", x=COUNTERS, n=NUMBERS),
    texts("{x} = {x} + {n}", x=COUNTERS, n=NUMBERS),
    texts("{x} = doubled({x})", x=COUNTERS),
    of_two("{x} = {y}"),
    of_two("{x} = max({x}, {y})"),
    of_two("{x}, {y} = {y}, {x}"),
    texts("{place} = {x}", place=PLACES, x=COUNTERS),
    texts("{place} = {x}; {x} = {n}", place=PLACES, x=COUNTERS, n=NUMBERS),
    texts("marks.append({x})", x=COUNTERS),
    texts("marks.append((1, {x}))", x=COUNTERS),
    texts("marks.append(lambda number={x}: number)", x=COUNTERS),
    st.just("mark()"),
    texts("model.train(rate, ({place} or 0) + {n})", place=PLACES, n=NUMBERS),
    texts("model.train(rate, {x} - ({place} or 0) > {n})", x=COUNTERS, place=PLACES, n=NUMBERS),
    texts("model.train(rate, {x} > ({place} or 0) + {n})", x=COUNTERS, place=PLACES, n=NUMBERS),
    texts("model.train(rate, marks[-1][1] + {n})", n=NUMBERS),
    texts("model.train(rate, marks[-1]() + {n})", n=NUMBERS),
    texts("model.train(rate, {x} == {place})", x=COUNTERS, place=PLACES),
    texts(READ, x=COUNTERS, n=NUMBERS),
]
# Where a counter got to before the loop; with ints it is a number of its own there.
BEFORE = st.sampled_from(
    [
        *("box.last = {x}", "table['last'] = {x}", "marks[0] = {x}", "d = {x}"),
        "held = lambda number={x}: number",
        "held = (lambda last: lambda: last)({x})",
        "import functools; held = functools.partial(lambda number: number, {x})",
    ]
)
WHEN = st.sampled_from(["True", "epoch % 3 == 1", "epoch > 4", "a > 3", "b - c >= 2"])


def programs(statements: list[Statements]) -> Statements:
    lines = st.lists(st.tuples(WHEN, st.one_of(statements)), min_size=1, max_size=8)
    return lines.map(program)


@st.composite
def programs_with_two_names(draw: st.DrawFn) -> str:
    """Programs that are sound, but for a second place that a counter has before the loop."""
    x = draw(COUNTERS)
    lines = draw(st.lists(st.tuples(WHEN, st.one_of(SOUND)), max_size=3))
    lines += [("True", f"{x} += 1"), ("True", READ.format(x=x, n=draw(NUMBERS)))]
    return program(lines, draw(BEFORE).format(x=x))


def program(lines: list[tuple[str, str]], before: str = "") -> str:
    """Statements in the body of a loop; one whose place has nothing to read yet does nothing."""
    absent = "(NameError, AttributeError, TypeError)"
    body = "".join(
        f"        if {when}:\n            try: {statement}\n            except {absent}: pass\n"
        for when, statement in lines
    )
    return PROGRAM.format(body=body, before=f"    {before}")


@given(text=programs(SOUND))
def test_a_sound_program_ends_as_with_ints_and_is_told_nothing(text: str) -> None:
    told, result, loop = flagged(text)
    assert told == []
    assert result == plain(text, loop)


@given(text=programs([*SOUND, *DOUBTFUL]) | programs_with_two_names())
def test_no_program_ends_otherwise_than_with_ints_without_a_word(text: str) -> None:
    told, result, loop = flagged(text)
    if not told:
        assert result == plain(text, loop)
    for each in told:
        assert "int(" in each or ".value = " in each  # the way out
