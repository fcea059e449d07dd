"""``difference`` looks into what leaves hold: packed bytes, files, closures, keys by identity."""

from __future__ import annotations

import bz2
import copy
import gzip
import io
import pickle
import random
import weakref
import zipfile
from collections import UserDict, deque
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dynhp.frameworks import Integration
from dynhp.selfcheck.contents import UNKNOWN, shown, unpacked
from dynhp.selfcheck.difference import difference_beyond
from dynhp.testing import Quadratic, difference
from tests.support.zoo.states import Annotated, Optimizer, Parameter


def optimizer(*values: float) -> Optimizer:
    made = Optimizer([Parameter(np.zeros(3)) for _ in values])
    for parameter, value in zip(made.groups[0]["params"], values, strict=True):
        made.state[parameter] = {"v": value}
    return made


def twins(value: Any, *, one_object: bool) -> bytes:
    """Pickles of equal lists, which differ in whether the entries are one object."""
    return pickle.dumps([value, value if one_object else copy.deepcopy(value)])


def npz(**arrays: Any) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def zipped(year: int = 2000, **files: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name, (year, 1, 1, 0, 0, 0)), content)
    return stream.getvalue()


def npy(array: Any) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def adder(number: float) -> Any:
    return lambda x: x + number


def default(number: float) -> Any:
    def added(x: float, y: float = number) -> float:
        return x + y

    return added


def owner(trainer: Any) -> Any:
    return lambda: trainer


def unfilled() -> Any:
    def later() -> Any:
        return value

    if later is None:
        value = 0
    return later


def noted(note: str) -> Any:
    made = Annotated(a=1)
    made.note = note
    return made


def referring(x: Any) -> Any:
    target = Parameter(x)
    return target, weakref.ref(target)


def dangling() -> Any:
    return weakref.ref(Parameter(0))


def table(x: float, y: float) -> Any:
    return np.array([(1, x, [y, y])], dtype=[("n", int), ("x", float), ("ys", float, 2)])


def masked(values: Any, mask: Any) -> Any:
    return np.ma.masked_array(values, mask)


def holding(dtype: str, device: str = "cpu") -> Any:
    class Holder:
        def __array__(self, *args: Any, **kwargs: Any) -> Any:
            return np.ones(2)

    Holder.dtype, Holder.device = dtype, device  # type: ignore[attr-defined]
    return Holder


NAN = float("nan")

EQUAL = [
    (optimizer(1.0, 2.0), optimizer(1.0, 2.0)),
    ({Parameter(1), Parameter(2)}, {Parameter(2), Parameter(1)}),
    ({(Parameter(1), "a"): 1}, {(Parameter(1), "a"): 1}),
    ({NAN}, {float("nan")}),
    ({(1, "a"): 1, (2, "b"): 2}, {(2, "b"): 2, (1, "a"): 1}),
    (twins([1.0], one_object=True), twins([1.0], one_object=False)),
    (bytearray(twins([1], one_object=True)), bytearray(twins([1], one_object=False))),
    (gzip.compress(b"a", mtime=1), gzip.compress(b"a", mtime=2)),
    (npz(a=np.ones(2)), npz(a=np.ones(2))),
    (zipped(a=b"1"), zipped(a=b"1", year=2020)),
    (adder(1.0), adder(1.0)),
    (default(1.0), default(1.0)),
    (owner(Quadratic()), owner(SimpleNamespace(train_k=1))),
    (unfilled(), unfilled()),
    (Quadratic().get_state, Quadratic().get_state),
    ([].append, [].append),
    (referring(1), referring(1)),
    (dangling(), referring(1)[1]),
    (np.random.RandomState(1), np.random.RandomState(1)),
    (np.random.PCG64(1), np.random.PCG64(1)),
    (table(NAN, 2.0), table(NAN, 2.0)),
    (masked([1.0, 2.0], [False, True]), masked([1.0, 3.0], [False, True])),
    (memoryview(b"ab"), memoryview(bytearray(b"ab"))),
    (SimpleNamespace(_hooks={7: "f"}), SimpleNamespace(_hooks={8: "f"})),
    (Path("a"), Path("a")),
    (io, io),
]

DIFFERENT = [
    (optimizer(1.0, 2.0), optimizer(1.0, 3.0), "state.state.values()[1]['v']: 2.0 and 3.0"),
    (optimizer(1.0), optimizer(1.0, 2.0), "state.groups[0]['params'][1]: not there in"),
    ({Parameter(1): 0}, {Parameter(2): 0}, "state.keys()[0].value: 1 and 2"),
    ({Parameter(1): 0}, {}, "state.keys()[0]: not there in the second"),
    ({"a" * 99: 0}, {}, f"state['{'a' * 99}']: not there in the second"),
    ({Parameter(1)}, {Parameter(2)}, "state: {<tests.support.zoo.states.Parameter"),
    ({1}, {1, 2}, "state: {1} and {1, 2}"),
    (pickle.dumps([1, 2]), pickle.dumps([1, 3]), "unpacked(state)[0][1]: 2 and 3"),
    (
        pickle.dumps(1) + pickle.dumps([2]),
        pickle.dumps(1) + pickle.dumps([3]),
        "unpacked(state)[1][0]: 2 and 3",
    ),
    (
        bz2.compress(pickle.dumps({"w": 1.0})),
        bz2.compress(pickle.dumps({"w": 2.0})),
        "unpacked(unpacked(state))[0]['w']: 1.0 and 2.0",
    ),
    (npz(a=np.ones(2)), npz(a=np.zeros(2)), "unpacked(unpacked(state)['a.npy'])[0]: 1.0"),
    (npy(np.ones(2)), npy(np.zeros(2)), "unpacked(state)[0]: 1.0 and 0.0 (2 of 2 elements)"),
    (b"plain", pickle.dumps(1), "state: b'plain' and b'"),
    (memoryview(b"ab"), memoryview(b"ac"), "state: b'ab' and b'ac'"),
    (adder(1.0), adder(2.0), "closure(state)['number']: 1.0 and 2.0"),
    (default(1.0), default(2.0), "closure(state)['defaults'][0]: 1.0 and 2.0"),
    (adder(1.0), owner(1), "state: <code object"),
    (noted("a").items.__self__.get, noted("b").get, "state.__self__.__dict__['note']: 'a' and"),
    (Parameter.__init__.__get__(Parameter(1)), Parameter.__init__.__get__(Parameter(2)), "state."),
    (referring(1)[1], referring(2)[1], None),
    (noted("a"), noted("b"), "state.__dict__['note']: 'a' and 'b'"),
    (np.random.RandomState(1), np.random.RandomState(2), "state.state['state']['key'][0]:"),
    (np.random.PCG64(1), np.random.PCG64(2), "state.state['state']['state']: "),
    (table(1.0, 2.0), table(1.0, 3.0), "state['ys'][0, 0]: 2.0 and 3.0 (2 of 2 elements)"),
    (masked([1, 2], [0, 1]), masked([1, 2], [1, 0]), "state.mask[0]: False and True (2 of"),
    (masked([1, 2], [0, 1]), masked([2, 2], [0, 1]), "state[0]: 1 and 2 (1 of 2 elements)"),
    (
        SimpleNamespace(_hooks={7: 1}),
        SimpleNamespace(_hooks={8: 2}),
        "state._hooks.values()[0]: 1 and 2",
    ),
    (SimpleNamespace(_hooks={7: "f"}), SimpleNamespace(_hooks={}), "state._hooks.values()[0]: not"),
    (UserDict(a=1), UserDict(a=2), "state['a']: 1 and 2"),
    (deque([1]), deque([1, 2]), "state[1]: not there in the first"),
    (Path("a"), Path("b"), "state: 'a' and 'b'"),
    ([7**9000], [7**9001], "state[0]: <int> and <int>"),
    (io, copy, "state: <module 'io'"),
]


@pytest.mark.parametrize(("a", "b"), EQUAL)
def test_no_difference(a: Any, b: Any) -> None:
    assert difference(a, b) is None
    assert difference(b, a) is None


@pytest.mark.parametrize(("a", "b", "place"), DIFFERENT)
def test_the_first_difference_and_its_path(a: Any, b: Any, place: str | None) -> None:
    seen = difference(a, b)
    assert (seen or "").startswith(place or "")
    assert (seen is None) == (place is None)
    assert len(seen or "") < 300


def test_texts_that_name_files_are_compared_by_what_the_files_hold(tmp_path: Path) -> None:
    for name, number in (("a", 1), ("b", 1), ("c", 2)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "state").write_bytes(pickle.dumps({"w": number}))
    a, b, c = (tmp_path / name for name in "abc")
    assert difference(a, b) is None
    assert difference(str(a / "state"), str(b / "state")) is None
    expected = "unpacked(file(state)['state'])[0]['w']: 1 and 2"
    assert difference(a, c) == expected
    assert difference(f"{a}/state", f"{c}/state") == "unpacked(file(state))[0]['w']: 1 and 2"
    assert str(difference(str(a), "x" * 10_000)).endswith("xxx...")
    assert difference("a\0", "b") is not None


def test_tensors_of_other_kinds_may_hold_the_same_numbers() -> None:
    kind = holding("half")
    other = kind()
    other.dtype = "single"
    assert difference(kind(), kind()) is None
    assert difference(kind(), other) == "state: dtype half and single"
    other = kind()
    other.device = "meta"
    assert difference(kind(), other) == "state: device cpu and meta"


def test_generators_keep_their_seeds_out_of_it() -> None:
    first, second = np.random.default_rng(1), np.random.default_rng(2)
    assert difference(first, second) is not None
    second.bit_generator.state = first.bit_generator.state
    assert difference(first, second) is None
    assert difference(random.Random(1), random.Random(1)) is None


def test_generators_of_any_library_are_known_by_their_methods() -> None:
    class Generator:
        def __init__(self, seed: int) -> None:
            self.seed(seed)

        def seed(self, seed: int) -> None:
            self.numbers = seed

        def get_state(self) -> Any:
            return np.array([self.numbers])

        def set_state(self, state: Any) -> None:
            raise AssertionError("nothing is to be set")

    assert difference(Generator(1), Generator(2)) == "state.state[0]: 1 and 2 (1 of 1 elements)"
    assert difference(Parameter(1), Parameter(2)) == "state.value: 1 and 2"


def test_quantised_tensors_are_compared_by_their_numbers() -> None:
    class Quantised:
        is_quantized = True

        def __init__(self, number: float) -> None:
            self.number = number

        def detach(self) -> Any:
            return self

        def cpu(self) -> Any:
            return self

        def dequantize(self) -> Any:
            return SimpleNamespace(numpy=lambda: np.array([self.number]))

    assert difference(Quantised(1.0), Quantised(1.0)) is None
    assert difference(Quantised(1.0), Quantised(2.0)) == "state[0]: 1.0 and 2.0 (1 of 1 elements)"


def test_leaves_can_be_ignored() -> None:
    def ignore(x: Any, y: Any) -> bool:
        return (x, y) == (0.1, 0.2)

    def beyond(a: Any, b: Any) -> str | None:
        return difference_beyond(a, b, "state", ignore=ignore)

    assert beyond({"lr": 0.1, "lrs": np.full(2, 0.1)}, {"lr": 0.2, "lrs": np.full(2, 0.2)}) is None
    assert beyond([0.1, 1], [0.2, 2]) == "state[1]: 1 and 2"
    assert beyond(np.array([0.1, 0.3]), np.array([0.2, 0.4])) is not None


def test_what_is_nested_deeper_than_the_stack_is_compared() -> None:
    first: list[Any] = []
    second: list[Any] = [1]
    for _ in range(5_000):
        first, second = [first], [second]
    assert difference(first, first) is None
    assert difference(first, second) == f"state{'[0]' * 5_001}: not there in the first"


def test_a_value_is_shown_on_one_short_line() -> None:
    assert shown("a\n\n  b", text=str) == "a b"
    assert len(shown(np.zeros((50, 50)))) == 60
    assert "\n" not in shown(np.zeros((50, 50)))


def test_bytes_within_bytes_are_unpacked_to_a_depth() -> None:
    packed = [number.to_bytes(1, "big") for number in (1, 2)]
    for depth in range(1, 8):
        packed = [pickle.dumps(item) for item in packed]
        seen = str(difference(*packed))
        assert seen.count("unpacked(") == min(depth, 5)


def test_bytes_that_hold_nothing_stay_bytes() -> None:
    assert unpacked(b"\x80\x05nonsense") is unpacked(b"") is UNKNOWN


def test_files_of_a_framework_are_read_by_its_integration(
    registry: Callable[[Integration], None],
) -> None:
    def unpack(packed: bytes) -> Any:
        if packed[:5] != b"ACME ":
            raise ValueError("no file of acme")
        return {"w": int(packed[5:])}

    assert difference(b"ACME 1", b"ACME 2") == "state: b'ACME 1' and b'ACME 2'"
    registry(Integration(package="dynhp_other"))
    registry(Integration(package="dynhp_acme", unpack=unpack))
    assert difference(b"ACME 1", b"ACME 2") == "unpacked(state)['w']: 1 and 2"
    assert difference(b"ACME 1", b"ACME 01") is None
    assert unpacked(b"nothing of acme") is UNKNOWN
