"""How things of a kind are taken apart on their way to another process, where pickle would copy."""

from __future__ import annotations

import copyreg
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, TypeVar

from dynhp.errors import SettingsError

__all__ = ["Reduce", "reducers", "register_reducer"]

T = TypeVar("T")

Reduce: TypeAlias = Callable[[T], tuple[Any, ...]]
"""Gives what ``__reduce__`` would: a function that can be imported, and its arguments."""

_reducers: dict[type, Reduce[Any]] = {}


def register_reducer(kind: type[T], reduce: Reduce[T]) -> None:
    """Let states with things of exactly this type travel as ``reduce`` says.

    Wrap large memory in ``pickle.PickleBuffer``: it is put into shared memory and not copied into
    the pickle. The function that puts the thing together is given a buffer that is its own, or
    one that is read-only.

    >>> import pickle
    >>> class Weights:
    ...     def __init__(self, raw):
    ...         self.raw = raw
    >>> register_reducer(Weights, lambda it: (Weights, (pickle.PickleBuffer(it.raw),)))
    """
    if not isinstance(kind, type) or not callable(reduce):
        raise SettingsError(
            f"register_reducer needs a type and a function, got {kind!r} and {reduce!r}"
        )
    _reducers[kind] = reduce


def reducers(others: Mapping[Any, Any] | None = None) -> dict[Any, Any]:
    """The table of a pickler: what it has of its own, or Python's, and what is registered."""
    return {**(copyreg.dispatch_table if others is None else others), **_reducers}
