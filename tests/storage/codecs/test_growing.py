"""States that grow: long lists of numbers, and dataclasses that got a field more."""

from __future__ import annotations

import dataclasses
import io
import struct
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from dynhp.errors import CodecError, DamagedFile
from dynhp.storage.codecs import archive, decode, encode, register_dataclass, state_file
from dynhp.storage.codecs.json_text import json_line
from tests.support.messages import raises

MANY = 1000


def bits_of(numbers: Any) -> bytes:
    return b"".join(struct.pack("<d", number) for number in numbers)


@pytest.mark.parametrize("kind", [list, tuple])
@pytest.mark.parametrize("length", [MANY - 1, MANY, MANY + 1])
def test_long_lists_of_floats_come_back_bit_for_bit(kind: Any, length: int) -> None:
    odd = [float("nan"), -float("nan"), float("inf"), -0.0, 5e-324]
    numbers = kind([*odd, *(0.1 * n for n in range(length - len(odd)))])
    back = decode(encode({"curve": numbers}))["curve"]
    assert type(back) is kind
    assert set(map(type, back)) == {float}
    assert bits_of(back) == bits_of(numbers)
    back += kind([1.0])  # as any list: it can grow


@pytest.mark.parametrize("kind", [list, tuple])
def test_long_lists_of_whole_numbers_come_back(kind: Any) -> None:
    for numbers in (
        kind([-(2**63), 2**63 - 1, *range(MANY)]),
        kind([2**63, *range(MANY)]),
        kind([2**100, *range(MANY)]),
    ):
        back = decode(encode(numbers))
        assert back == numbers
        assert set(map(type, back)) == {int}


@pytest.mark.parametrize(
    "numbers",
    [[1.0, True] * MANY, [True] * MANY, [1, 1.0] * MANY, [None] * MANY, [np.float64(1)] * MANY],
)
def test_lists_of_other_things_keep_their_types(numbers: list[Any]) -> None:
    assert list(map(type, decode(encode(numbers)))) == list(map(type, numbers))


def test_a_long_list_takes_few_bytes_and_no_json() -> None:
    curve = [n / 7 for n in range(100_000)]
    data = encode({"curve": curve})
    assert len(data) < 8 * len(curve) + 1000


def test_what_is_one_long_list_stays_one() -> None:
    curve, after = [0.5] * MANY, [1]
    state = {"a": curve, "b": [after, curve], "c": (0.5,) * MANY, "d": after}
    back = decode(encode(state))
    assert back == state
    assert back["a"] is back["b"][1]
    assert back["d"] is back["b"][0]
    assert encode(back) == encode(state)


def test_more_than_sixteen_mebibytes_of_text_fit_where_they_are_numbers() -> None:
    curve = [n / 7 for n in range(1_200_000)]
    assert len(repr(curve)) > state_file.MOST_STATE
    assert decode(encode(curve)) == curve


def sealed(node: Any, *buffers: bytes) -> bytes:
    """A whole file that says this."""
    file = io.BytesIO()
    text = json_line({"format": "dynhp state", "version": 2, "state": node})[:-1]
    archive.write(file, [text, *buffers])
    return file.getvalue()


@pytest.mark.parametrize(
    ("node", "size"),
    [
        ({"$floats": 0}, 8 * MANY - 8),
        ({"$floats": 0}, 8 * MANY + 1),
        ({"$ints": 0}, 0),
        ({"$ints": 1}, 8 * MANY),
        ({"$ints": None}, 8 * MANY),
        ({"$tuple": {"$texts": 0}}, 8 * MANY),
        ({"$tuple": {"$floats": 0, "$ints": 0}}, 8 * MANY),
        ({"$tuple": {}}, 8 * MANY),
    ],
)
def test_lists_that_nobody_wrote(node: Any, size: int) -> None:
    with raises(DamagedFile):
        decode(sealed(node, bytes(size)))


@dataclass
class Seen:
    first: int
    second: str = "two"
    third: list[int] = dataclasses.field(default_factory=list)


def test_a_dataclass_may_get_fields_that_have_a_default() -> None:
    register_dataclass(Seen, name="tests.seen")
    for plain in ({"first": 1}, {"first": 1, "second": "two"}, {"first": 1, "third": []}):
        assert decode(sealed({"$codec": ["tests.seen", plain]})) == Seen(1)
    for plain in ({}, {"second": "two"}, {"third": [], "first": 1}, {"first": 1, "fourth": 1}):
        with raises(CodecError):
            decode(sealed({"$codec": ["tests.seen", plain]}))
