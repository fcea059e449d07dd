"""What a round's tries did to things outside the state: what was not put back, what may be so."""

from __future__ import annotations

import math
import operator
import re
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from dynhp.selfcheck.contents import has_methods
from dynhp.selfcheck.fingerprint import Fingerprint
from dynhp.selfcheck.reach import Body, in_reach, is_array, trainer_names, variable_of
from dynhp.selfcheck.things import AN_ITERATOR, Things, ids_inside, kind_of, read_state, unreadable

__all__ = ["Watch", "is_clock", "one_of_each", "trainer_watch", "went_on"]

_MOST_SUSPECTS = 6
_GENERAL = (
    "nothing that changed; it may be a generator of a library that dynhp does not know (of a "
    "framework in the plain adapt, on a GPU, inside a booster), a file, the time, or threads"
)
_LARGEST_ARRAY = 16 * 2**20  # bytes
_LARGEST_LOOK = 64 * 2**20  # bytes of all arrays together
_MOST_OBJECTS = 1_000  # in one array
_LONGEST_TEXT = 40
_CHANGED = "{}: an array changed in the tries and not put back"
_LONG_AGO = 3_600.0  # seconds, in which a program may have read a clock
_OF_TIME = re.compile(r"(?i)(^|[._])(time|t0|t1|dt|tic|toc|elapsed|seconds|duration|clock)(\b|_)")


class Watch:
    """Looks at what is in reach at four moments of a checked round, and says what came of it.

    It is made when the round begins; then ``first_try_ended()``, ``back_at_origin()`` after the
    other tries, and the first try is carried out once more. After that ``left_behind()`` is proof,
    ``suspects()`` helps if the repeat differed and ``hints()`` if it did not.

    A thing is accused only if it was different when the repeat began than when the first try
    began, *and* different when they ended: what a try makes anew by itself (a copy for measuring,
    a meter that is reset) ends the same both times, and need not be put back.

    Args:
        reach: gives all that is in reach now, by name.
        inside: the things that are in the state.
        read: gives a function that reads a thing's own state, or None if it has none.
        tolerance: numbers that differ by no more than this are the same.
        said: what has got a hint in this run already.
        body: says what the body of the loop does with its variables.

    >>> import random
    >>> rng = random.Random(0)
    >>> watch = Watch(lambda: {"rng": rng}, [], lambda thing: getattr(thing, "getstate", None))
    >>> _ = rng.random(); watch.first_try_ended()
    >>> _ = rng.random(); watch.back_at_origin()
    >>> _ = rng.random(); watch.left_behind()
    ['rng (Random) changed in the tries and was not put back']
    """

    def __init__(
        self,
        reach: Callable[[], Mapping[str, Any]],
        inside: Sequence[Any],
        read: Callable[[Any], Callable[[], Any] | None],
        *,
        tolerance: float = 0.0,
        said: set[Any] | None = None,
        body: Callable[[], Body] = Body,
    ) -> None:
        self.body = body
        self.reach = reach
        self.inside = inside
        self.read = read
        self._said = set() if said is None else said
        self._things = Things(read, ids_inside(inside), tolerance)
        self._start = self._first = self._origin = self._look()
        self._end: _Moment | None = None

    def first_try_ended(self) -> None:
        """The first try has ended, and nothing has been put back yet."""
        self._first = self._look()

    def back_at_origin(self) -> None:
        """All tries have ended, and the trainer is where it was when the round began."""
        self._origin = self._look()
        self._end = None  # another repeat follows
        # What is in the state was put back, so it holds now what it held when the round began.
        left = {
            name: thing
            for name, thing in self._start.listed.items()
            if name in self._origin.contents
        }
        self._start.contents |= self._things.contents(left)

    def left_behind(self) -> list[str]:
        """What has a state of its own that the tries changed and that was not put back."""
        return [
            *(f"{self._things.named(key)} {how}" for key, how in self._accused().items()),
            *self._rebound(),
            *dict(self._arrays(copies=True)).values(),
        ]

    def suspects(self) -> list[str]:
        """What may be the cause of a repeat that differed, the likeliest first."""
        end = self._now()
        anew, carried = self.body()
        arrays = dict(self._arrays())
        # An epoch that begins with another may well end with the same.
        arrays |= {name: _CHANGED.format(name) for name in self._moved("arrays") & carried}
        changed = {n: t for n, t in self._changed_values() if variable_of(n) not in anew}
        counted = one_of_each(self._counted(end))
        likely = [
            *self.left_behind(),
            *end.rebound(self._start),
            *counted.values(),
            *end.unreadable_again(self._first),
            *end.iterators_made_anew(self._start),
            *(
                f"{text}{end.way_to_list(name)}"
                for name, text in sorted(arrays.items(), key=lambda each: each[0] not in carried)
                if variable_of(name) not in anew
            ),
            *(text for name, text in changed.items() if name in carried - counted.keys()),
            *self._grown(end).values(),
        ]
        if likely:
            return list(dict.fromkeys(likely))[:_MOST_SUSPECTS]
        others = [*one_of_each(changed.items()).values(), *self._not_in_the_state(end)]
        return others[:_MOST_SUSPECTS] or [_GENERAL]

    def _moved(self, kind: str) -> set[str]:
        """The names of what was another when the repeat began than when the first try began."""
        start, origin = (getattr(each, kind) for each in (self._start, self._origin))
        both = start.keys() & origin.keys()
        return {name for name in both if start[name].difference(origin[name]) is not None}

    def hints(self) -> list[str]:
        """What else the tries changed, though the repeat was equal; each once in a run."""
        end = self._now()
        guard = "; what belongs to the main line alone stands under `if epoch.main:`"
        grown = {name: text for name, text in self._grown(end).items() if name in end.lists}
        kinds: dict[str, Mapping[str, str]] = {
            "counted": one_of_each(self._counted(end)),
            "grown": {name: f"{text}{guard}" for name, text in grown.items()},
            "best": {name: f"{text}{guard}" for name, text in self._bests(end)},
            "arrays": dict(self._arrays()),
        }
        texts = {(kind, name): text for kind in kinds for name, text in kinds[kind].items()}
        new = texts.keys() - self._said
        self._said |= new
        return [text for key, text in texts.items() if key in new]

    def met(self) -> set[str]:
        """The names of all that was there and did not stay the same: it was judged here."""
        moments = (self._start, self._first, self._origin, self._now())
        return {
            name for name in self._now().names if any(m.is_other(moments[0], name) for m in moments)
        }

    def listed(self) -> Mapping[str, Any]:
        """The names of the things that are in the state, and these things."""
        return self._start.listed

    def _look(self) -> _Moment:
        return _Moment(self.reach(), self._things)

    def _now(self) -> _Moment:
        """How it is after the repeat, looked at once."""
        if self._end is None:
            self._end = self._look()
        return self._end

    def _accused(self) -> dict[int, str]:
        end, accused = self._now(), {}
        for key in self._first.states:
            kept = key in end.present  # what was replaced on the way decides nothing any more
            if kept and end.differs(self._first, key):
                if key not in self._start.states:
                    accused[key] = "was made in the first try and is not in the state"
                elif self._origin.differs(self._start, key):
                    accused[key] = "changed in the tries and was not put back"
        return accused

    def _rebound(self) -> Iterator[str]:
        """Names that went on to new objects, each made of the one before."""
        start, end = self._start, self._now()
        for name in self._not_put_back(lambda moment: moment.contents, Fingerprint.difference):
            if name in start.listed:
                yield start.left(name)
            elif end.bound.get(name) != start.bound.get(name):
                yield (
                    f"{name} was bound to a new object in the tries and not put back; change one "
                    "object in place, and list it in the state"
                )

    def _counted(self, end: _Moment) -> Iterator[tuple[str, str]]:
        """Numbers that went on by the same amount in the first try and in its repeat."""
        for name, value in end.values.items():
            start: Any = self._start.values.get(name)
            first: Any = self._first.values.get(name)
            origin: Any = self._origin.values.get(name)
            if not _are_numbers(value, first, origin) or value in (first, origin):
                continue
            if is_clock(name, first, origin, value):
                continue
            values = f"{name}: {first!r} after the first try and {value!r} after its repeat"
            if start is None and value - origin in (first, first + 1):  # from 1 on, or from 0 on
                yield name, f"{values}, so it counts tries too; use epoch.number"
            elif _are_numbers(start) and start != origin and went_on(start, first, origin, value):
                yield name, f"{values}; {_as_counter(name, start)}"

    def _changed_values(self) -> Iterator[tuple[str, str]]:
        """Plain values that were not put back, clocks left out."""
        for name, value in self._origin.values.items():
            start = self._start.values.get(name, value)
            if repr(start) == repr(value) or is_clock(name, start, value):
                continue
            began = f"{_short(start)} when the first try began and {_short(value)} when"
            way = f"; {_as_counter(name, start)}" if _are_numbers(start, value) else ""
            yield name, f"{name}: {began} its repeat began{way}"

    def _grown(self, end: _Moment) -> dict[str, str]:
        """Containers that grew both in the first try and after it, by name."""
        start, first = self._start.lengths, self._first.lengths
        return {
            name: f"{name} grew in the tries: {first[name]} items after the first try and "
            f"{length} after its repeat"
            for name, length in end.lengths.items()
            if start.get(name, length) < first.get(name, 0) < length
        }

    def _bests(self, end: _Moment) -> Iterator[tuple[str, str]]:
        """The best loss so far and the like, which a losing try must not set."""
        for name in self._not_put_back(lambda moment: moment.values, operator.ne):
            if "best" in name.lower():
                values = f"{_short(self._first.values[name])} and then {_short(end.values[name])}"
                yield name, f"{name} changed in the tries: {values}"

    def _arrays(self, *, copies: bool = False) -> Iterator[tuple[str, str]]:
        """Arrays that were not put back: several with the shapes of weights are a copy of them."""
        changed = self._not_put_back(lambda moment: moment.arrays, Fingerprint.difference)
        weights = self._things.shapes()
        shapes = self._now().shapes
        for owner, names in _by_owner(changed).items():
            kinds = {shapes[name] for name in names}
            # Averages of losses have one element each, data have one shape: no model has.
            copied = len(kinds) > 1 and kinds <= weights and max(map(math.prod, kinds)) > 1
            number = f"{len(names)} arrays" if len(names) > 1 else "an array"
            if copied == copies:
                kind = f"{number} with the shapes of weights" if copied else number
                yield owner, f"{owner}: {kind} changed in the tries and not put back"

    def _not_put_back(
        self, noted: Callable[[_Moment], Mapping[str, Any]], differ: Callable[[Any, Any], Any]
    ) -> Iterator[str]:
        """What differed both when the first try and its repeat began and when they ended."""
        moments = (self._start, self._origin, self._first, self._now())
        start, origin, first, end = (noted(moment) for moment in moments)
        for name in end:
            known = name in start and name in origin and name in first
            if known and differ(start[name], origin[name]) and differ(first[name], end[name]):
                yield name

    def _not_in_the_state(self, end: _Moment) -> Iterator[str]:
        accused = self._accused()
        for key in end.present:
            changed = self._origin.differs(self._start, key) or end.differs(self._first, key)
            if changed and key not in accused:
                yield f"{self._things.named(key)} is not in the state"


class _Moment:
    """What was in reach at one moment: states of things, values, lengths and arrays, by name."""

    def __init__(self, reached: Mapping[str, Any], things: Things) -> None:
        self.values: dict[str, Any] = {}  # numbers, flags and texts
        self._owned: list[str] = []  # names of what is in the state, with all that is inside it
        self._tensors: set[str] = set()  # names of arrays that can be written into by a method
        self._numpy: set[str] = set()  # and of those that can be by their items
        self.lengths: dict[str, int] = {}
        self.lists: set[str] = set()
        self.arrays: dict[str, Fingerprint] = {}
        self.shapes: dict[str, tuple[int, ...]] = {}
        self.bound: dict[str, int] = {}  # which things these are that have a state of their own
        self._unreadable: dict[str, tuple[_Reference, str]] = {}
        self.names = set(reached)
        self.listed = {name: thing for name, thing in reached.items() if things.in_state(thing)}
        self._room = _LARGEST_LOOK
        for name, thing in reached.items():
            try:
                self._note(name, thing, things)
            except Exception:  # looking at it fails, so nothing is said about it
                continue
        self.states = things.states()
        self.present = self.states.keys() & self.bound.values()
        known = {name: key for name, key in self.bound.items() if key in self.states}
        self.contents = {**self.arrays, **{name: self.states[key] for name, key in known.items()}}

    def _note(self, name: str, thing: Any, things: Things) -> None:
        if isinstance(thing, np.number | np.bool_) and not np.iscomplexobj(thing):
            self.values[name] = thing.item()
        elif isinstance(thing, bool | int | float | str):
            self.values[name] = thing
        elif isinstance(thing, list | dict | set | deque):
            self.lengths[name] = len(thing)
            if isinstance(thing, list | deque):
                self.lists.add(name)
        elif is_array(thing):
            small = thing.nbytes <= min(_LARGEST_ARRAY, self._room)
            # The bytes of an array of objects are those of pointers: it is looked at one by one.
            few = not getattr(thing.dtype, "hasobject", False) or thing.size <= _MOST_OBJECTS
            if small and few and not things.covers(thing):
                self._room -= thing.nbytes
                self.arrays[name] = things.noted(thing)
                if has_methods(thing, "copy_"):
                    self._tensors.add(name)
                elif isinstance(thing, np.ndarray):
                    self._numpy.add(name)
                self.shapes[name] = tuple(thing.shape)
        elif things.meet(name, thing):
            self.bound[name] = id(thing)
            if things.covers(thing):
                self._owned += [f"{name}.", f"{name}["]
        elif not name.startswith(tuple(self._owned)) and (why := unreadable(thing)):
            self._unreadable[name] = (_Reference(thing), f"{name} ({kind_of(thing)}): {why}")

    def is_other(self, earlier: _Moment, name: str) -> bool:
        """Whether there is something else under this name, or its content is another."""
        here, there = (m.contents.get(name) or m.values.get(name) for m in (self, earlier))
        if isinstance(here, Fingerprint) and isinstance(there, Fingerprint):
            same = here.difference(there) is None
        else:
            same = here is there or (type(here) is type(there) and bool(here == there))
        unreadable = name in self._unreadable
        return not same or unreadable or self.bound.get(name) != earlier.bound.get(name)

    def differs(self, other: _Moment, key: int) -> bool:
        """Whether a thing had another state at the other moment."""
        here, there = self.states.get(key), other.states.get(key)
        return here is not None and there is not None and here.difference(there) is not None

    def way_to_list(self, name: str) -> str:
        """How an array that a variable holds becomes a part of the state, in code."""
        if not name.isidentifier() or name not in self._tensors | self._numpy:
            return ""
        if name in self._tensors:
            return (
                f"; list it, as in state=[..., {name}], and write {name}.copy_(new) in place of "
                f"{name} = new; what is fetched between forward and backward needs a copy: "
                f"model({name}.clone())"
            )
        return (
            f"; list it, as in state=[..., copied({name})] with copied of dynhp.loops, and write "
            f"{name}[...] = new in place of {name} = new"
        )

    def unreadable_again(self, earlier: _Moment) -> Iterator[str]:
        """Things that were there at both moments and whose state cannot be read."""
        for name, (reference, text) in self._unreadable.items():
            if name in earlier._unreadable and earlier._unreadable[name][0].same(reference):
                yield text

    def iterators_made_anew(self, earlier: _Moment) -> Iterator[str]:
        """Iterators in variables that held another iterator then."""
        for name, (reference, text) in self._unreadable.items():
            before, _ = earlier._unreadable.get(name, (reference, text))
            if AN_ITERATOR in text and not before.same(reference):
                yield text

    def rebound(self, earlier: _Moment) -> Iterator[str]:
        """Names that meant a thing of the state then and mean something else now."""
        for name in earlier.listed:
            if name in self.names and name not in self.listed:
                yield earlier.left(name)

    def left(self, name: str) -> str:
        """What is wrong if a name does not mean the thing of the state any more."""
        way = f" ({name}[...] = ...)" if is_array(self.listed[name]) else ""
        return (
            f"{name} is another object now than the one in the state; change that one in "
            f"place{way}, or keep it in an object that is listed"
        )


class _Reference:
    """A way to know a thing again that does not keep it alive, if the thing allows that."""

    def __init__(self, thing: Any) -> None:
        self._id = id(thing)
        try:
            self._alive: Callable[[], Any] = weakref.ref(thing)
        except TypeError:
            self._alive = lambda: thing

    def same(self, other: _Reference) -> bool:
        """Whether both mean one thing, which is still there."""
        return self._id == other._id and self._alive() is not None


def _by_owner(names: Iterable[str]) -> dict[str, list[str]]:
    """The names of items, by the list or dictionary that they are in."""
    groups: dict[str, list[str]] = {}
    for name in names:
        owner = name.rpartition("[")[0] if name.endswith("]") else name
        groups.setdefault(owner, []).append(name)
    return groups


def one_of_each(texts: Iterable[tuple[str, str]]) -> dict[str, str]:
    """One text for each list or dictionary: about its first item, and how many more there are."""
    by_name = dict(texts)
    return {
        owner: by_name[names[0]] + (f" (and {len(names) - 1} more in {owner})" if names[1:] else "")
        for owner, names in _by_owner(by_name).items()
    }


def _are_numbers(*values: Any) -> bool:
    """Whether all of these are numbers, and none a flag."""
    return all(isinstance(value, int | float) and type(value) is not bool for value in values)


def went_on(start: Any, first: Any, origin: Any, end: Any) -> bool:
    """Whether the repeat went on by the same amount, or by the same factor, as the first try."""
    if all(isinstance(value, int) for value in (start, first, origin, end)):
        return bool(end - origin == first - start)  # however large they are
    same_amount = math.isclose(end - origin, first - start, rel_tol=1e-9)
    return same_amount or math.isclose(end * start, first * origin, rel_tol=1e-9)


def is_clock(name: str, *values: Any) -> bool:
    """Whether these are moments or spans of time, which decide nothing.

    >>> is_clock("began", time.time()), is_clock("elapsed", 0.5), is_clock("share", 0.5)
    (True, True, False)
    """
    if not all(isinstance(value, float) for value in values):
        return False
    # A clock that began with this machine says little while it is young.
    clocks = [each() for each in (time.time, time.perf_counter, time.monotonic)]
    return _OF_TIME.search(name) is not None or any(
        now > 10 * _LONG_AGO and all(now - _LONG_AGO < value <= now for value in values)
        for now in clocks
    )


def _as_counter(name: str, start: Any) -> str:
    """How a number becomes a part of the state, in code."""
    return (
        f"where it decides something write {name} = Counter({start!r}) before the loop, and list "
        "it in the state"
    )


def _short(value: Any) -> str:
    """A value in a text, cut if it is long."""
    return repr(value) if len(repr(value)) <= _LONGEST_TEXT else f"{repr(value)[:_LONGEST_TEXT]}..."


def trainer_watch(trainer: Any, tolerance: float = 0.0) -> Watch:
    """A watch over what a trainer's own attributes and functions lead to."""
    return Watch(
        lambda: in_reach(trainer_names(trainer)), [trainer], read_state, tolerance=tolerance
    )
