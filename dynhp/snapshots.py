"""Snapshots of the main line that a round may start from: how many are kept, and where."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from dynhp._checks import require_callable, require_count
from dynhp.trainer import State

__all__ = ["Snapshots"]


@runtime_checkable
class StateStore(Protocol):
    """Where snapshots are kept; the trainer's states are opaque to it.

    >>> isinstance(InMemory(), StateStore)
    True
    """

    def put(self, state: State) -> Hashable:
        """Keep a state, and give the key under which it is kept."""
        ...

    def get(self, key: Any) -> State:
        """Give a state back."""
        ...

    def keep_only(self, keys: Collection[Any]) -> None:
        """Drop all others."""
        ...


class InMemory:
    """Keeps states as they are.

    >>> store = InMemory(); key = store.put("weights")
    >>> store.get(key); store.keep_only([]); len(store)
    'weights'
    0
    """

    def __init__(self) -> None:
        self._states: dict[int, State] = {}
        self._next = 0

    def __len__(self) -> int:
        return len(self._states)

    def put(self, state: State) -> int:
        """Keep it."""
        self._next += 1
        self._states[self._next] = state
        return self._next

    def get(self, key: int) -> State:
        """Give it back."""
        return self._states[key]

    def keep_only(self, keys: Collection[int]) -> None:
        """Forget the others."""
        for key in set(self._states).difference(keys):
            del self._states[key]


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshots:
    """The ring of states for ``start_from="before"``, and where they (or the best one) are kept.

    Args:
        k: how many are kept, the newest; while a round goes on, also those from before it.
        every: how many epochs of the main line lie between two.
        store: makes where they are kept: in memory, or ``on_disk(folder)`` of ``dynhp.storage``.

    >>> Snapshots(k=3, every=5).k
    3
    """

    k: int = 2
    every: int = 1
    store: Callable[[], StateStore] = InMemory

    def __post_init__(self) -> None:
        for name in ("k", "every"):
            number = require_count(f"Snapshots: {name}", getattr(self, name))
            object.__setattr__(self, name, number)
        what = "what makes a store, such as on_disk(folder) of dynhp.storage"
        require_callable("Snapshots: store", self.store, what)

    def __repr__(self) -> str:
        return f"Snapshots(k={self.k}, every={self.every})"  # the place has no influence on results
