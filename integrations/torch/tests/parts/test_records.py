"""Helpers of a script that are nothing but data: which ones are, and how much looking it takes."""

from __future__ import annotations

import sys
from abc import ABC
from collections import UserDict, deque
from functools import partial
from io import StringIO
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Generic, Protocol, TypeVar

import pytest

from dynhp_torch.parts import attributes_part
from dynhp_torch.parts.records import is_record

T = TypeVar("T")


class PlainHelper:
    def __init__(self, **attributes: Any) -> None:
        vars(self).update(attributes)


class StepsHelper(Protocol):
    seen: int


class AbstractHelper(PlainHelper, ABC): ...


class TypedHelper(PlainHelper, Generic[T]): ...


class PromisedHelper(PlainHelper, StepsHelper): ...


class TableHelper(UserDict[str, int]): ...


class SlottedHelper(PlainHelper):
    __slots__ = ("hidden",)


class RowHelper(deque[int]): ...


class CallHelper(partial[int]): ...


class TextHelper(StringIO): ...


class NamesHelper(SimpleNamespace): ...


@pytest.mark.parametrize("make", [PlainHelper, AbstractHelper, TypedHelper, PromisedHelper])
def test_helpers_of_abstract_bases_are_put_back(make: type[Any]) -> None:
    owner = SimpleNamespace(helper=make(seen=1))
    part = attributes_part(lambda: [owner], name="the owner")
    state = part.get()
    owner.helper.seen = 2
    part.set(state)
    assert owner.helper.seen == 1


def test_a_user_dict_is_put_back() -> None:
    owner = SimpleNamespace(table=TableHelper(a=1))
    part = attributes_part(lambda: [owner], name="the owner")
    state = part.get()
    owner.table["b"] = 2
    part.set(state)
    assert owner.table == {"a": 1}


@pytest.mark.parametrize(
    "other",
    [
        SlottedHelper(),
        RowHelper([1]),
        CallHelper(int),
        TextHelper(),
        NamesHelper(),
        partial(int),
        StringIO(),
        {}.keys(),
    ],
)
def test_what_holds_more_than_its_names_is_no_record(other: Any) -> None:
    assert not is_record(other)
    assert not is_record(PlainHelper(deep=[other]))


def test_an_open_file_is_no_record(tmp_path: Path) -> None:
    # Since Python 3.12 the flags of its class are those of a class that a script makes.
    with (tmp_path / "log.txt").open("w") as file:
        for each in (file, file.buffer, file.buffer.raw):  # type: ignore[attr-defined]
            assert not is_record(each)
            assert not is_record(PlainHelper(file=each))


def calls(number: int, **of_root: Any) -> int:
    """How many calls it takes to note so many objects that all hold each other."""
    root = PlainHelper()
    nodes = [PlainHelper(owner=root) for _ in range(number)]
    vars(root).update(nodes=nodes, **of_root)
    owner = SimpleNamespace(nodes=nodes, root=root)
    part, count = attributes_part(lambda: [owner], name="the owner"), 0

    def add(*_: Any) -> None:
        nonlocal count
        count += 1

    sys.setprofile(add)
    try:
        part.get()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("of_root", [{}, {"deep": [[[[StringIO()]]]]}], ids=["data", "with a file"])
def test_twice_as_many_objects_take_twice_as_long(of_root: dict[str, Any]) -> None:
    assert calls(200, **of_root) < 2.5 * calls(100, **of_root)


def chain(length: int) -> tuple[PlainHelper, list[PlainHelper]]:
    nodes = [PlainHelper(seen=0) for _ in range(length)]
    for one, following in pairwise(nodes):
        vars(one)["next"] = following
    return nodes[0], nodes


def test_a_long_chain_of_objects_is_put_back() -> None:
    first, nodes = chain(5 * sys.getrecursionlimit())
    owner = SimpleNamespace(first=first)
    part = attributes_part(lambda: [owner], name="the owner")
    state = part.get()
    vars(nodes[-1])["seen"], owner.first = 1, None
    part.set(state)
    assert owner.first is first
    assert vars(nodes[-1]) == {"seen": 0}


class NamedHelper:
    def __init__(self, name: str) -> None:
        self.name = name

    def __hash__(self) -> int:
        return hash(self.name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NamedHelper) and other.name == self.name


def test_a_set_finds_its_members_again() -> None:
    member = NamedHelper("a")
    owner = SimpleNamespace(members={member}, deep=[{member}])
    part = attributes_part(lambda: [owner], name="the owner")
    state = part.get()
    member.name = "b"
    part.set(state)
    assert NamedHelper("a") in owner.members
    assert NamedHelper("a") in owner.deep[0]
