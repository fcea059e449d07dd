"""A candidate: one value for each hyperparameter under adaptation."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, KeysView, Mapping
from typing import Any, TypeAlias

from dynhp.errors import UnknownName, nearest

__all__ = ["Candidate", "Value"]

Value: TypeAlias = bool | int | float | str | None
"""What a hyperparameter can be: everything that JSON can carry without loss."""


class Candidate(Mapping[str, Value]):
    """One value for each hyperparameter under adaptation; a mapping that never changes.

    >>> candidate = Candidate({"lr": 0.1, "layers": 2})
    >>> candidate["lr"], candidate == {"layers": 2, "lr": 0.1}, candidate
    (0.1, True, Candidate(lr=0.1, layers=2))
    """

    __slots__ = ("_hash", "_values", "admitted_by")

    def __init__(self, values: Mapping[str, Value]) -> None:
        self._values: dict[str, Value] = dict(values)
        self._hash: int | None = None
        self.admitted_by: object = None  # the space that has, so that it need not in every round

    def __getitem__(self, name: str) -> Value:
        try:
            return self._values[name]
        except KeyError:
            raise UnknownName(f"no hyperparameter {name!r}{nearest(name, self._values)}") from None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # Python itself asks for such names, also while a copy is made
            raise AttributeError(name)
        raise UnknownName(
            f"a candidate has no attribute {name!r}; its values are read by name, as in "
            f"candidate[{next(iter(self), 'name')!r}]"
        )

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def keys(self) -> KeysView[str]:
        """The names; like ``items``, far faster than what a Mapping makes of ``__iter__``."""
        return self._values.keys()

    def items(self) -> ItemsView[str, Value]:
        """The names with their values."""
        return self._values.items()

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Candidate):
            return self._values == other._values
        return isinstance(other, Mapping) and self._values == dict(other)

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self._values.items()))
        return self._hash

    def __repr__(self) -> str:
        return f"Candidate({', '.join(f'{name}={value!r}' for name, value in self.items())})"

    def __reduce__(self) -> tuple[type[Candidate], tuple[dict[str, Value]]]:
        return Candidate, (self._values,)

    def but(self, changes: Mapping[str, Value]) -> Candidate:
        """Give the same candidate with some values changed.

        >>> Candidate({"lr": 0.1, "layers": 2}).but({"lr": 0.3})
        Candidate(lr=0.3, layers=2)
        """
        return Candidate({**self._values, **changes})
