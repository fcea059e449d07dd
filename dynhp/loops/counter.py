"""A plain number that belongs to the state, and the watch over what refers to it."""

from __future__ import annotations

import functools
import gc
import operator
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any, Final, NamedTuple

import numpy as np

from dynhp._checks import is_number
from dynhp.errors import LoopError, SettingsError, advise, shown
from dynhp.selfcheck.contents import attributes
from dynhp.selfcheck.reach import (
    is_library_kind,
    is_our_kind,
    is_users_name,
    loop_frames,
    loop_names,
    variables_of,
)

_DEPTH = 2
_MOST_THINGS = 2_000
_LONGEST = 64  # a longer list holds data
_CODE = (FunctionType, ModuleType, type)
_NOTHING: Final = object()


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
            _hint_at_second_name(self, frame)
        self._value = operation(self._value, self._another(other))
        return self

    return left, right, in_place


@functools.total_ordering
class Counter:
    """A number to count with: ``steps += 1`` changes this object, which ``state=`` can list.

    In expressions it is the number it holds. To take that number, write ``last = int(steps)``, and
    to set it, ``steps.value = 0``. ``last = steps`` only gives one counter a second name, which is
    an error where it is surely a mistake, and otherwise gets a hint. A function that is given a
    counter changes this very counter by ``+=``.

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

    __slots__ = ("__weakref__", "_changed_by", "_value")
    __hash__ = None  # type: ignore[assignment]  # it changes

    def __init__(self, value: float = 0) -> None:
        self.value = value
        # The code that changed it in place last, by the number of references that there were then:
        # a second name is one more, so names are looked at only when one of the two is new.
        self._changed_by: dict[int, CodeType] = {}

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


class CounterWatch:
    """Looks after each pass through a loop's body whether a counter was taken for a number.

    ``last = steps`` gives one counter two names, and ``steps = 0`` puts a plain number in its
    place. With plain numbers both are right. With a counter, which a restore changes in place, both
    would silently make the run differ from the plain loop. So it is an error if a place has lost a
    counter of the state, or has got one where a number was. If anything else has got one (a new
    variable, a list), there is a hint, because an object may share a counter on purpose.

    To look everywhere after each pass would cost more than many a pass. The number of references to
    a counter says whether there is anything new to look for.

    >>> def run(steps):
    ...     watch = CounterWatch([steps])
    ...     watch.begin(); steps += 1; watch.require_unchanged()
    ...     watch.begin(); steps = 0; watch.require_unchanged()
    >>> run(Counter())
    Traceback (most recent call last):
    ...
    dynhp.errors.LoopError: steps was a Counter of the state, Counter(1), and is 0 now, ...
    """

    def __init__(self, counters: Iterable[Counter]) -> None:
        self._counters = {id(counter): counter for counter in counters}
        self._references: dict[int, int] = {}  # when the pass began
        self._hinted: set[int] = set()
        self._places: list[tuple[_Place, Counter]] = []  # those that lead to a counter
        self._numbers: set[str] = set()  # the names of places where a number was, or None
        self._code: list[CodeType] = []
        if not self._counters:
            return
        for frame in loop_frames():
            self._code.append(frame.f_code)
            for counter in self._counters.values():
                _hint_at_second_name(counter, frame)
        for place, thing in _places(loop_names()):
            if id(thing) in self._counters:
                self._places.append((place, thing))
            elif thing is None or is_number(thing):
                self._numbers.add(place.name)

    def begin(self) -> None:
        """The body is about to run: references that there are now are not its doing."""
        self._references = {
            key: sys.getrefcount(counter) for key, counter in self._counters.items()
        }

    def require_unchanged(self) -> None:
        """Refuse a place that has lost a counter or got one for a number; hint at others."""
        if not self._counters:
            return
        self._require_in_place()
        before = self._references
        self.begin()
        for key, references in self._references.items():
            if references > before[key]:
                self._look_for(key, references - before[key])

    def _require_in_place(self) -> None:
        scopes = self._scopes()
        for place, counter in self._places:
            now = place.look(scopes)
            if now is _NOTHING or now is counter or self._is_named_elsewhere(place, scopes):
                continue
            if id(now) in self._counters:
                other = self._name_of(id(now))
                raise _one_counter(place.name, other, f"{place.name}.value = {other}.value")
            raise LoopError(
                f"{place.name} was a Counter of the state, {counter!r}, and is {shown(now)} now, "
                "which no restore puts back; change the Counter itself, as with "
                f"{place.name}.value = ... or {place.name} += 1"
            )

    def _is_named_elsewhere(self, lost: _Place, scopes: Sequence[Mapping[str, Any]]) -> bool:
        """Whether another place still leads to the counter, as with the variable of a ``for``."""
        counter = next(counter for place, counter in self._places if place is lost)
        return any(
            place.look(scopes) is counter
            for place, its in self._places
            if its is counter and place is not lost
        )

    def _scopes(self) -> list[Mapping[str, Any]]:
        """Where the code around the loop has its names, found again without looking at others."""
        scopes: list[Mapping[str, Any]] = []
        frame: FrameType | None = sys._getframe(1)
        for code in self._code:
            while frame is not None and frame.f_code is not code:
                frame = frame.f_back
            if frame is not None:
                scopes += [variables_of(frame), frame.f_globals]
        return scopes

    def _look_for(self, key: int, number: int) -> None:
        """Find out what has begun to refer to a counter: this many references are new."""
        known = {place.name for place, _ in self._places}
        places = [place.name for place, thing in _places(loop_names()) if id(thing) == key]
        new = [name for name in places if name not in known]
        counter = self._name_of(key)
        for name in new:
            if name in self._numbers:
                raise _one_counter(name, counter, f"{name} = int({counter})")
        if key in self._hinted:
            return
        if new:
            _hint_at(new[0], counter)
        else:
            # The frames of an exception that is kept go on referring to what they worked with.
            referrers = gc.get_referrers(self._counters[key])
            if number <= sum(isinstance(each, FrameType) for each in referrers):
                return
            advise(
                f"{counter} has got into something in this epoch that no name of the loop leads to "
                "at once, such as a list, a record or a function. That has the Counter, which goes "
                f"on changing, and not the number of now; to take the number write int({counter})"
            )
        self._hinted.add(key)

    def _name_of(self, key: int) -> str:
        names = (place.name for place, counter in self._places if id(counter) == key)
        return next(names, "counter")


def _hint_at_second_name(counter: Counter, frame: FrameType) -> None:
    """Say it if the code that is about to change a counter has two names for it."""
    names = [
        name
        for name, thing in list(variables_of(frame).items())
        if thing is counter and is_users_name(name)
    ]
    if len(names) > 1:
        _hint_at(names[-1], names[0])


def _one_counter(name: str, other: str, way_out: str) -> LoopError:
    return LoopError(
        f"{name} is the Counter of {other} now, as after `{name} = {other}`, and not a number of "
        f"its own; write {way_out} to take the number alone"
    )


def _hint_at(name: str, other: str) -> None:
    advise(
        f"{name} and {other} are one Counter, as after `{name} = {other}`, so what changes one "
        f"changes the other; to take the number alone write {name} = int({other})"
    )


class _Place(NamedTuple):
    """A place that the code around a loop can reach: how it writes it, and the way there."""

    name: str
    way: tuple[str | int, ...]

    def look(self, scopes: Iterable[Mapping[str, Any]]) -> Any:
        """What is there now."""
        for scope in scopes:
            if self.way[0] in scope:
                thing: Any = scope
                try:
                    for key in self.way:
                        thing = _inner(thing, key)
                except Exception:  # the way there is gone
                    return _NOTHING
                return thing
        return _NOTHING


def _inner(thing: Any, key: Any) -> Any:
    if isinstance(thing, dict):
        return dict.get(thing, key, _NOTHING)  # no default is made
    if isinstance(thing, list):
        return list.__getitem__(thing, key)
    return object.__getattribute__(thing, key)


def _places(names: Mapping[str, Any]) -> Iterator[tuple[_Place, Any]]:
    """All places that names lead to, a few steps deep; one thing may be in several of them."""
    ahead = deque((_Place(name, (name,)), thing) for name, thing in names.items())
    opened: set[int] = set()
    left = len(ahead) + _MOST_THINGS
    while ahead and left:
        place, thing = ahead.popleft()
        yield place, thing
        left -= 1
        if len(place.way) <= _DEPTH and id(thing) not in opened and not isinstance(thing, _CODE):
            opened.add(id(thing))
            ahead.extend(
                (_Place(f"{place.name}{text}", (*place.way, key)), part)
                for text, key, part in _inside(thing)
            )


def _inside(thing: Any) -> Iterator[tuple[str, str | int, Any]]:
    kind = type(thing)
    if isinstance(thing, dict):
        items = list(dict.items(thing)) if len(thing) <= _LONGEST else []
        yield from ((f"[{key!r}]", key, part) for key, part in items if isinstance(key, str))
    elif isinstance(thing, list):
        parts = list(thing) if len(thing) <= _LONGEST else []
        yield from ((f"[{number}]", number, part) for number, part in enumerate(parts))
    elif not isinstance(thing, Counter) and not is_library_kind(kind) and not is_our_kind(kind):
        yield from ((f".{key}", key, part) for key, part in attributes(thing).items())
