"""How what changed is put into words: by list or dictionary, and how numbers went on."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

__all__ = ["are_numbers", "by_owner", "one_of_each", "short", "went_on"]

_LONGEST_TEXT = 40


def by_owner(names: Iterable[str]) -> dict[str, list[str]]:
    """The names of items, by the list or dictionary that they are in."""
    groups: dict[str, list[str]] = {}
    for name in names:
        owner = name.rpartition("[")[0] if name.endswith("]") else name
        groups.setdefault(owner, []).append(name)
    return groups


def one_of_each(texts: Iterable[tuple[str, str]]) -> dict[str, str]:
    """One text for each list or dictionary: that of its first item, and how many more there are."""
    by_name = dict(texts)
    return {
        owner: by_name[names[0]] + (f" (and {len(names) - 1} more in {owner})" if names[1:] else "")
        for owner, names in by_owner(by_name).items()
    }


def are_numbers(*values: Any) -> bool:
    """Whether all of these are numbers, and none a flag."""
    return all(isinstance(value, int | float) and type(value) is not bool for value in values)


def went_on(start: Any, first: Any, origin: Any, end: Any) -> bool:
    """Whether the repeat went on by the same amount, or by the same factor, as the first try."""
    if all(isinstance(value, int) for value in (start, first, origin, end)):
        return bool(end - origin == first - start)  # however large they are
    same_amount = math.isclose(end - origin, first - start, rel_tol=1e-9)
    return same_amount or math.isclose(end * start, first * origin, rel_tol=1e-9)


def short(value: Any) -> str:
    """A value in a text, cut where it is long."""
    return repr(value) if len(repr(value)) <= _LONGEST_TEXT else f"{repr(value)[:_LONGEST_TEXT]}..."
