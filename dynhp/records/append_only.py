"""A sequence that grows without being changed: the longer one shares what the shorter one has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

__all__ = ["AppendOnly", "grew_from"]

T = TypeVar("T")


class AppendOnly(Sequence[T], Generic[T]):
    """A sequence of which ``and_then`` gives a longer one, at the cost of what is added.

    Copies of a growing tuple would take quadratic time. Where two sequences grow from the same one
    in different ways, the second copies it.

    >>> short = AppendOnly([1, 2])
    >>> long = short.and_then([3])
    >>> other = short.and_then([4])
    >>> list(short), list(long), other[-1], long[1:]
    ([1, 2], [1, 2, 3], 4, (2, 3))
    """

    __slots__ = ("_length", "_shared")

    def __init__(self, items: Iterable[T] = ()) -> None:
        self._shared = list(items)
        self._length = len(self._shared)

    def and_then(self, items: Iterable[T]) -> AppendOnly[T]:
        """This sequence with these items at its end."""
        shared = self._shared
        if len(shared) > self._length:
            shared = shared[: self._length]
        shared.extend(items)
        longer: AppendOnly[T] = AppendOnly.__new__(AppendOnly)
        longer._shared = shared
        longer._length = len(shared)
        return longer

    def grew_from(self, other: object) -> bool:
        """Whether this is the other sequence, perhaps with more at its end, by what they share."""
        if not isinstance(other, AppendOnly):
            return False
        return self._shared is other._shared and self._length >= other._length

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, index: Any) -> Any:  # int -> T, slice -> tuple
        if isinstance(index, slice):
            if len(self._shared) == self._length:
                return tuple(self._shared[index])
            return tuple(self._shared[place] for place in range(*index.indices(self._length)))
        place = index + self._length if index < 0 else index
        if not 0 <= place < self._length:
            raise IndexError(f"no item {index} of {self._length}")
        return self._shared[place]

    def __iter__(self) -> Iterator[T]:
        for place in range(self._length):
            yield self._shared[place]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AppendOnly) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"AppendOnly({list(self)!r})"


def grew_from(sequence: object, other: object) -> bool:
    """Whether a sequence is the other one, perhaps with more at its end; no item is compared.

    A list that grows is itself; what is none says it by a method of the same name.

    >>> short = AppendOnly([1, 2])
    >>> grew_from(short.and_then([3]), short), grew_from(AppendOnly([1, 2, 3]), short)
    (True, False)
    """
    says = getattr(sequence, "grew_from", None)
    return sequence is other if says is None else bool(says(other))
