"""What a loop goes through: numbers, as its user counts them, or items such as batches."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from typing import Any, Protocol, TypeAlias

from dynhp._checks import is_whole, plain_int, require_count
from dynhp.errors import LoopError, SettingsError, shown
from dynhp.loops.epoch import Epoch, Passes
from dynhp.loops.parts import Part
from dynhp.policy import Policy
from dynhp.selfcheck.fingerprint import Fingerprint, fingerprint

__all__ = ["Counted", "Items", "Length", "Numbers", "counted", "length_of"]


class SizedIterable(Sized, Iterable[Any], Protocol):
    """What has a length and can be gone through: a range, a list, a loader of batches."""


Length: TypeAlias = int | SizedIterable
"""How long a loop is: a number, or what it goes through."""


class Counted(Protocol):
    """What a loop goes through, one pass after the other."""

    numbers: range
    can_go_back: bool

    def begin(self, passes: Passes, number: int) -> tuple[Epoch, Any]:
        """Begin the pass of this number (from 0): its epoch, and what the body is given."""
        ...

    def drop_before(self, number: int) -> None:
        """No pass before this one will come again."""
        ...


class Numbers:
    """Epochs that count like this range: the body is given the epoch itself.

    >>> from dynhp.records import Candidate
    >>> passes = Passes(Candidate({"lr": 0.1}), trying=False)
    >>> epoch, given = Numbers(range(1, 41)).begin(passes, 0)
    >>> given, given.number
    (Epoch(1, {'lr': 0.1}, main line), 0)
    """

    can_go_back = True

    def __init__(self, numbers: range) -> None:
        self.numbers = numbers
        self._start, self._step = numbers.start, numbers.step  # a tail goes beyond the last

    def begin(self, passes: Passes, number: int) -> tuple[Epoch, Any]:
        epoch = passes.epoch(number, self._start + number * self._step)
        return epoch, epoch

    def drop_before(self, number: int) -> None:
        pass


class Items:
    """Things such as batches: the body is given the thing of each pass, in every try the same one.

    What has no places to take things from, such as a loader, is gone through once. So what a try
    has met is held until the main line has passed it, and handed out as a copy. If taking a thing
    has drawn random numbers, generators go on from there again whenever it is handed out.

    >>> from dynhp.records import Candidate
    >>> items = Items({"a": 1, "b": 2}.keys(), [])
    >>> tries, main = (Passes(Candidate({"lr": 0.1}), trying=trying) for trying in (True, False))
    >>> [items.begin(passes, n)[1] for passes, n in [(tries, 0), (tries, 0), (main, 0), (main, 1)]]
    ['a', 'a', 'a', 'b']
    """

    def __init__(self, things: SizedIterable, generators: Sequence[Part]) -> None:
        self.numbers = range(len(things))
        self.can_go_back = isinstance(things, Sequence)
        self._things = things
        self._generators = generators
        self._ahead: Iterator[Any] | None = None
        self._next = 0
        self._held: dict[int, tuple[Any, list[Any]]] = {}

    def begin(self, passes: Passes, number: int) -> tuple[Epoch, Any]:
        item = self._item(number, keep=passes.trying)
        shown_as = item if type(item) is int else None  # as from tqdm(range(40))
        epoch = passes.epoch(number, shown_as)
        return epoch, (item if shown_as is None else epoch)

    def drop_before(self, number: int) -> None:
        for each in [each for each in self._held if each < number]:
            del self._held[each]

    def _item(self, number: int, *, keep: bool) -> Any:
        if isinstance(self._things, Sequence):
            item = self._things[number % len(self._things)]  # a tail goes beyond the last
            return copy.deepcopy(item) if keep else item  # a body may write into it
        if number in self._held:
            item, drawn = self._held[number]
            for part, state in zip(self._generators, drawn, strict=False):
                part.set(state)
        else:
            item, drawn = self._taken(number, keep=keep)
        if not keep:
            return item
        self._held[number] = item, drawn
        return copy.deepcopy(item)

    def _taken(self, number: int, *, keep: bool) -> tuple[Any, list[Any]]:
        """The next thing, and where generators are after it if taking it has moved them."""
        before = self._drawn() if keep else None
        if self._ahead is None:
            self._ahead = iter(self._things)
        try:
            item = next(self._ahead)
        except StopIteration:
            raise LoopError(
                f"{shown(self._things)} ended after {self._next} of {len(self._things)}, which is "
                "its length; give the number, as in adapt(steps=1000), and take batches in the body"
            ) from None
        self._next = number + 1
        moved = before is not None and before.difference(self._drawn()) is not None
        return item, [part.get() for part in self._generators] if moved else []

    def _drawn(self) -> Fingerprint:
        return fingerprint([part.get() for part in self._generators])


def length_of(length: Length, unit: str) -> tuple[int, range | SizedIterable]:
    """The number of epochs or steps, and what the loop goes through.

    >>> length_of(40, "epochs")
    (40, range(0, 40))
    >>> length_of(range(1, 41), "epochs")
    (40, range(1, 41))
    """
    number = plain_int(length)
    if is_whole(number, least=0) or not isinstance(length, Iterable):
        planned = require_count(unit, number)
        return planned, range(planned)
    if not isinstance(length, Sized) or isinstance(length, str | bytes | Mapping):
        raise SettingsError(
            f"{unit} must be a number, or have a length, as a range, a list or a loader does, got "
            f"{shown(length)}; give list(...) of it, or the number"
        )
    return require_count(f"the length of {shown(length, 80)}", len(length)), length


def counted(things: range | SizedIterable, policy: Policy, generators: Sequence[Part]) -> Counted:
    """What a loop with this policy goes through."""
    if isinstance(things, range):
        return Numbers(things)
    if policy.randomness == "independent":
        generators = ()  # each try is to have random numbers of its own
    items = Items(things, generators)
    far = {"start_from": policy.start_from != "here", "tail": policy.tail is not None}
    if not items.can_go_back and any(far.values()):
        names = " and ".join(name for name, is_far in far.items() if is_far)
        raise SettingsError(
            f"{names} can go back or ahead, but {shown(things, 80)} can be gone through once only; "
            "give list(...) of it, or the number of steps, and take batches in the body"
        )
    return items
