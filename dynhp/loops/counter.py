"""A plain number that belongs to the state, so that what it decides can be undone."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from dynhp._checks import is_number
from dynhp.errors import SettingsError, shown

__all__ = ["Counter"]


def _number(other: Any) -> Any:
    return other.value if isinstance(other, Counter) else other


def _forms(operation: Callable[[Any, Any], Any]) -> tuple[Any, Any, Any]:
    """An operator with the counter on its left, on its right, and in place."""

    def left(self: Counter, other: Any) -> Any:
        return operation(self.value, _number(other))

    def right(self: Counter, other: Any) -> Any:
        return operation(other, self.value)

    def in_place(self: Counter, other: Any) -> Counter:
        self.value = operation(self.value, _number(other))
        return self

    return left, right, in_place


@functools.total_ordering
class Counter:
    """A number to count with: ``steps += 1`` changes this object, which ``state=`` can list.

    In expressions it is the number it holds; ``int(steps)`` takes a copy of that, and
    ``steps.value = 0`` sets it.

    >>> from dynhp import adapt, lowest
    >>> from dynhp.testing import Quadratic
    >>> model, steps = Quadratic(), Counter()
    >>> for epoch in adapt(4, state=[model, steps], space={"lr": [0.1, 0.5]},
    ...                    criterion=lowest("loss"), adapt_every=2, try_for=1):
    ...     model.train_k(1, epoch.values)
    ...     steps += 1
    ...     epoch.report(loss=model.metrics()["loss"])
    >>> steps, steps % 3, f"{steps:03d}"
    (Counter(4), 1, '004')
    """

    __slots__ = ("__weakref__", "value")
    __hash__ = None  # type: ignore[assignment]  # it changes

    def __init__(self, value: float = 0) -> None:
        value = value.item() if isinstance(value, np.number) else value
        if not is_number(value):
            raise SettingsError(f"Counter: it must start with a number, got {shown(value)}")
        self.value = value

    def get_state(self) -> float:
        """The number."""
        return self.value

    def set_state(self, state: float) -> None:
        """Take a number back."""
        self.value = state

    def __repr__(self) -> str:
        return f"Counter({self.value!r})"

    def __str__(self) -> str:
        return str(self.value)

    def __format__(self, spec: str) -> str:
        return format(self.value, spec)

    def __bool__(self) -> bool:
        return bool(self.value)

    def __int__(self) -> int:
        return int(self.value)

    def __float__(self) -> float:
        return float(self.value)

    def __index__(self) -> int:
        return operator.index(self.value)  # type: ignore[arg-type]  # a float is refused by it

    def __round__(self, digits: int | None = None) -> float:
        return round(self.value, digits)

    def __eq__(self, other: object) -> bool:
        return bool(self.value == _number(other))

    def __lt__(self, other: Any) -> bool:
        return bool(self.value < _number(other))

    __add__, __radd__, __iadd__ = _forms(operator.add)
    __sub__, __rsub__, __isub__ = _forms(operator.sub)
    __mul__, __rmul__, __imul__ = _forms(operator.mul)
    __truediv__, __rtruediv__, __itruediv__ = _forms(operator.truediv)
    __floordiv__, __rfloordiv__, __ifloordiv__ = _forms(operator.floordiv)
    __mod__, __rmod__, __imod__ = _forms(operator.mod)
    __pow__, __rpow__, __ipow__ = _forms(operator.pow)

    def __neg__(self) -> float:
        return -self.value

    def __abs__(self) -> float:
        return abs(self.value)
