"""The watch over counters: no variable or object may take one for a plain number."""

from __future__ import annotations

import gc
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any, Final, NamedTuple

from dynhp._checks import is_number
from dynhp.errors import LoopError, advise, shown
from dynhp.loops.counter import Counter, hint_at, hint_at_second_name
from dynhp.selfcheck.contents import attributes
from dynhp.selfcheck.reach import (
    is_library_kind,
    is_our_kind,
    loop_frames,
    loop_names,
    variables_of,
)

_DEPTH = 2
_MOST_THINGS = 2_000
_LONGEST = 64  # a longer list holds data
_CODE = (FunctionType, ModuleType, type)
_NOTHING: Final = object()


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
                hint_at_second_name(counter, frame)
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
            if now is _NOTHING or now is counter or self._is_reached(counter, scopes):
                continue
            if id(now) in self._counters:
                other = self._name_of(id(now))
                raise _one_counter(place.name, other, f"{place.name}.value = {other}.value")
            raise LoopError(
                f"{place.name} was a Counter of the state, {counter!r}, and is {shown(now)} now, "
                "which no restore puts back; change the Counter itself, as with "
                f"{place.name}.value = ... or {place.name} += 1"
            )

    def _is_reached(self, counter: Counter, scopes: Sequence[Mapping[str, Any]]) -> bool:
        """Whether any place still leads to the counter, as with the variable of a ``for``."""
        return any(place.look(scopes) is counter for place, its in self._places if its is counter)

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
            hint_at(new[0], counter)
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


def _one_counter(name: str, other: str, way_out: str) -> LoopError:
    return LoopError(
        f"{name} is the Counter of {other} now, as after `{name} = {other}`, and not a number of "
        f"its own; write {way_out} to take the number alone"
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
