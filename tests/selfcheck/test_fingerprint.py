"""Fingerprints: equal where states are equal to the bit; where they are not, a place in words."""

from __future__ import annotations

import copy
import enum
import math
import pickle
from collections import OrderedDict, defaultdict, deque, namedtuple
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynhp.records import Candidate
from dynhp.records.metrics import FixedMetrics
from dynhp.selfcheck.fingerprint import fingerprint
from dynhp.storage.codecs import decode, encode
from dynhp.storage.jobs import FinishedTry  # noqa: F401 - which registers fingerprints

Point = namedtuple("Point", "x y")
NAN = float("nan")


class Paint(enum.Enum):
    RED = 1
    BLUE = 2


class Epoch(int):
    pass


class WithSlot:
    __slots__ = ("a",)

    def __init__(self, a: Any) -> None:
        self.a = a


@dataclass
class Weights:
    w: Any = field(default_factory=lambda: np.arange(3.0))
    epoch: int = 0


class NeverPickled:
    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError("no")


class KnownByName:
    def __init__(self, name: str = "NAMED") -> None:
        self.name = name

    def __reduce__(self) -> str:
        return self.name


class ForeignTensor:
    """As frameworks have it: a way to numpy of its own."""

    def __init__(self, values: Any, *, numpy: bool = True) -> None:
        self.values, self.has_numpy = np.asarray(values), numpy

    def detach(self) -> ForeignTensor:
        return self

    def cpu(self) -> ForeignTensor:
        return self

    def float(self) -> ForeignTensor:
        return ForeignTensor(self.values)

    def numpy(self) -> Any:
        if not self.has_numpy:
            raise TypeError("no such type in numpy")
        return self.values


class Sparse(ForeignTensor):
    def cpu(self) -> Any:
        raise RuntimeError("sparse tensors have no numpy form")


class LikeArray:
    def __init__(self, values: Any) -> None:
        self.values = values

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.asarray(self.values)


def cyclic() -> Any:
    items: list[Any] = [1]
    items.append(items)
    return items


def deep(levels: int) -> Any:
    items: list[Any] = []
    for _ in range(levels):
        items = [items]
    return items


SOUND: dict[str, Any] = {
    "nothing": lambda: None,
    "numbers": lambda: [1, 2.5, True, 1j, 10**40, NAN, -0.0],
    "texts": lambda: ["a", "b" * 100, b"c", b"d" * 100, bytearray(b"e" * 100)],
    "arrays": lambda: [np.zeros((2, 3)), np.arange(3)[::-1], np.array(["a", None], object)],
    "one number": lambda: np.float32(0.1),
    "mappings": lambda: {"a": 1, 2: {"b": NAN}, (1, 2): 3},
    "keys by identity": lambda: {object(): 1, WithSlot(1): 2},
    "sequences": lambda: [(1, 2), deque([3]), Point(1, 2), OrderedDict(a=1), range(3)],
    "sets": lambda: [{"alpha", "beta", "gamma"}, frozenset({1, 2}), {WithSlot(1)}],
    "objects": lambda: [Weights(), WithSlot(3), Paint.RED, defaultdict(lambda: 1, a=2)],
    "generators": lambda: np.random.default_rng(3),
    "functions": lambda: [len, copy.deepcopy, Weights, np],
    "unpicklable": lambda: [NeverPickled(), KnownByName()],
    "tensors": lambda: [
        ForeignTensor([1.0]),
        ForeignTensor([1.0], numpy=False),
        Sparse([1.0]),
        LikeArray([2]),
    ],
    "pickled": lambda: pickle.dumps({"w": np.ones(30), "names": ["a" * 40, "b" * 40]}),
    "nearly pickled": lambda: b"\x80" + b"x" * 100 + b".",
    "shared": lambda: [[1, 2]] * 2,
    "cycles": cyclic,
    "deep": lambda: deep(20_000),
}


@pytest.mark.parametrize("make", SOUND.values(), ids=SOUND)
@pytest.mark.parametrize("tolerance", [0.0, 1e-9])
def test_what_is_made_the_same_way_is_the_same(make: Any, tolerance: float) -> None:
    first, second = (fingerprint(make(), tolerance=tolerance) for _ in range(2))
    assert first.difference(second) is None
    assert first.differences(second) == []


@pytest.mark.parametrize(
    ("here", "there", "words"),
    [
        (1, 1.0, "state (1 and 1.0)"),
        (1, True, "state (1 and True)"),
        (Epoch(1), Epoch(2), "state (1 and 2)"),
        (0.0, -0.0, "state (0.0 and -0.0)"),
        (NAN, 1.0, "state (nan and 1.0)"),
        ("a", "b", "state ('a' and 'b')"),
        ("a" * 70, "b" * 70, "state (str[70])"),
        (b"a" * 70, b"a" * 71, "state (bytes[70] and bytes[71])"),
        ([1, 2], [1, 3], "state[1] (2 and 3)"),
        ([1, 2], [1], "state (list[2] and list[1]) and 1 place more"),
        ([1], (1,), "state (list[1] and tuple[1])"),
        ({"a": {"b": 1}}, {"a": {"b": 2}}, "state['a']['b'] (1 and 2)"),
        ({"a": 1}, {"b": 1}, "state['a'] (only in one of them) and 1 place more"),
        ({"a", "b"}, {"a", "c"}, "state['b'] (only in one of them) and 1 place more"),
        (np.zeros(3), np.zeros(4), "state (float64[3] and float64[4])"),
        (np.zeros(3), np.zeros(3, "f4"), "state (float64[3] and float32[3])"),
        (np.zeros(3), -np.zeros(3), "state (float64[3])"),
        (Weights(), Weights(epoch=1), "state.epoch (0 and 1)"),
        (WithSlot(1), WithSlot(2), "state.reduced[2][1]['a'] (1 and 2)"),
        (Paint.RED, Paint.BLUE, "state (Paint.RED and Paint.BLUE)"),
        (len, max, "state (len and max)"),
        (ForeignTensor([1.0]), ForeignTensor([2.0]), "state (float64[1])"),
        ({object(): 1}, {object(): 2}, "state.values()[0] (1 and 2)"),
        ({(1, 2): 0}, {(1, 3): 0}, "state[(1, 2)] (only in one of them) and 1 place more"),
        (range(3), range(4), "state (range(0, 3) and range(0, 4))"),
        (memoryview(b"a"), memoryview(b"b"), "state (b'a' and b'b')"),
        (KnownByName("one"), KnownByName("two"), "state ('one' and 'two')"),
        ([[1], [1]], [[1]] * 2, "state[1] (list[1] and thing 1 again) and 1 place more"),
        (
            pickle.dumps(["a" * 70, 1]),
            pickle.dumps(["a" * 70, 2]),
            "unpacked(state)[0][1] (1 and 2)",
        ),
    ],
)
def test_a_difference_in_words(here: Any, there: Any, words: str) -> None:
    assert fingerprint(here).difference(fingerprint(there)) == words


def test_what_is_the_same_in_another_order_or_with_other_keys_of_hooks() -> None:
    first, second = fingerprint({(1, 2): 3, (4, 5): 6}), fingerprint({(4, 5): 6, (1, 2): 3})
    assert first.difference(second) is None
    hooked = [SimpleNamespace(_hooks={key: "f"}) for key in (7, 8)]
    assert fingerprint(hooked[0]).difference(fingerprint(hooked[1])) is None


def test_bytes_within_bytes_are_unpacked_to_a_depth() -> None:
    packed = pickle.dumps("a" * 99)
    for _ in range(8):
        packed = pickle.dumps(packed)
    places = fingerprint(packed).places
    assert max(place.count("unpacked(") for place in places) == 5


def test_metrics_are_left_out_as_some_may_be_seconds() -> None:
    assert list(fingerprint([FixedMetrics(seconds=1.0), 2]).places) == ["state", "state[1]"]


def test_a_file_is_what_it_holds(tmp_path: Path) -> None:
    for name, text in {"one": "a", "two": "a", "three": "b"}.items():
        (tmp_path / name).write_text(text)
    one, two, three = (fingerprint(tmp_path / name) for name in ("one", "two", "three"))
    assert one.difference(two) is None
    assert str(one.difference(three)).startswith("file(state)[''] ('")
    assert fingerprint(str(tmp_path / "one")).difference(two) is None
    assert fingerprint(str(tmp_path / "none")).difference(one) is not None


def test_a_folder_is_what_its_files_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder, text in {"one": "a", "two": "a", "three": "b"}.items():
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "weights").write_text(text)
    states = [str(tmp_path / folder) for folder in ("one", "two", "three")]
    one, two, three = map(fingerprint, states)
    assert one.difference(two) is None
    assert one.difference(three) is not None
    monkeypatch.setattr("dynhp.selfcheck.step._MOST_FILES", 1)
    assert fingerprint(states[0]).difference(fingerprint(states[1])) is not None  # by its name


def test_a_name_that_no_file_can_have_is_a_text() -> None:
    assert fingerprint("/" + "a" * 5000).difference(fingerprint("/" + "a" * 5000)) is None
    assert fingerprint("/" + chr(0)).difference(fingerprint("/" + chr(0))) is None


def test_a_long_list_of_numbers_is_one_place() -> None:
    numbers = [float(number) for number in range(1000)]
    assert len(fingerprint({"curve": numbers}).places) == 2
    other = [*numbers[:-1], 0.5]
    assert fingerprint(numbers).difference(fingerprint(other)) == "state (float64[1000])"


def test_several_differences_are_counted() -> None:
    first, second = fingerprint([1, 2, 3, 4]), fingerprint([5, 6, 7, 4])
    assert first.difference(second) == "state[0] (1 and 5) and 2 places more"


@pytest.mark.parametrize(
    ("here", "there", "tolerance", "same"),
    [
        (1.0, 1.0 + 1e-9, 1e-6, True),
        (0.0, 1e-12, 1e-6, True),
        (0.0, -0.0, 1e-6, True),
        (NAN, NAN, 1e-6, True),
        (1.0, 1.1, 1e-6, False),
        (1, 2, 1e-6, False),
        (np.ones(3), np.ones(3) + 1e-9, 1e-6, True),
        (np.ones(3), np.ones(3) + 1e-3, 1e-6, False),
        (np.ones(3), np.ones(4), 1e-6, False),
        (np.ones(3), np.ones(3, "f4"), 1e-6, False),
        (np.array([NAN]), np.array([NAN]), 1e-6, True),
        (np.arange(3), np.arange(3) + 1, 10.0, False),  # whole numbers are never nearly equal
    ],
)
def test_a_tolerance(here: Any, there: Any, tolerance: float, same: bool) -> None:
    first, second = (fingerprint(state, tolerance=tolerance) for state in (here, there))
    assert (first.difference(second) is None) == same


def test_an_array_with_a_tolerance_is_named_by_its_kind() -> None:
    first, second = (fingerprint(np.full(2, value), tolerance=1e-6) for value in (1.0, 2.0))
    assert first.difference(second) == "state (float64[2])"


@pytest.mark.parametrize(
    ("here", "there", "only"),
    [
        ({"lr": 0.1, "w": 1.0}, {"lr": 0.2, "w": 1.0}, True),
        ({"lr": np.float32(0.1), "w": 1.0}, {"lr": np.float32(0.2), "w": 1.0}, True),
        ({"lr": 0.1, "act": "relu"}, {"lr": 0.2, "act": "tanh"}, True),
        ({"lr": 0.2, "w": 1.0}, {"lr": 0.1, "w": 1.0}, False),
        ({"lr": 0.1, "w": 1.0}, {"lr": 0.2, "w": 2.0}, False),
        ({"lr": 0.1}, {}, False),
        ({"p": 0.0}, {"p": 0.5}, True),
    ],
)
def test_the_values_themselves_may_differ(here: Any, there: Any, only: bool) -> None:
    mine = Candidate({"lr": 0.1, "act": "relu", "p": 0})
    its = Candidate({"lr": 0.2, "act": "tanh", "p": 0.5})
    assert fingerprint(here).differs_only_by(fingerprint(there), mine, its) == only


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_a_copy_is_the_same(state: Any) -> None:
    assert fingerprint(state).difference(fingerprint(copy.deepcopy(state))) is None


@pytest.mark.parametrize("tolerance", [0.0, 1e-3])
def test_what_is_stored_and_read_back_is_the_same(tolerance: float) -> None:
    state = {
        "arrays": [np.ones(9), np.array([math.nan]), np.float32(0.1), np.array(math.nan)],
        "numbers": [0.1, -0.0, math.nan, math.inf, 2**70, 10**5000, 3, True, None, 1 + 2j],
        "texts": ["ü\n", b"\0", bytearray(b"x"), Paint.RED],
    }
    before = fingerprint(state, tolerance=tolerance)
    after = decode(encode(before))
    assert before.difference(after) is None
    assert after.difference(before) is None
    changed = fingerprint({**state, "texts": ["u\n", b"\0", bytearray(b"x"), Paint.RED]})
    assert after.difference(changed) is not None
