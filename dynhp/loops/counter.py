"""A plain number that belongs to the state."""

from __future__ import annotations

import functools
import operator
import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

import numpy as np

from dynhp._checks import is_number
from dynhp.errors import LoopError, SettingsError, advise, shown
from dynhp.selfcheck.reach import is_users_name, variables_of


def _number(other: Any) -> Any:
    return other.value if isinstance(other, Counter) else other


def _forms(operation: Callable[[Any, Any], Any]) -> tuple[Any, Any, Any]:
    """An operator with the counter on its left, on its right, and in place."""

    def left(self: Counter, other: Any) -> Any:
        return operation(self._value, self._another(other))

    def right(self: Counter, other: Any) -> Any:
        return operation(other, self._value)

    def in_place(self: Counter, other: Any) -> Counter:
        frame = sys._getframe(1)
        references = sys.getrefcount(self)
        if self._changed_by.get(references) is not frame.f_code:
            self._changed_by[references] = frame.f_code
            hint_at_second_name(self, frame)
        self._value = operation(self._value, self._another(other))
        return self

    return left, right, in_place


@functools.total_ordering
class Counter:
    """A number to count with: ``steps += 1`` changes this object, which ``state=`` can list.

    In expressions it is the number it holds. To take that number, write ``last = int(steps)``, and
    to set it, ``steps.value = 0``. ``last = steps`` only gives one counter a second name. A counter
    that meets itself in an expression or a comparison is an error, and so is one that is found in
    the place of a number. Other second names get a hint if the names around the loop lead to them
    in two steps, or if an epoch has made them. A function that is given a counter changes this very
    counter by ``+=``.

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

    __slots__ = ("__weakref__", "_changed_by", "_hints", "_value")
    __hash__ = None  # type: ignore[assignment]  # it changes

    def __init__(self, value: float = 0) -> None:
        self.value = value
        # The code that changed it in place last, by the number of references that there were then:
        # a second name is one more, so names are looked at only when one of the two is new.
        self._changed_by: dict[int, CodeType] = {}
        self._hints = object()  # each loop gives its own

    def __reduce__(self) -> tuple[type[Counter], tuple[float]]:
        return Counter, (self._value,)

    @property
    def value(self) -> float:
        """The number; it may be set to another number, or to a counter's."""
        return self._value

    @value.setter
    def value(self, value: Any) -> None:
        value = _number(value)
        value = value.item() if isinstance(value, np.number) else value
        if not is_number(value):
            raise SettingsError(f"Counter: it must hold a number, got {shown(value)}")
        self._value: float = value

    def _another(self, other: Any) -> Any:
        """The number on the other side of an operator: a counter's, or a plain one."""
        if other is self:
            raise LoopError(
                f"{self!r} meets itself in an expression, as in `steps - last` after "
                "`last = steps`, which gives one Counter two names: the numbers will never differ; "
                "write last = int(steps), or last.value = steps.value where last is a Counter too"
            )
        return _number(other)

    def get_state(self) -> float:
        """The number."""
        return self._value

    def set_state(self, state: float) -> None:
        """Take a number back."""
        self._value = state

    def __repr__(self) -> str:
        return f"Counter({self._value!r})"

    def __str__(self) -> str:
        return str(self._value)

    def __format__(self, spec: str) -> str:
        return format(self._value, spec)

    def __bool__(self) -> bool:
        return bool(self._value)

    def __int__(self) -> int:
        return int(self._value)

    def __float__(self) -> float:
        return float(self._value)

    def __index__(self) -> int:
        return operator.index(self._value)  # type: ignore[arg-type]  # a float is refused by it

    def __round__(self, digits: int | None = None) -> float:
        return round(self._value, digits)

    def __eq__(self, other: object) -> bool:
        return bool(self._value == self._another(other))

    def __lt__(self, other: Any) -> bool:
        return bool(self._value < self._another(other))

    __add__, __radd__, __iadd__ = _forms(operator.add)
    __sub__, __rsub__, __isub__ = _forms(operator.sub)
    __mul__, __rmul__, __imul__ = _forms(operator.mul)
    __truediv__, __rtruediv__, __itruediv__ = _forms(operator.truediv)
    __floordiv__, __rfloordiv__, __ifloordiv__ = _forms(operator.floordiv)
    __mod__, __rmod__, __imod__ = _forms(operator.mod)
    __pow__, __rpow__, __ipow__ = _forms(operator.pow)

    def __neg__(self) -> float:
        return -self._value

    def __abs__(self) -> float:
        return abs(self._value)


def hint_at_second_name(counter: Counter, frame: FrameType) -> None:
    """Say it if the code that is about to change a counter has two names for it."""
    names = [
        name
        for name, thing in list(variables_of(frame).items())
        if thing is counter and is_users_name(name)
    ]
    if len(names) > 1:
        hint_at(counter, names[-1], names[0])


def hint_at(counter: Counter, name: str, other: str, *, function: str = "") -> None:
    """Say that two names lead to one counter; the first may belong to a function."""
    place = f"{name} in {function}" if function else name
    hint(
        counter,
        f"{place} and {other} are one Counter, as after `{name} = {other}`, so what changes one "
        f"changes the other; to take the number alone write {name} = int({other})",
    )


def hint(counter: Counter, text: str) -> None:
    """Give a hint at a counter, once in each loop that it is in."""
    advise(text, about=(counter._hints, text))


def hint_anew(counter: Counter) -> None:
    """A loop begins: what an earlier one was told counts no more."""
    counter._changed_by = {}
    counter._hints = object()
