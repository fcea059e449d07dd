"""A counter is a number that stays one object, so that a state can hold it."""

from __future__ import annotations

import copy
import operator
import pickle
from typing import Any

import pytest

from dynhp import Counter
from dynhp.errors import LoopError, SettingsError
from tests.support.messages import raises

OPERATORS = [
    *(operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv),
    *(operator.mod, operator.pow),
]
IN_PLACE = [
    *(operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.ifloordiv),
    *(operator.imod, operator.ipow),
]

COMPARISONS = [operator.lt, operator.le, operator.eq, operator.ne, operator.ge, operator.gt]


@pytest.mark.parametrize("operation", OPERATORS)
def test_in_expressions_it_is_its_number(operation: Any) -> None:
    for value in (operation(Counter(7), 3), operation(Counter(7), Counter(3))):
        assert value == operation(7, 3)
        assert not isinstance(value, Counter)
    assert operation(7, Counter(3)) == operation(7, 3)


@pytest.mark.parametrize(("in_place", "plain"), list(zip(IN_PLACE, OPERATORS, strict=True)))
def test_in_place_it_stays_the_object_it_is(in_place: Any, plain: Any) -> None:
    steps = Counter(7)
    assert in_place(steps, 3) is steps
    assert steps.value == plain(7, 3)


def test_it_compares_formats_and_indexes_as_a_number() -> None:
    steps = Counter(2)
    assert steps == 2 == Counter(2)
    assert steps != 3
    assert 1 < steps <= 2
    assert steps >= Counter(2) > 1
    assert f"{steps:03d} {steps} {steps!r}" == "002 2 Counter(2)"
    assert str(steps) == "2"
    assert "abc"[steps] == "c"
    assert list(range(steps)) == [0, 1]
    assert (int(steps), float(steps), -steps, abs(Counter(-2))) == (2, 2.0, -2, 2)
    assert (bool(steps), bool(Counter())) == (True, False)
    assert round(Counter(2.567), 1) == 2.6


def test_a_fraction_is_no_index() -> None:
    with pytest.raises(TypeError, match="cannot be interpreted as an integer"):
        operator.index(Counter(0.5))


def test_it_changes_so_it_has_no_hash() -> None:
    with pytest.raises(TypeError, match="unhashable"):
        hash(Counter())


def test_its_state_is_the_number() -> None:
    steps = Counter(3)
    state = steps.get_state()
    steps += 4
    steps.set_state(state)
    assert steps == 3


def test_a_copy_is_a_counter_of_its_own() -> None:
    steps = Counter(3)
    steps += 1
    for copied in (copy.copy(steps), copy.deepcopy(steps), pickle.loads(pickle.dumps(steps))):
        copied += 1
        assert (type(copied), copied) == (Counter, 5)
    assert steps == 4


def test_its_number_is_set_from_a_number_or_from_another_counter() -> None:
    steps, last = Counter(3), Counter()
    last.value = steps  # what a user writes who forgets .value
    steps += 1
    assert last == 3
    assert type(last.value) is int


@pytest.mark.parametrize("operation", [*OPERATORS, *IN_PLACE, *COMPARISONS])
def test_one_counter_on_both_sides_is_refused(operation: Any) -> None:
    steps = Counter(3)
    with raises(LoopError):
        operation(steps, steps)
    assert steps.value == 3


def test_where_python_asks_first_whether_it_is_the_same_object_it_may_be() -> None:
    steps = Counter(3)
    assert steps in [steps]
    assert [steps].index(steps) == 0
    assert ([steps], {"steps": steps}) == ([steps], {"steps": steps})
    assert sum([steps, steps]) == 6


@pytest.mark.parametrize("value", ["3", None, True])
def test_bad_input(value: Any) -> None:
    with raises(SettingsError):
        Counter(value)
    with raises(SettingsError):
        Counter().value = value
