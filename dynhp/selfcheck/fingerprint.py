"""A state as a small record of its bits, place by place, so that two can be compared later."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from dynhp.records import Candidate
from dynhp.selfcheck.walk import Bits, Kind, Walk

__all__ = ["Fingerprint", "fingerprint"]


class Fingerprint:
    """What a state held at each place: small values as they are, long ones as a digest.

    No two states need to be in memory to be compared: one and the record of the other are enough.
    With a tolerance the arrays themselves are kept, since a digest says nothing about nearness.

    >>> before = fingerprint({"weights": np.zeros(3), "epoch": 1})
    >>> before.difference(fingerprint({"weights": np.zeros(3), "epoch": 1}))
    >>> before.difference(fingerprint({"weights": np.ones(3), "epoch": 2}))
    "state['weights'] (float64[3]) and 1 place more"
    """

    __slots__ = ("_tolerance", "places")

    def __init__(self, places: Mapping[str, Any], tolerance: float) -> None:
        self.places = places
        self._tolerance = tolerance

    def differences(self, other: Fingerprint) -> list[str]:
        """The places where the other differs, or that only one of the two has."""
        here, there = self.places, other.places
        places = [place for place in here if place not in there or not self._same(other, place)]
        return places + [place for place in there if place not in here]

    def difference(self, other: Fingerprint) -> str | None:
        """Where the other differs first, in words, or None where nothing differs."""
        places = self.differences(other)
        if not places:
            return None
        more = len(places) - 1
        others = f" and {more} place{'s' if more > 1 else ''} more" if more else ""
        return f"{places[0]}{self._words(other, places[0])}{others}"

    def differs_only_by(self, other: Fingerprint, mine: Candidate, its: Candidate) -> bool:
        """Whether the two are equal except where each holds the value of its own candidate."""
        pairs = [(mine[name], its[name]) for name in mine]
        return all(
            any(
                _holds(self.places.get(place), here) and _holds(other.places.get(place), there)
                for here, there in pairs
            )
            for place in self.differences(other)
        )

    def _same(self, other: Fingerprint, place: str) -> bool:
        here, there = self.places[place], other.places[place]
        if isinstance(here, np.ndarray) and isinstance(there, np.ndarray):
            return _near(here, there, self._tolerance)
        if self._tolerance and isinstance(here, float) and isinstance(there, float):
            return _near(np.asarray(here), np.asarray(there), self._tolerance)
        return type(here) is type(there) and bool(here == there)

    def _words(self, other: Fingerprint, place: str) -> str:
        pair = self.places.get(place), other.places.get(place)
        if place not in self.places or place not in other.places:
            return " (only in one of them)"
        first, second = map(_text, pair)
        return f" ({first})" if first == second else f" ({first} and {second})"


def fingerprint(state: Any, *, name: str = "state", tolerance: float = 0.0) -> Fingerprint:
    """Walk through a state and note what is at each place.

    Arrays and tensors of any framework are compared by their bits, other objects by what pickle
    would store; what allows neither is left out.

    >>> fingerprint([1, (2.5, "a")]).places
    {'state': list[2], 'state[0]': 1, 'state[1]': tuple[2], 'state[1][0]': 2.5, 'state[1][1]': 'a'}
    """
    walk = Walk(tolerance)
    walk.ahead.append((state, name))
    while walk.ahead:  # not by recursion: a state may be nested more deeply than Python's stack
        walk.visit(*walk.ahead.pop())
    return Fingerprint(walk.places, tolerance)


def _near(here: np.ndarray[Any, Any], there: np.ndarray[Any, Any], tolerance: float) -> bool:
    if here.shape != there.shape or here.dtype != there.dtype:
        return False
    return bool(np.allclose(here, there, rtol=tolerance, atol=tolerance, equal_nan=True))


def _holds(noted: Any, value: Any) -> bool:
    """Whether this is what was noted of the value; a float32 holds 0.1 only nearly."""
    number = noted.number if isinstance(noted, Bits) else noted
    if isinstance(noted, Kind) and noted in ("0.0", "-0.0"):
        number = float(noted)
    if isinstance(number, float) and isinstance(value, int | float):
        return math.isclose(number, value, rel_tol=1e-6)
    return bool(number == value)


def _text(noted: Any) -> str:
    if isinstance(noted, np.ndarray):
        return f"{noted.dtype}{list(noted.shape)}"
    return noted.kind if isinstance(noted, Bits) else repr(noted)
