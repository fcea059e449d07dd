"""What a display of a run must be able to do, and what it is called with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, runtime_checkable

from dynhp.records import Candidate, Event, Metrics, Try, Unit

__all__ = ["Display", "Moment", "StretchBegins", "TriesBegin", "TryScored", "default_display"]
__all__ += ["set_default_display"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TriesBegin:
    """Tries begin, or go on: their places in the round, their values, and epochs for each.

    The places are None where a try is carried out once more, to compare.

    >>> TriesBegin(places=(0, 1), candidates=(Candidate({"lr": 1}), Candidate({"lr": 2})), epochs=1)
    TriesBegin(places=(0, 1), candidates=(Candidate(lr=1), Candidate(lr=2)), epochs=1)
    """

    places: tuple[int | None, ...]
    candidates: tuple[Candidate, ...]
    epochs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TryScored:
    """A try has come so far, in a race perhaps not for the last time.

    >>> from dynhp import complete_search, lowest
    >>> from dynhp.testing import Quadratic
    >>> [round_] = complete_search(Quadratic(), {"lr": [2, 3]}, criterion=lowest("loss"), epochs=1)
    >>> TryScored(place=1, try_=round_.tries[1]).try_.score
    -2.0
    """

    place: int
    try_: Try


@dataclass(frozen=True, slots=True, kw_only=True)
class StretchBegins:
    """The main line goes on: with which values, from which epoch, for how many at most.

    ``kept`` is the place of the try that it goes on from, None where it goes on from the origin.

    >>> StretchBegins(candidate=Candidate({"lr": 1}), start=1, epochs=9, kept=0).epochs
    9
    """

    candidate: Candidate
    start: int
    epochs: int
    kept: int | None = None


Moment: TypeAlias = Event | TriesBegin | TryScored | StretchBegins
"""What a display is called with: the events of callbacks, and what lies between them."""


@runtime_checkable
class Display(Protocol):
    """Shows a run while it goes on: give it as ``progress=`` in place of True.

    It looks and changes nothing. Where it raises, it is switched off and the run goes on. With an
    attribute ``quiet_until``, a time of ``time.monotonic()``, it asks not to be called until then
    with what happens inside of rounds that are over in a moment, only with their begin and end.

    >>> from dynhp import DynamicGridAdapter, lowest
    >>> from dynhp.testing import Quadratic
    >>> class Dots:
    ...     def open(self, adapter, *, unit): print(adapter.epochs, unit, end=" ")
    ...     def __call__(self, moment): print("!" if isinstance(moment, TryScored) else ".", end="")
    ...     def beat(self, place, epochs, metrics): pass
    ...     def close(self, failure): print(" done")
    >>> history = DynamicGridAdapter(Quadratic(), {"lr": [0.1, 0.5]}, criterion=lowest("loss"),
    ...                              adapt_every=5, try_for=1).run(5, progress=Dots())
    5 epochs ...!.!.... done
    """

    def open(self, adapter: Any, *, unit: Unit) -> None:
        """The first round is about to begin; ``unit`` is "epochs" or "steps"."""
        ...

    def __call__(self, moment: Moment) -> None:
        """Something happened; it is called with all of it, at once."""
        ...

    def beat(self, place: int | None, epochs: int, metrics: Metrics | None) -> None:
        """So many epochs of the try at ``place``, or of the stretch, are done; now and then."""
        ...

    def close(self, failure: BaseException | None) -> None:
        """The run has ended, or what ended it."""
        ...


_default: list[Callable[[], Display]] = []


def set_default_display(make: Callable[[], Display]) -> None:
    """Say what ``progress=True`` makes; ``dynhp`` itself says so when it is imported.

    >>> from dynhp.display.contract import _default
    >>> set_default_display(_default[0])
    """
    _default[:] = [make]


def default_display() -> Display:
    """A new display of the kind that ``progress=True`` means.

    >>> isinstance(default_display(), Display)
    True
    """
    return _default[0]()
