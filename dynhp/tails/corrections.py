"""Corrections of the winner's value: by a factor, or to the peak that lies between the tries."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from dynhp._checks import is_number, require_name, require_number
from dynhp.errors import SettingsError, nearest, shown
from dynhp.records import Candidate, Try
from dynhp.spaces import Space
from dynhp.spaces.axis import short_float
from dynhp.tails.contract import Searched, require_floats

__all__ = ["at_peak", "scale"]


@dataclass(frozen=True, slots=True, repr=False)
class Scale:
    """What ``scale`` gives."""

    factor: float
    name: str | None = None

    def __repr__(self) -> str:
        return f"scale({self.factor!r}{'' if self.name is None else f', {self.name!r}'})"

    def __call__(self, candidate: Candidate, searched: Searched) -> Candidate:
        """The candidate with its one value scaled, or with the one that is named."""
        names = list(candidate)
        name = names[0] if self.name is None else self.name
        if self.name is None and len(names) > 1:
            raise SettingsError(
                f"{self!r} must say which of {', '.join(names)} it multiplies; write "
                f"scale({self.factor!r}, {name!r})"
            )
        if name not in names:
            raise SettingsError(f"{self!r}: no hyperparameter {name!r}{nearest(name, names)}")
        value = candidate[name]
        if not is_number(value):
            raise SettingsError(
                f"{self!r} multiplies numbers, got {name}={shown(value)}; leave it out, or write a "
                "function of a candidate"
            )
        return candidate.but({name: short_float(value * self.factor)})


def scale(factor: float, name: str | None = None) -> Scale:
    """Multiply the winner's value by this factor before the main line goes on with it.

    Short annealed tries favour learning rates that are too high for a long run; the same factor
    corrects them all. The product is rounded to six digits.

    Args:
        factor: what the value is multiplied by.
        name: the hyperparameter; it can be left out if there is only one.

    >>> searched = Searched(Space({"lr": [0.03, 0.3], "weight_decay": [0.01]}))
    >>> scale(0.1, "lr")(Candidate({"lr": 0.3, "weight_decay": 0.01}), searched)
    Candidate(lr=0.03, weight_decay=0.01)
    """
    require_number(
        "scale: factor", factor, "be a positive number", lambda number: 0 < number < math.inf
    )
    return Scale(float(factor), None if name is None else require_name("scale: name", name))


@dataclass(frozen=True, slots=True, repr=False)
class AtPeak:
    """What ``at_peak`` gives."""

    name: str
    power: float
    factor: float

    def __repr__(self) -> str:
        power = f", power={self.power!r}" if self.power else ""
        factor = f", factor={self.factor!r}" if self.factor != 1 else ""
        return f"at_peak({self.name!r}{power}{factor})"

    def __call__(self, candidate: Candidate, searched: Searched) -> Candidate:
        """The candidate with the value at the peak, as it suits a run of the planned length."""
        value: float = candidate[self.name]  # type: ignore[assignment]
        tries = {
            float(try_.candidate[self.name]): try_  # type: ignore[arg-type]
            for try_ in searched.tries
            if try_.candidate.but({self.name: value}) == candidate
        }
        peak = value * math.exp(_to_the_peak(value, tries))
        share = 1.0
        if searched.planned and value in tries:
            share = min(1.0, tries[value].epochs / searched.planned)
        return candidate.but({self.name: short_float(peak * self.factor * share**self.power)})

    def require_space(self, space: Space) -> None:
        """Refuse a name that is not there, or that has values other than floats."""
        require_floats(self, self.name, space, purpose="interpolated")


def _to_the_peak(value: float, tries: Mapping[float, Try]) -> float:
    """How far the peak of a parabola through a value and its neighbours is, as a logarithm.

    It is at most half of the way to a neighbour; so far if the other neighbour has failed.
    """
    lower = max((each for each in tries if each < value), default=None)
    higher = min((each for each in tries if each > value), default=None)
    if lower is None or higher is None or value not in tries:
        return 0.0
    down, up = math.log(value / lower), math.log(higher / value)
    best = tries[value].score
    worse_below, worse_above = (_below(best, tries[each]) for each in (lower, higher))
    if not math.isfinite(worse_above):
        return -down / 2 if math.isfinite(worse_below) else 0.0
    if not math.isfinite(worse_below):
        return up / 2
    # The parabola y = a x^2 + b x through both neighbours, and through the value at 0.
    a = -(worse_above + worse_below * up / down) / (up * (up + down))
    b = a * down + worse_below / down
    return 0.0 if a == 0 else min(up / 2, max(-down / 2, -b / (2 * a)))


def _below(best: float, try_: Try) -> float:
    """By how much a try scored less than the best; not a finite number if it has failed."""
    return best - try_.score if try_.error is None else math.inf


def at_peak(name: str, *, power: float = 0.0, factor: float = 1.0) -> AtPeak:
    """Take the value at the peak between the best try and its neighbours, not that of the best.

    The peak is that of a parabola through their scores over the logarithm of the value, so that
    the result hardly depends on where the grid lies. Short annealed tries favour learning rates
    that are too high for a long run: what suits a run is the peak times the share of the run that a
    try takes, to some power, which is 1 if a try is the whole run. It is rounded to six digits.

    Args:
        name: the hyperparameter, such as "lr".
        power: the power of the share; 0.5 is the square root, and 0 leaves the length out.
        factor: what the result is multiplied by.

    >>> from dynhp import DynamicGridAdapter
    >>> from dynhp.testing import Quadratic
    >>> from dynhp.tails import annealed
    >>> from dynhp.spaces import Around
    >>> adapter = DynamicGridAdapter(Quadratic(), {"lr": Around(0.5, 2)}, minimize="loss",
    ...                              adapt_every=4, try_for=1, then=at_peak("lr", power=0.5))
    >>> round_ = adapter.run(4)[0]
    >>> round_.winner.candidate, round_.candidate
    (Candidate(lr=1.0), Candidate(lr=0.5))
    """
    require_name("at_peak: name", name)
    rule = "be a number from 0 to 1"
    require_number("at_peak: power", power, rule, lambda number: 0 <= number <= 1)
    rule = "be a positive number"
    require_number("at_peak: factor", factor, rule, lambda number: 0 < number < math.inf)
    return AtPeak(name, float(power), float(factor))
