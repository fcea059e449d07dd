"""``difference`` finds the first place where two states differ, and no difference that is none."""

from __future__ import annotations

import pickle
import random
from collections import OrderedDict, deque
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from dynhp.selfcheck.difference import difference_beyond
from dynhp.testing import difference

NAN = float("nan")


class Tensor:
    """Quacks like a tensor of a framework; ``numpy`` raises ``refuses`` where that is given."""

    def __init__(self, values: Any, *, refuses: type[Exception] | None = None) -> None:
        self.values, self.refuses = np.asarray(values, dtype=np.float32), refuses

    def detach(self) -> Tensor:
        return self

    def cpu(self) -> Tensor:
        return self

    def float(self) -> Tensor:
        return Tensor(self.values)

    def numpy(self) -> Any:
        if self.refuses:
            raise self.refuses("not in numpy")
        return self.values


class ArrayLike:
    def __init__(self, values: Any) -> None:
        self.values = values

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.asarray(self.values)


@dataclass
class Record:
    number: Any
    more: dict[str, Any] = field(default_factory=dict)


class Slotted:
    __slots__ = ("x",)

    def __init__(self, x: Any) -> None:
        self.x = x


class Unpicklable:
    """Can be compared in no way."""

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError("no")


class UnpicklableEqual(Unpicklable):
    def __init__(self, x: Any) -> None:
        self.x = x

    def __eq__(self, other: object) -> bool:
        if self.x == "raise":
            raise ValueError("no")
        return isinstance(other, UnpicklableEqual) and self.x == other.x

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        if self.x == "mute":
            raise ValueError("no")
        return f"X{self.x}"


class Name:
    """Pickles as the name of a global."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __reduce_ex__(self, protocol: Any) -> str:
        return self.name


def cyclic(x: int) -> list[Any]:
    items: list[Any] = [x]
    items.append(items)
    return items


EQUAL = [
    (NAN, float("nan")),
    (np.array([1.0, NAN]), np.array([1.0, NAN])),
    (np.array([NAN + 1j]), np.array([NAN + 1j])),
    (np.array(["NaT"], "M8[s]"), np.array(["NaT"], "M8[s]")),
    (np.array([1, None], object), np.array([1, None], object)),
    ({"b": 1, "a": [2, (3,)]}, {"a": [2, (3,)], "b": 1}),
    (Tensor([1, 2]), Tensor([1, 2])),
    (Tensor([1], refuses=TypeError), Tensor([1], refuses=TypeError)),
    (Tensor([1], refuses=RuntimeError), Tensor([1], refuses=RuntimeError)),
    (ArrayLike([1]), ArrayLike([1])),
    (Record(NAN), Record(float("nan"))),
    (Record(np.ones(2)), Record(np.ones(2))),
    (Slotted(1), Slotted(1)),
    (random.Random(3), random.Random(3)),
    (np.random.default_rng(3), np.random.default_rng(3)),
    (cyclic(1), cyclic(1)),
    (Unpicklable(), Unpicklable()),
    (UnpicklableEqual("raise"), UnpicklableEqual("raise")),
    (UnpicklableEqual(1), UnpicklableEqual(1)),
    (Name("one"), Name("one")),
    (Record.__init__, Record.__init__),
    (None, None),
    ("a" * 2, "".join(["a", "a"])),
]

DIFFERENT = [
    (1, 2, "state: 1 and 2"),
    (1, 1.0, "state: 1 of type int and 1.0 of type float"),
    (1, True, "state: 1 of type int and True of type bool"),
    (0.0, -0.0, "state: 0.0 and -0.0"),
    (1.0, 1.0 + 2**-52, "state: 1.0 and 1.0000000000000002"),
    (1j, 2j, "state: 1j and 2j"),
    (complex(1, -0.0), complex(1, 0.0), "state: (1-0j) and (1+0j)"),
    (np.float32(1), np.float32(2), "state: 1.0 and 2.0"),
    (np.zeros(2), np.zeros(3), "state: float64[2] and float64[3]"),
    (np.zeros(2), np.zeros(2, np.float32), "state: float64[2] and float32[2]"),
    (np.array([1, None]), np.array([1, 2], object), "state[1]: None of type NoneType and 2 of"),
    (np.eye(2), np.ones((2, 2)), "state[0, 1]: 0.0 and 1.0 (2 of 4 elements)"),
    ({"a": 1}, {}, "state['a']: not there in the second"),
    ({}, {"a": 1}, "state['a']: not there in the first"),
    ({"a": {"m": [0, 1]}}, {"a": {"m": [0, 2]}}, "state['a']['m'][1]: 1 and 2"),
    ({}, OrderedDict(), "state: {} of type dict and OrderedDict() of type OrderedDict"),
    ([1], [1, 2], "state[1]: not there in the first"),
    (deque([1]), deque([2]), "state[0]: 1 and 2"),
    ({1}, {2}, "state: {1} and {2}"),
    (b"a", b"b", "state: b'a' and b'b'"),
    (Tensor([1, 2]), Tensor([1, 3]), "state[1]: 2.0 and 3.0 (1 of 2 elements)"),
    (Tensor([1], refuses=TypeError), Tensor([2]), "state[0]: 1.0 and 2.0 (1 of 1 elements)"),
    (
        Tensor([1], refuses=RuntimeError),
        Tensor([2], refuses=RuntimeError),
        "state.values[0]: 1.0 and 2.0 (1 of 1 elements)",
    ),
    (ArrayLike([1]), ArrayLike([2]), "state[0]: 1 and 2 (1 of 1 elements)"),
    (Record(1.0), Record(2.0), "state.number: 1.0 and 2.0"),
    (Record(1, {"a": [1]}), Record(1, {"a": [2]}), "state.more['a'][0]: 1 and 2"),
    (Slotted(1), Slotted(2), "state.reduced[2][1]['x']: 1 and 2"),
    (random.Random(3), random.Random(4), "state.state[1]["),
    (np.random.default_rng(3), np.random.default_rng(4), "state.state["),
    (Name("one"), Name("two"), "state: 'one' and 'two'"),
    (cyclic(1), cyclic(2), "state[0]: 1 and 2"),
    (UnpicklableEqual(1), UnpicklableEqual(2), "state: X1 and X2"),
    (UnpicklableEqual("mute"), UnpicklableEqual(2), "state: <UnpicklableEqual> and X2"),
    (int, str, "state: <class 'int'> and <class 'str'>"),
    (len, max, "state: 'len' and 'max'"),
    ("a" * 99, "b", f"state: '{'a' * 56}... and 'b'"),
]


@pytest.mark.parametrize(("a", "b"), EQUAL)
def test_no_difference(a: Any, b: Any) -> None:
    assert difference(a, b) is None


@pytest.mark.parametrize(("a", "b", "place"), DIFFERENT)
def test_the_first_difference_and_its_path(a: Any, b: Any, place: str) -> None:
    seen = difference(a, b)
    assert seen is not None
    assert seen == place or (place.endswith(("(", "[", " of")) and seen.startswith(place))


def test_an_attribute_only_one_of_them_has() -> None:
    first, second = Record(np.ones(2)), Record(np.ones(2))  # whose == gives no answer
    first.extra = 2  # type: ignore[attr-defined]
    assert difference(first, second) == "state.extra: not there in the second"


def test_iterators_among_what_pickle_stores_are_read() -> None:
    class Listing:
        def __init__(self, *items: int) -> None:
            self.items = items

        def __reduce_ex__(self, protocol: Any) -> Any:
            return list, (), None, iter(self.items)

    assert difference(Listing(1, 2), Listing(1, 2)) is None
    assert difference(Listing(1, 2), Listing(1, 3)) == "state.reduced[3][1]: 2 and 3"


def test_the_name_given_begins_the_path() -> None:
    assert difference([1], [2], "metrics()") == "metrics()[0]: 1 and 2"


def test_a_tensor_with_and_one_without_a_numpy_form_differ() -> None:
    assert difference(Tensor([1]), Tensor([1], refuses=RuntimeError)) is not None


def test_leaves_of_two_types_can_be_ignored() -> None:
    assert difference_beyond([None], [0.1], "state", ignore=lambda x, y: x is None) is None


def test_a_key_that_is_called_like_hooks_does_not_hide_other_keys() -> None:
    for name in ("n_hooks", "a.n_hooks", "n_hooks.a"):
        seen = difference({name: {"a": 1}}, {name: {"b": 1}})
        assert seen == f"state[{name!r}]['a']: not there in the second"
    assert difference({"n_hooks": [{"a": 1}]}, {"n_hooks": [{"b": 1}]}) is not None


def test_a_key_that_is_called_like_unpacked_bytes_does_not_count_as_a_depth() -> None:
    key = "unpacked(" * 9
    seen = difference({key: pickle.dumps(1)}, {key: pickle.dumps(2)})
    assert str(seen).startswith("unpacked(state[")
    assert str(seen).endswith(": 1 and 2")
