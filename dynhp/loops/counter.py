"""A plain number that belongs to the state, and the watch over the names that lead to it."""

from __future__ import annotations

import functools
import operator
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from dynhp._checks import is_number
from dynhp.errors import LoopError, SettingsError, shown
from dynhp.selfcheck.contents import attributes
from dynhp.selfcheck.reach import is_library_kind, is_our_kind, loop_names

_DEPTH = 2
_MOST_THINGS = 2_000
_LONGEST = 64  # a longer list holds data
_CODE = (FunctionType, ModuleType, type)


def _number(other: Any) -> Any:
    return other.value if isinstance(other, Counter) else other


def _forms(operation: Callable[[Any, Any], Any]) -> tuple[Any, Any, Any]:
    """An operator with the counter on its left, on its right, and in place."""

    def left(self: Counter, other: Any) -> Any:
        return operation(self._value, self._another(other))

    def right(self: Counter, other: Any) -> Any:
        return operation(other, self._value)

    def in_place(self: Counter, other: Any) -> Counter:
        self._value = operation(self._value, self._another(other))
        return self

    return left, right, in_place


@functools.total_ordering
class Counter:
    """A number to count with: ``steps += 1`` changes this object, which ``state=`` can list.

    In expressions it is the number it holds. To take that number, write ``last = int(steps)``, and
    to set it, ``steps.value = 0``. ``last = steps`` only gives one counter a second name, so a loop
    whose names change in this way, and a counter that is compared with itself, are errors.

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

    __slots__ = ("__weakref__", "_value")
    __hash__ = None  # type: ignore[assignment]  # it changes

    def __init__(self, value: float = 0) -> None:
        self.value = value

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
        return bool(self._value == _number(other))

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


class CounterNames:
    """The places that lead to the counters of a state, or that may come to lead to one.

    ``last = steps`` gives one counter two names, and ``steps = 0`` puts a plain number in its
    place. With plain numbers both are right. With a counter, which a restore changes in place, both
    would silently make the run differ from the plain loop, so they are errors.

    >>> run = {"steps": Counter(5), "last": Counter()}
    >>> names = CounterNames(run.values(), run)
    >>> names.require_unchanged(run)
    >>> run["last"] = run["steps"]
    >>> names.require_unchanged(run)
    Traceback (most recent call last):
    ...
    dynhp.errors.LoopError: last and steps have become one Counter, as after `last = steps`, ...
    """

    def __init__(self, counters: Iterable[Counter], names: Mapping[str, Any] | None = None) -> None:
        self._counters = {id(counter): counter for counter in counters}
        self._before: dict[str, Any] = {}
        if self._counters:
            places = dict(_places(loop_names() if names is None else names))
            self._before = {
                name: thing
                for name, thing in places.items()
                if thing is None or isinstance(thing, Counter) or is_number(thing)
            }

    def require_unchanged(self, names: Mapping[str, Any] | None = None) -> None:
        """Refuse a place that has got or lost a counter of the state since the loop began."""
        if not self._counters:
            return
        places = dict(_places(loop_names() if names is None else names))
        for name, before in self._before.items():
            now = places.get(name, before)
            if now is before:
                continue
            if id(now) in self._counters:
                known = [other for other, thing in self._before.items() if thing is now]
                other = known[0] if known else "counter"
                way_out = f"{name} = int({other})"
                if isinstance(before, Counter):
                    way_out = f"{name}.value = {other}.value"
                raise LoopError(
                    f"{name} and {other} have become one Counter, as after `{name} = {other}`, so "
                    f"what changes one changes the other; write {way_out} to take the number alone"
                )
            if id(before) in self._counters:
                raise LoopError(
                    f"{name} was a Counter of the state, {before!r}, and is {shown(now)} now, "
                    "which no restore puts back; change the Counter itself, as with "
                    f"{name}.value = ... or {name} += 1"
                )


def _places(names: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """All places that names lead to, a few steps deep; one thing may be in several of them."""
    ahead = deque((name, thing, _DEPTH) for name, thing in names.items())
    opened: set[int] = set()
    count = 0
    while ahead and count < _MOST_THINGS:
        name, thing, depth = ahead.popleft()
        yield name, thing
        count += 1
        if depth and id(thing) not in opened and not isinstance(thing, _CODE):
            opened.add(id(thing))
            ahead.extend((inner, part, depth - 1) for inner, part in _inside(name, thing))


def _inside(name: str, thing: Any) -> Iterator[tuple[str, Any]]:
    kind = type(thing)
    if isinstance(thing, dict):
        items = list(dict.items(thing)) if len(thing) <= _LONGEST else []
        yield from ((f"{name}[{key!r}]", part) for key, part in items if isinstance(key, str))
    elif isinstance(thing, list):
        parts = list(thing) if len(thing) <= _LONGEST else []
        yield from ((f"{name}[{place}]", part) for place, part in enumerate(parts))
    elif not isinstance(thing, Counter) and not is_library_kind(kind) and not is_our_kind(kind):
        yield from ((f"{name}.{key}", part) for key, part in attributes(thing).items())
