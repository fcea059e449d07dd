"""States come back exactly as they were, from files that any tool can open."""

from __future__ import annotations

import io
import math
import struct
import zipfile
from collections import Counter, OrderedDict, defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dynhp.errors import CodecError, SettingsError
from dynhp.records import Candidate
from dynhp.storage.codecs import decode, encode, register_codec, register_dataclass
from dynhp.storage.codecs import state_file as module
from dynhp.storage.codecs.state_file import write_state
from tests.support.messages import raises


def exact(value: Any) -> Any:
    """What must be the same: type, bits, order and shape of everything inside."""
    kind = type(value)
    if kind is float:
        return kind, struct.pack(">d", value)
    if kind is complex:
        return kind, exact(value.real), exact(value.imag)
    if isinstance(value, np.ndarray):
        fortran = value.flags.f_contiguous and not value.flags.c_contiguous
        return kind, value.dtype.str, value.shape, fortran, value.tobytes()
    if isinstance(value, np.generic):
        return kind, value.dtype.str, value.tobytes()
    if kind in (list, tuple):
        return kind, [exact(item) for item in value]
    if isinstance(value, dict):
        return kind, [(exact(key), exact(item)) for key, item in value.items()]
    return kind, value


dtypes = st.one_of(
    hnp.boolean_dtypes(),
    hnp.integer_dtypes(endianness="?"),
    hnp.unsigned_integer_dtypes(endianness="?"),
    hnp.floating_dtypes(endianness="?"),
    hnp.complex_number_dtypes(endianness="?"),
    hnp.datetime64_dtypes(endianness="?"),
    hnp.timedelta64_dtypes(endianness="?"),
    hnp.byte_string_dtypes(min_len=1),
    hnp.unicode_string_dtypes(endianness="?", min_len=1),
)
arrays = hnp.arrays(dtypes, hnp.array_shapes(min_dims=0, min_side=0, max_dims=3, max_side=4))
turned = arrays.map(lambda array: np.asfortranarray(array))
texts = st.text(st.characters(exclude_categories=()), max_size=8)
numbers = st.one_of(
    st.integers(), st.integers(-(2**3000), 2**3000), st.floats(), st.complex_numbers()
)
atoms = st.one_of(st.none(), st.booleans(), numbers, texts, st.binary(max_size=20))
keys = st.recursive(atoms, lambda inner: st.lists(inner, max_size=2).map(tuple), max_leaves=3)
leaves = st.one_of(atoms, arrays, turned, arrays.filter(lambda a: a.size).map(lambda a: a.flat[0]))
states = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(keys, inner, max_size=3),
        st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    ),
    max_leaves=8,
)


@given(states)
@settings(max_examples=150)
def test_states_come_back_exactly(state: Any) -> None:
    data = encode(state)
    assert exact(decode(data)) == exact(state)
    assert encode(decode(data)) == data


@pytest.mark.parametrize(
    "value",
    [
        math.nan,
        -math.nan,
        struct.unpack(">d", bytes.fromhex("7ff8000000000123"))[0],
        math.inf,
        -math.inf,
        -0.0,
        5e-324,
        1e16,
        2**63,
        -(2**10000),
        True,
        1,
        1.0,
        complex(math.nan, -0.0),
        "\ud83d\ude00",
        "$tuple",
        "größe",
        bytearray(b"ab"),
        np.str_(""),
        np.bytes_(b""),
        np.void(b"ab"),
        np.longdouble("1.1"),
        np.datetime64("NaT"),
        np.array([b"abcd"], "V4"),
        np.zeros((3, 0, 2)),
        np.array(7.5),
        {"$array": 1, "$": 2},
        {1: "a", 1.5: "b", None: "c", (1, (2,)): "d", b"raw": "e", b"cooked": b"f", "größe": "g"},
        OrderedDict(b=1, a=2),
        Counter("aab"),
        {1, "a", None, 2.5},
        frozenset({(1, 2)}),
        Candidate({"lr": 0.1}),
    ],
    ids=lambda value: type(value).__name__,  # a repr of a set has no order of its own
)
def test_these_come_back_exactly(value: Any) -> None:
    assert exact(decode(encode({"x": [value]}))["x"][0]) == exact(value)


def test_order_of_keys_is_kept_and_that_of_sets_is_always_the_same() -> None:
    assert list(decode(encode({"b": 1, "a": 2}))) == ["b", "a"]
    assert list(decode(encode({2: 1, 1: 2}))) == [2, 1]
    there, back = [f"{i}" for i in range(50)], [f"{i}" for i in range(49, -1, -1)]
    assert encode(set(there)) == encode(set(back))


def test_defaults_that_are_no_code_come_back() -> None:
    for factory in (None, list, int):
        value = defaultdict(factory, {"a": 1})
        back = decode(encode(value))
        assert (type(back), back.default_factory, back) == (defaultdict, factory, value)
    with raises(CodecError):
        encode(defaultdict(lambda: 0))


@pytest.mark.parametrize("kind", ["MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64"])
def test_generators_go_on_where_they_were(kind: str) -> None:
    generator = np.random.Generator(getattr(np.random, kind)(3))
    generator.random(5)
    back = decode(encode(generator))
    assert back.random(20).tolist() == generator.random(20).tolist()


def test_a_view_becomes_whole() -> None:
    base = np.arange(24.0).reshape(4, 6)
    part = base[::2, 1::2]
    back = decode(encode(part))
    assert back.tolist() == part.tolist()
    back += 1
    assert base[0, 1] == 1


@pytest.mark.parametrize("axes", [(0, 1, 2), (2, 1, 0), (1, 2, 0), (2, 0, 1), (1, 0, 2)])
@pytest.mark.parametrize("gap", [1, 2, -1])
def test_the_order_in_memory_is_that_of_a_copy(axes: tuple[int, ...], gap: int) -> None:
    turned = np.arange(2.0 * 3 * 8).reshape(2, 3, 8)[..., ::gap].transpose(axes)
    back = decode(encode(turned))
    assert np.array_equal(back, turned)
    assert back.strides == turned.copy(order="K").strides
    assert encode(back) == encode(turned)


def test_what_is_one_thing_comes_back_as_one() -> None:
    array, items, raw, chosen = np.ones(2), [1], bytearray(b"a"), {1}
    bits = np.random.PCG64(3)
    state = {
        "arrays": [array, (array, array[:]), np.ones(2)],
        "others": [items, items, raw, raw, chosen, chosen, [1]],
        "keys": {(1,): items},
        "generators": [np.random.Generator(bits), np.random.Generator(bits), bits],
    }
    back = decode(encode(state))
    first, (second, third), apart = back["arrays"]
    first += 1
    assert second is first
    assert third is first
    assert apart.tolist() == [1.0, 1.0]
    shared, two, three, four, five, six, seven = back["others"]
    assert shared is two is back["keys"][(1,)]
    assert (three is four, five is six) == (True, True)
    assert seven is not shared
    left, right, own = back["generators"]
    assert left.bit_generator is right.bit_generator is own
    assert encode(back) != encode(state)  # it was added to
    first -= 1
    assert encode(back) == encode(state)


def test_things_that_come_and_go_are_not_taken_for_one() -> None:
    state = [{index, "a"} for index in range(200)]  # each is encoded by a short-lived list
    assert decode(encode(state)) == state


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (np.s_[:], np.s_[1:]),
        (np.s_[:4], np.s_[3:]),
        (np.s_[::-1], np.s_[:]),
        (np.s_[2:3], np.s_[::2]),
    ],
)
def test_different_views_of_one_memory_are_refused_with_both_paths(first: Any, second: Any) -> None:
    base = np.arange(6.0)
    with raises(CodecError):
        encode({"a": base[first], "b": [base[second]], "c": np.ones(2)})


def test_views_that_do_not_meet_are_two_arrays() -> None:
    base = np.arange(12.0).reshape(3, 4)
    state = [base[:, 0], base[:, 1], base[:, 2:], base[:0], base[0:0]]
    assert [item.tolist() for item in decode(encode(state))] == [item.tolist() for item in state]


def test_what_is_shared_too_often_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    tower: Any = ["x" * 100]
    for _ in range(10):
        tower = [tower, tower]
    assert decode(encode(tower)) == tower
    for _ in range(20):
        tower = [tower, tower]
    with raises(CodecError):
        encode(tower)


def test_equal_states_give_equal_bytes_without_a_clock() -> None:
    state = {"a": np.arange(3), "b": (1, "x")}
    assert encode(state) == encode({"a": np.arange(3), "b": (1, "x")})
    assert encode(state) != encode({"a": np.arange(3), "b": (1, "y")})


def test_any_tool_can_open_the_file() -> None:
    file = io.BytesIO()
    digest = write_state({"w": np.arange(3, dtype="<i2"), "n": b"raw"}, file)
    archive = zipfile.ZipFile(file)
    assert archive.testzip() is None
    assert archive.namelist() == ["state.json", "buffers/0", "buffers/1"]
    assert archive.read("buffers/0") == bytes([0, 0, 1, 0, 2, 0])
    assert archive.read("state.json") == (
        b'{"format":"dynhp state","version":2,'
        b'"state":{"w":{"$array":["<i2",[3],"C",0]},"n":{"$bytes":1}}}'
    )
    assert archive.comment == f"dynhp sha256 {digest}".encode()


class Hook:
    """Something that no file should hold."""

    def __repr__(self) -> str:
        return "<hook>"


@pytest.mark.parametrize(
    "state",
    [
        {"optimizer": {"hook": Hook()}},
        [1, (2, Hook())],
        {(1, "a"): Hook()},
        {Hook(): 1},
        {"a": np.array([None])},
        {"a": np.zeros(2, "i4,f4")},
        {"a": np.zeros(2, "i4,f4")[0]},
        {"a": np.empty(2, "V0")},
        {"a": np.ma.masked_array([1])},
    ],
)
def test_what_cannot_be_stored_is_named_with_its_path(state: Any) -> None:
    with raises(CodecError):
        encode(state)


def test_a_type_of_numpy_that_has_no_short_name_is_refused() -> None:
    strings = getattr(getattr(np, "dtypes", None), "StringDType", None)
    if strings is None:
        pytest.skip("this numpy has none")
    with raises(CodecError):
        encode(np.array(["a"], strings()))


def test_cycles_and_towers_are_refused() -> None:
    cycle: list[Any] = [1]
    cycle.append({"again": cycle})
    with raises(CodecError):
        encode(cycle)
    tower: Any = 1
    for _ in range(100):
        tower = {(1,): tower} if _ % 2 else [tower]
    assert exact(decode(encode(tower))) == exact(tower)
    with raises(CodecError):
        encode([tower])


def test_the_same_thing_twice_is_no_cycle() -> None:
    array, items = np.ones(2), [1]
    state = [array, items, array, items, (items, items)]
    assert exact(decode(encode(state))) == exact(state)


def test_too_much_json_is_refused_when_it_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_STATE", 1000)
    encode(np.zeros(10_000))
    with raises(CodecError):
        encode([0.5] * 999)
    assert decode(encode([0.5] * 100)) == [0.5] * 100


@dataclass(frozen=True)
class Pair:
    left: Any
    right: Any


class Celsius:
    def __init__(self, degrees: float) -> None:
        self.degrees = degrees


def to_degrees(value: Celsius) -> float:
    if value.degrees < -273.15:
        raise ValueError("colder than cold")
    return value.degrees


register_dataclass(Pair, name="tests.pair")
register_codec(Celsius, name="tests.celsius", to_plain=to_degrees, from_plain=Celsius)


def test_further_types_can_be_registered() -> None:
    back = decode(encode([Pair(np.arange(2), Pair(1, Celsius(20.5)))]))[0]
    assert type(back) is Pair
    assert back.left.tolist() == [0, 1]
    assert back.right.right.degrees == 20.5


def test_a_codec_that_fails_is_named_with_the_path() -> None:
    with raises(CodecError):
        encode({"t": [Celsius(-300.0)]})


def test_cycles_through_registered_types_are_refused() -> None:
    items: list[Any] = []
    items.append(Pair(items, None))
    with raises(CodecError):
        encode(items)


def test_a_type_registered_again_is_no_other_type() -> None:
    register_dataclass(Pair, name="tests.pair")
    assert decode(encode(Pair(1, 2))) == Pair(1, 2)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (dict, "x"),
        (np.float64, "x"),
        (3, "x"),
        (Hook, ""),
        (Hook, 3),
        (Hook, "tests.celsius"),
    ],
)
def test_registrations_that_cannot_be_meant(kind: Any, name: Any) -> None:
    with raises(SettingsError):
        register_codec(kind, name=name, to_plain=repr, from_plain=repr)


@pytest.mark.parametrize("kind", [Hook, Pair(1, 2)])
def test_only_a_dataclass_is_a_dataclass(kind: Any) -> None:
    with raises(SettingsError):
        register_dataclass(kind, name="x")
