"""What a round's tries did to things outside the state: what was not put back, what may be so."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from dynhp.selfcheck.fingerprint import Fingerprint
from dynhp.selfcheck.moment import Moment
from dynhp.selfcheck.names import trainer_names
from dynhp.selfcheck.reach import in_reach
from dynhp.selfcheck.reading import read_state
from dynhp.selfcheck.things import Things, ids_inside
from dynhp.selfcheck.wording import are_numbers, by_owner, one_of_each, short, went_on

__all__ = ["Watch", "trainer_watch"]

_MOST_SUSPECTS = 6
_GENERAL = (
    "nothing that changed; it may be a generator of a library that dynhp does not know (torch in "
    "the plain adapt, jax, cupy, inside a booster), a file, the time, or threads"
)


class Watch:
    """Looks at what is in reach at four moments of a checked round, and says what came of it.

    It is made when the round begins; then ``first_try_ended()``, ``back_at_origin()`` after the
    other tries, and the first try is carried out once more. After that ``left_behind()`` is proof,
    ``suspects()`` helps where the repeat differed and ``hints()`` where it did not.

    A thing is accused only where it was different when the repeat began than when the first try
    began, *and* different when they ended: what a try makes anew by itself (a copy for measuring,
    a meter that is reset) ends the same both times, and nobody needs to put it back.

    Args:
        reach: gives all that is in reach now, by name.
        inside: the things that are in the state.
        read: gives a function that reads a thing's own state, or None where it has none.
        tolerance: what may be off so much is the same.
        said: what has got a hint in this run already.

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
    ) -> None:
        self._reach, self._said = reach, set() if said is None else said
        self._things = Things(read, ids_inside(inside), tolerance)
        self._start = self._first = self._origin = self._look()
        self._end: Moment | None = None

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
        """What has a state of its own that the tries changed and nobody put back."""
        return [
            *(f"{self._things.named(key)} {how}" for key, how in self._accused().items()),
            *self._rebound(),
            *dict(self._arrays(copies=True)).values(),
        ]

    def suspects(self) -> list[str]:
        """What may be the cause of a repeat that differed, the likeliest first."""
        end = self._now()
        likely = [
            *self.left_behind(),
            *end.rebound(self._start),
            *one_of_each(self._counted(end)).values(),
            *end.suspicious(self._first),
            *end.made_anew(self._start),
            *dict(self._arrays()).values(),
            *(self._grew(end, name) for name in self._grown(end)),
        ]
        values = one_of_each(self._changed()).values()
        others = [*values, *self._unlisted(end)][:_MOST_SUSPECTS]
        return list(dict.fromkeys(likely))[:_MOST_SUSPECTS] or others or [_GENERAL]

    def hints(self) -> list[str]:
        """What else the tries changed, though the repeat was equal; each once in a run."""
        end = self._now()
        lists = [name for name in self._grown(end) if name in end.lists]
        guard = "; what belongs to the main line alone stands under `if epoch.main:`"
        kinds: tuple[Mapping[str, str], ...] = (
            one_of_each(self._counted(end)),
            {name: f"{self._grew(end, name)}{guard}" for name in lists},
            {name: f"{best}{guard}" for name, best in self._bests(end)},
            dict(self._arrays()),
        )
        texts = {(kind, name): text for kind in range(4) for name, text in kinds[kind].items()}
        new = texts.keys() - self._said
        self._said |= new
        return [text for key, text in texts.items() if key in new]

    def _look(self) -> Moment:
        return Moment(self._reach(), self._things)

    def _now(self) -> Moment:
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

    def _counted(self, end: Moment) -> Iterator[tuple[str, str]]:
        """Numbers that went on by the same amount in the first try and in its repeat."""
        for name, value in end.values.items():
            before: list[Any] = [
                each.values.get(name) for each in (self._start, self._first, self._origin)
            ]
            start, first, origin = before
            if not are_numbers(value, first, origin) or value in (first, origin):
                continue
            values = f"{name}: {first!r} after the first try and {value!r} after its repeat"
            if start is None and value - origin in (first, first + 1):  # from 1 on, or from 0 on
                yield name, f"{values}, so it counts tries too; use epoch.number"
            elif are_numbers(start) and start != origin and went_on(start, first, origin, value):
                advice = "where it decides something make it a Counter and list it in the state"
                yield name, f"{values}; {advice}"

    def _changed(self) -> Iterator[tuple[str, str]]:
        """Plain values that were not put back."""
        for name, value in self._origin.values.items():
            start = self._start.values.get(name, value)
            if repr(start) != repr(value):
                began = f"{short(start)} when the first try began and {short(value)} when"
                yield name, f"{name}: {began} its repeat began"

    def _grown(self, end: Moment) -> list[str]:
        start, first = self._start.lengths, self._first.lengths
        return [
            name
            for name, length in end.lengths.items()
            if start.get(name, length) < first.get(name, 0) < length
        ]

    def _grew(self, end: Moment, name: str) -> str:
        return (
            f"{name} grew in the tries: {self._first.lengths[name]} items after the first try and "
            f"{end.lengths[name]} after its repeat"
        )

    def _bests(self, end: Moment) -> Iterator[tuple[str, str]]:
        """The best loss so far and the like, which a losing try must not set."""
        for name in self._not_put_back(lambda moment: moment.values, operator.ne):
            if "best" in name.lower():
                values = f"{short(self._first.values[name])} and then {short(end.values[name])}"
                yield name, f"{name} changed in the tries: {values}"

    def _arrays(self, *, copies: bool = False) -> Iterator[tuple[str, str]]:
        """Arrays that were not put back: several with the shapes of weights are a copy of them."""
        changed = self._not_put_back(lambda moment: moment.arrays, Fingerprint.difference)
        weights, shapes = self._things.shapes(), self._now().shapes
        for owner, names in by_owner(changed).items():
            kinds = {shapes[name] for name in names}
            # Averages of losses have one element each, data have one shape: no model has.
            copied = len(kinds) > 1 and kinds <= weights and max(map(math.prod, kinds)) > 1
            number = f"{len(names)} arrays" if len(names) > 1 else "an array"
            if copied == copies:
                kind = f"{number} with the shapes of weights" if copied else number
                yield owner, f"{owner}: {kind} changed in the tries and not put back"

    def _not_put_back(
        self, noted: Callable[[Moment], Mapping[str, Any]], differ: Callable[[Any, Any], Any]
    ) -> Iterator[str]:
        """What differed both when the first try and its repeat began and when they ended."""
        moments = (self._start, self._origin, self._first, self._now())
        start, origin, first, end = (noted(moment) for moment in moments)
        for name in end:
            known = name in start and name in origin and name in first
            if known and differ(start[name], origin[name]) and differ(first[name], end[name]):
                yield name

    def _unlisted(self, end: Moment) -> Iterator[str]:
        accused = self._accused()
        for key in end.present:
            changed = self._origin.differs(self._start, key) or end.differs(self._first, key)
            if changed and key not in accused:
                yield f"{self._things.named(key)} is not in the state"


def trainer_watch(trainer: Any, tolerance: float = 0.0) -> Watch:
    """A watch over what a trainer's own attributes and functions lead to."""
    return Watch(
        lambda: in_reach(trainer_names(trainer)), [trainer], read_state, tolerance=tolerance
    )
