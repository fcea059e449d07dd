"""A sequence that grows without being changed."""

from __future__ import annotations

import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynhp.records.append_only import AppendOnly
from tests.support.messages import raises

numbers = st.lists(st.integers(), max_size=6)


@given(numbers, numbers, numbers)
def test_it_is_the_sequence_of_all_that_was_added(
    first: list[int], second: list[int], third: list[int]
) -> None:
    short = AppendOnly(first)
    long = short.and_then(second)
    other = short.and_then(third)  # grows from the same one in another way
    longest = long.and_then(third)
    for grown, expected in (
        (short, first),
        (long, first + second),
        (other, first + third),
        (longest, first + second + third),
    ):
        assert list(grown) == expected
        assert len(grown) == len(expected)
        assert grown[:] == tuple(expected)
        assert grown[1:3] == tuple(expected[1:3])
        assert grown[-2:] == tuple(expected[-2:])
        assert grown == AppendOnly(expected)
        assert hash(grown) == hash(AppendOnly(expected))
        assert bool(grown) == bool(expected)
        for place in range(-len(expected), len(expected)):
            assert grown[place] == expected[place]


@pytest.mark.parametrize("place", [3, -4])
def test_there_is_nothing_beyond_its_end(place: int) -> None:
    short = AppendOnly([1, 2, 3])
    short.and_then([4, 5])
    with raises(IndexError):
        short[place]


def test_what_is_added_while_one_iterates_is_not_seen() -> None:
    short, seen = AppendOnly([1, 2]), []
    for item in short:
        short.and_then([3])
        seen.append(item)
    assert seen == [1, 2]


def test_growing_shares_what_there_is() -> None:
    short = AppendOnly([1])
    long = short.and_then([2])
    assert long._shared is short._shared
    assert short.and_then([3])._shared is not short._shared


def test_whether_one_grew_from_another() -> None:
    short = AppendOnly([1])
    long = short.and_then([2])
    other = short.and_then([3])
    assert long.grew_from(short)
    assert short.grew_from(short)
    assert not short.grew_from(long)
    assert not other.grew_from(long)
    assert not short.grew_from([1])


def test_it_equals_only_its_like() -> None:
    assert AppendOnly([1]) != [1]
    assert AppendOnly([1]) != AppendOnly([2])
    assert repr(AppendOnly([1, 2]).and_then([3])) == "AppendOnly([1, 2, 3])"


def test_it_travels() -> None:
    long = AppendOnly([1]).and_then([2])
    assert copy.deepcopy(long) == pickle.loads(pickle.dumps(long)) == long
