"""The watch over counters: no variable or object may take one for a plain number."""

from __future__ import annotations

import functools
import gc
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import CodeType, FrameType, FunctionType, MethodType
from typing import Any, Final, NamedTuple

from dynhp._checks import is_number
from dynhp.errors import LoopError, shown
from dynhp.loops.counter import Counter, hint, hint_anew, hint_at
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
_ATOMS = (type(None), bool, int, float, complex, str, bytes, Counter)  # nothing is inside them
_OF_CLASSES = (FunctionType, property, classmethod, staticmethod)  # no places for a number
_NOTHING: Final = object()


class CounterWatch:
    """Looks after each pass through a loop's body whether a counter was taken for a number.

    ``last = steps`` gives one counter two names, and ``steps = 0`` puts a plain number in its
    place. With plain numbers both are right. With a counter, which a restore changes in place, both
    would silently make the run differ from the plain loop. So it is an error if a place has lost a
    counter of the state, or has got one where a number was. If anything else has got one (a new
    variable, a list), there is a hint, because an object may share a counter on purpose. If two
    places lead to one counter when the loop begins, there is a hint too, unless they have the same
    name, as ``steps`` and ``warmup.steps``.

    To look everywhere after each pass would cost more than many a pass. The number of references to
    a counter says whether there is anything new to look for; one that a known
    place has lost still counts, so that a new place is noticed that has got it instead.

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
        self._numbers: set[_Way] = set()  # the ways to places where a number was, or None
        self._code: list[CodeType] = []
        if not self._counters:
            return
        for place, thing in _places(loop_names()):
            if id(thing) in self._counters:
                self._places.append((place, thing))
            elif thing is None or is_number(thing):
                self._numbers.add(place.way)
        self._places.sort(key=lambda each: not each[0].last_name)  # the best names come first
        for counter in self._counters.values():
            hint_anew(counter)
        for frame in loop_frames():
            self._code.append(frame.f_code)
            self._hint_at_second_places(frame)

    def _hint_at_second_places(self, frame: FrameType) -> None:
        """Say it if a function around the loop reaches one counter under two names.

        Another function may well have called a counter otherwise that it has handed over, so each
        is looked at alone, with the variables of its module that it uses.
        """
        variables = variables_of(frame)
        used = {name for name in (*variables, *frame.f_code.co_names) if is_users_name(name)}
        first: dict[int, _Place] = {}
        names: set[tuple[int, str]] = set()
        for place, counter in self._places:
            key = (id(counter), place.last_name)
            if place.way[0] not in used or not place.is_for_numbers:
                continue
            if place.look([variables, frame.f_globals]) is not counter:
                continue
            if id(counter) in first and key not in names:
                hint_at(counter, place.path, first[id(counter)].path, function=place.function)
            first.setdefault(id(counter), place)
            names.add(key)

    def begin(self) -> None:
        """The body is about to run: references that there are now are not its doing."""
        self._references = self._count_references(self._lost(self._scopes()))

    def require_unchanged(self) -> None:
        """Refuse a place that has lost a counter or got one for a number; hint at others."""
        if not self._counters:
            return
        scopes = self._scopes()
        lost = self._lost(scopes)
        if lost:
            self._require_in_place(scopes)
        del scopes  # they refer to the counters too
        before, self._references = self._references, self._count_references(lost)
        for key, references in self._references.items():
            if references > before[key]:
                self._look_for(key, references - before[key])

    def _lost(self, scopes: Sequence[Mapping[str, Any]]) -> list[int]:
        """Which counters known places have lost, once for each; none if they are out of sight."""
        if len(scopes) < 2 * len(self._code):
            return []
        return [id(counter) for place, counter in self._places if place.look(scopes) is not counter]

    def _count_references(self, lost: Iterable[int]) -> dict[int, int]:
        """How many there are to each counter, as if all known places still had theirs."""
        numbers = {key: sys.getrefcount(counter) for key, counter in self._counters.items()}
        for key in lost:
            numbers[key] += 1
        return numbers

    def _require_in_place(self, scopes: Sequence[Mapping[str, Any]]) -> None:
        for place, counter in self._places:
            now = place.look(scopes)
            if now is _NOTHING or now is counter or self._is_reached(place, counter, scopes):
                continue
            if id(now) in self._counters:
                other = self._name_of(id(now))
                raise _one_counter(place, other, f"{place.path}.value = {other}.value")
            raise LoopError(
                f"{place.name} was a Counter of the state, {counter!r}, and is {shown(now)} now, "
                "which no restore puts back; change the Counter itself, as with "
                f"{place.path}.value = ... or {place.path} += 1"
            )

    def _is_reached(
        self, lost: _Place, counter: Counter, scopes: Sequence[Mapping[str, Any]]
    ) -> bool:
        """Whether a counter still has a name of its own, as with the variable of a ``for``.

        A ``for`` may also go through a row of counters. That the list which is given as ``state=``
        holds it is no excuse.
        """
        return any(
            (place.last_name or (place.is_for_counters and len(lost.way) == 1))
            and place.look(scopes) is counter
            for place, its in self._places
            if its is counter
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
        known = {place.way for place, counter in self._places if id(counter) == key}
        places = [place for place, thing in _places(loop_names()) if id(thing) == key]
        new = [place for place in places if place.way not in known]
        counter, name = self._counters[key], self._name_of(key)
        for place in new:
            if place.way in self._numbers:
                raise _one_counter(place, name, f"{place.path} = int({name})")
        if key in self._hinted:
            return
        if new:
            hint_at(counter, new[0].path, name, function=new[0].function)
        else:
            # The frames of an exception that is kept go on referring to what they worked with.
            referrers = gc.get_referrers(counter)
            if number <= sum(isinstance(each, FrameType) for each in referrers):
                return
            hint(
                counter,
                f"{name} has got into something in this epoch that no name of the loop leads to "
                "at once, such as a list, a record or a function. That has the Counter, which goes "
                f"on changing, and not the number of now; to take the number write int({name})",
            )
        self._hinted.add(key)

    def _name_of(self, key: int) -> str:
        names = (place.path for place, counter in self._places if id(counter) == key)
        return next(names, "counter")


_Way = tuple[Any, ...]


class _Place(NamedTuple):
    """A place that the code around a loop can reach: how it writes it, and the way there."""

    path: str
    way: _Way
    last_name: str  # of the variable, the attribute or the key; items that are counted have none
    function: str = ""  # whose variable or parameter the path begins with
    steps: int = 0  # from the names around the loop
    is_for_numbers: bool = True  # and not an item beside things that are none
    is_for_counters: bool = False  # an item beside counters alone

    @property
    def name(self) -> str:
        """The place in a message."""
        return f"{self.path} in {self.function}" if self.function else self.path

    def look(self, scopes: Iterable[Mapping[str, Any]]) -> Any:
        """What is there now."""
        name = self.way[0]
        for scope in scopes:
            if name in scope:
                thing = scope[name]
                try:
                    for key in self.way[1:]:
                        thing = _inner(thing, key)
                except Exception:  # the way there is gone
                    return _NOTHING
                return thing
        return _NOTHING

    def inside(self, text: str, *keys: Any, name: str = "") -> _Place:
        """A place one step further, in what is here."""
        path, way = f"{self.path}{text}", (*self.way, *keys)
        return _Place(path, way, name, self.function, self.steps + 1)

    def variable(self, name: str, *keys: Any) -> _Place:
        """A variable or parameter of the function that is here."""
        return _Place(name, (*self.way, *keys), name, f"{self.path}()", self.steps + 1)


def _one_counter(place: _Place, other: str, way_out: str) -> LoopError:
    return LoopError(
        f"{place.name} is the Counter of {other} now, as after `{place.path} = {other}`, and not a "
        f"number of its own; write {way_out} to take the number alone"
    )


def _inner(thing: Any, key: Any) -> Any:
    if isinstance(thing, dict):
        return dict.get(thing, key, _NOTHING)  # no default is made
    if isinstance(thing, list):
        return list.__getitem__(thing, key)
    if isinstance(thing, tuple):
        return tuple.__getitem__(thing, key)
    if isinstance(thing, deque):
        return deque.__getitem__(thing, key)
    return object.__getattribute__(thing, key)


def _places(names: Mapping[str, Any]) -> Iterator[tuple[_Place, Any]]:
    """All places that names lead to, a few steps deep; one thing may be in several of them.

    A variable of the loop that a function inside it uses too is one place.
    """
    ahead = deque((_Place(name, (name,), name), thing) for name, thing in names.items())
    opened: set[int] = set()
    left = len(ahead) + _MOST_THINGS
    while ahead and left:
        place, thing = ahead.popleft()
        yield place, thing
        left -= 1
        if place.steps == _DEPTH or type(thing) in _ATOMS or id(thing) in opened:
            continue
        opened.add(id(thing))
        if len(ahead) < left:
            ahead.extend(
                (inner, part)
                for inner, part in _inside(place, thing)
                if not (
                    isinstance(part, Counter) and inner.function and names.get(inner.path) is part
                )
            )


def _inside(place: _Place, thing: Any) -> Iterator[tuple[_Place, Any]]:
    kind = type(thing)
    if isinstance(thing, dict):
        items = list(dict.items(thing)) if len(thing) <= _LONGEST else []
        yield from _in_row(place, [(key, part) for key, part in items if isinstance(key, int)])
        for key, part in items:
            if isinstance(key, str):
                yield place.inside(f"[{key!r}]", key, name=key), part
    elif isinstance(thing, list | tuple | deque):
        yield from _in_row(place, list(enumerate(thing)) if len(thing) <= _LONGEST else [])
    elif isinstance(thing, FunctionType):
        yield from _in_function(place, thing)
    elif isinstance(thing, functools.partial):
        yield place.inside(".func", "func"), thing.func
        for number, (name, part) in enumerate(zip(_parameters(thing), thing.args, strict=False)):
            yield place.variable(name, "args", number), part
        for name, part in thing.keywords.items():
            yield place.variable(name, "keywords", name), part
    elif isinstance(thing, MethodType):
        yield place.inside(".__self__", "__self__"), thing.__self__
    elif isinstance(thing, type):
        library = thing.__module__.partition(".")[0] in sys.stdlib_module_names
        if not library and not is_library_kind(thing) and not is_our_kind(thing):
            for name, part in vars(thing).items():
                if not name.startswith("__") and not isinstance(part, _OF_CLASSES):
                    yield place.inside(f".{name}", name, name=name), part
    elif not is_library_kind(kind) and not is_our_kind(kind):
        for name, part in attributes(thing).items():
            yield place.inside(f".{name}", name, name=name), part


def _in_row(place: _Place, items: list[tuple[int, Any]]) -> Iterator[tuple[_Place, Any]]:
    """Items without names: a log of numbers, or what a loop is made of, as ``[model, steps]``."""
    parts = [part for _, part in items]
    counters = {id(part) for part in parts if isinstance(part, Counter)}
    for number, part in items:
        inner = place.inside(f"[{number}]", number)
        if id(part) in counters:
            inner = inner._replace(
                is_for_numbers=len(counters) == 1 and all(map(_fits_in_log, parts)),
                is_for_counters=len(counters) > 1 and len(counters) == len(parts),
            )
        yield inner, part


def _fits_in_log(part: Any) -> bool:
    return part is None or isinstance(part, str | Counter) or is_number(part)


def _in_function(place: _Place, function: FunctionType) -> Iterator[tuple[_Place, Any]]:
    """The variables around a function, its defaults, and what it keeps in attributes."""
    code = function.__code__
    for number, cell in enumerate(function.__closure__ or ()):
        try:
            part = cell.cell_contents
        except ValueError:  # it has no value yet
            continue
        name = code.co_freevars[number]
        yield place.variable(name, "__closure__", number, "cell_contents"), part
    values = function.__defaults__ or ()
    last = code.co_varnames[code.co_argcount - len(values) : code.co_argcount]
    for number, (name, part) in enumerate(zip(last, values, strict=True)):
        yield place.variable(name, "__defaults__", number), part
    for name, part in (function.__kwdefaults__ or {}).items():
        yield place.variable(name, "__kwdefaults__", name), part
    for name, part in vars(function).items():
        yield place.inside(f".{name}", name, name=name), part


def _parameters(partial: functools.partial[Any]) -> Iterator[str]:
    """What the function of a partial calls what it is given, as far as this is known."""
    function, first = partial.func, 0
    if isinstance(function, MethodType):
        function, first = function.__func__, 1
    if isinstance(function, FunctionType):
        yield from function.__code__.co_varnames[first : function.__code__.co_argcount]
    number = 0
    while True:
        yield f"args[{number}]"
        number += 1
