"""What begins late in a run: what tries of a later round change and no state puts back."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from dynhp.selfcheck.contents import has_methods, numbers
from dynhp.selfcheck.fingerprint import Fingerprint, fingerprint
from dynhp.selfcheck.reach import is_array, variable_of
from dynhp.selfcheck.things import AN_ITERATOR, Things, has_ended, ids_inside, kind_of, unreadable
from dynhp.selfcheck.watch import Watch, is_clock, one_of_each, went_on

__all__ = ["LateWatch", "is_part_of"]

_SAMPLE = 1_024  # elements of an array, spread over all of it: an average changes everywhere
_MOST_ITEMS = 10_000  # of a state that is looked at


class LateWatch:
    """Looks at what is in reach when the first two tries of a round begin and when they end.

    Only the checked round carries out a try again, which is proof. Here it costs no epoch: both
    tries begin from one origin, so what is another when the second begins was changed by the first
    and not put back. That is harmless if each epoch makes it anew. What the checked round has met
    was judged there; so this is about what has begun since, and only about what goes on from what
    it was: things with a state of their own, averages of weights, numbers that count. A variable
    that the body of the loop sets before it reads it is made anew.

    >>> import random
    >>> made = {}
    >>> watch = Watch(lambda: made, [], lambda thing: getattr(thing, "getstate", None))
    >>> _ = [watch.first_try_ended(), watch.back_at_origin(), watch.left_behind()]
    >>> late = LateWatch(watch)
    >>> late.begins(); made["rng"] = random.Random(0); late.ends()
    >>> late.begins(); _ = made["rng"].random(); late.ends()
    >>> late.found()
    {'rng': 'rng (Random) was changed in the tries and not put back'}
    """

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self._reach = watch.reach
        self._inside = watch.inside
        self._read = watch.read
        self._known = watch.met()
        self._listed = watch.listed()
        self._looks: list[_Look] = []

    def begins(self) -> None:
        """A try begins: the trainer is at the origin of the round."""
        self._looks.append(self._look())

    ends = begins

    def found(self) -> dict[str, str]:
        """After two tries: what they have changed that nothing puts back, by name."""
        if len(self._looks) != 4:
            return {}
        looks, self._looks = self._looks, []
        tries = _Tries(*looks)
        texts: dict[str, str] = {}
        for find in (tries.things, tries.averages, tries.counts, tries.bests, tries.iterators):
            texts |= {name: text for name, text in find() if name not in self._known}
        anew = self.watch.body().anew if texts else set()
        going_on = {name: text for name, text in texts.items() if variable_of(name) not in anew}
        return one_of_each({**going_on, **dict(tries.replaced(self._listed, self._read))}.items())

    def forget(self) -> None:
        """The round is over, or a try has failed: its looks say nothing."""
        self._looks = []

    def _look(self) -> _Look:
        return _Look(self._reach(), Things(self._read, ids_inside(self._inside)), self._read)


class _Look:
    """What is in reach at one moment; of arrays a sample, so that a look takes no long time."""

    def __init__(
        self,
        reached: Mapping[str, Any],
        things: Things,
        read: Callable[[Any], Callable[[], Any] | None],
    ) -> None:
        self.reached = reached
        self.things = things
        self.values: dict[str, Any] = {}
        self.arrays: dict[str, Any] = {}
        self.states: dict[str, tuple[int, Fingerprint]] = {}
        self.iterators: dict[str, int] = {}
        for name, thing in reached.items():
            try:
                self._note(name, thing, read)
            except Exception:  # looking at it fails, so nothing is said about it
                continue

    def _note(self, name: str, thing: Any, read: Callable[[Any], Any]) -> None:
        if isinstance(thing, bool | str):
            return
        if isinstance(thing, int | float):
            self.values[name] = thing
        elif is_array(thing):
            self.arrays[name] = _sample(thing)
        elif not self.things.covers(thing):
            if (state := read(thing)) is not None:
                self.states[name] = id(thing), fingerprint(_sampled(state()))
            elif AN_ITERATOR in (unreadable(thing) or "") and not has_ended(thing):
                self.iterators[name] = id(thing)


class _Tries:
    """The first two tries of a round: the looks when each began and when it ended."""

    def __init__(self, start: _Look, first: _Look, again: _Look, second: _Look) -> None:
        self._start = start
        self._first = first
        self._again = again
        self._second = second

    def replaced(
        self, listed: Mapping[str, Any], read: Callable[[Any], Any]
    ) -> Iterator[tuple[str, str]]:
        """Names of things in the state that mean another one now, as a new optimiser."""
        for name, thing in listed.items():
            now = self._second.reached.get(name, thing)
            other = now is not thing and not self._second.things.covers(now)
            if other and read(now) is not None:
                yield (
                    name,
                    f"{name} is another object now ({kind_of(now)}) than the one in the state; "
                    "change that one in place",
                )

    def things(self) -> Iterator[tuple[str, str]]:
        """Things with a state of their own that each try has taken further."""
        for name, (key, end) in self._second.states.items():
            looks = [look.states.get(name) for look in (self._first, self._again)]
            if any(look is None or look[0] != key for look in looks):
                continue  # it is made anew in each try
            (_, first), (_, again) = looks  # type: ignore[misc]
            start = self._start.states.get(name)
            same_start = start is not None and start[1].difference(again) is None
            thing = self._second.reached[name]
            meter = has_methods(thing, "reset") and not has_methods(thing, "step")
            if not same_start and not meter and first.difference(end) is not None:
                yield name, f"{name} ({kind_of(thing)}) was changed in the tries and not put back"

    def averages(self) -> Iterator[tuple[str, str]]:
        """Arrays with the shapes of weights that are not put back, and no copy of the weights."""
        weights = {
            name: sample
            for name, sample in self._second.arrays.items()
            if name in self._again.arrays
            and not _same(sample, self._again.arrays[name])
            and _same(self._again.arrays[name], self._start.arrays.get(name))
        }
        inside = self._second.things.tensors()
        now = [*weights.values(), *map(_sample, inside)]
        for name, sample in self._second.arrays.items():
            alike = [each for each in now if each[0] == sample[0]]
            copy = any(_same(each, sample) for each in alike)
            if alike and math.prod(sample[0]) > 1 and not copy and self._went_on(name):
                yield (
                    name,
                    f"{name}: arrays with the shapes of weights were changed in the tries and not "
                    "put back",
                )

    def _went_on(self, name: str) -> bool:
        looks = [self._start, self._first, self._again, self._second]
        start, first, again, end = (look.arrays.get(name) for look in looks)
        return not _same(start, again) and not _same(first, end) and _same(first, again)

    def counts(self) -> Iterator[tuple[str, str]]:
        """Numbers that went on by the same amount, or by the same factor, in both tries."""
        for name, end in self._second.values.items():
            looks = (self._start, self._first, self._again)
            start, first, again = (look.values.get(name) for look in looks)
            if None in (start, first, again) or start == again or end == again:
                continue
            if is_clock(name, start, first, again, end):
                continue
            if went_on(start, first, again, end):
                yield (
                    name,
                    f"{name}: {first!r} after one try and {end!r} after the next; make it a "
                    "Counter and list it in the state",
                )

    def bests(self) -> Iterator[tuple[str, str]]:
        """The best loss so far and the like, which a losing try must not set."""
        for name, end in self._second.values.items():
            looks = (self._start, self._first, self._again)
            start, first, again = (look.values.get(name) for look in looks)
            if "best" not in name.lower() or None in (start, first):
                continue
            if start != again and first != end:
                yield name, f"{name} was changed in the tries: {first:.6g} and then {end:.6g}"

    def iterators(self) -> Iterator[tuple[str, str]]:
        """Iterators that both tries have gone on with."""
        for name, key in self._second.iterators.items():
            if self._first.iterators.get(name) == self._again.iterators.get(name) == key:
                kind = kind_of(self._second.reached[name])
                yield name, f"{name} ({kind}): {unreadable(self._second.reached[name])}"


def is_part_of(name: str, other: str) -> bool:
    """Whether a way leads to a thing or to what is inside it.

    >>> is_part_of("run.average[0]", "run.average"), is_part_of("runs", "run")
    (True, False)
    """
    return name == other or name.startswith((f"{other}.", f"{other}["))


def _sample(array: Any) -> tuple[tuple[int, ...], bytes]:
    """The shape of an array, and some of its elements from all over it."""
    flat = array.reshape(-1)
    few = numbers(flat[:: max(1, len(flat) // _SAMPLE)])
    return tuple(array.shape), b"" if few is None else np.ascontiguousarray(few).tobytes()


def _same(a: Any, b: Any) -> bool:
    return a is not None and a == b


def _sampled(state: Any, room: int = _MOST_ITEMS) -> Any:
    """A state with samples in place of its arrays."""
    if is_array(state):
        return _sample(state)
    if isinstance(state, Mapping) and len(state) <= room:
        return {key: _sampled(each, room // (len(state) or 1) + 100) for key, each in state.items()}
    if isinstance(state, list | tuple) and any(not isinstance(each, int | float) for each in state):
        return [_sampled(each, room) for each in state[:room]]
    return state
