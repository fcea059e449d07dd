"""Interpolation: try both neighbours, then the peak of the parabola through the three scores."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from dynhp._checks import require_number
from dynhp.errors import SettingsError, shown
from dynhp.proposers.contract import Known, Waves
from dynhp.records import Candidate, Round, Try, Value
from dynhp.records.append_only import grew_from
from dynhp.spaces import Space
from dynhp.spaces.axis import ScaledAxis

APART = 1e-9
"""Values nearer to each other on the scale count as one: comparing their scores is useless."""


class _StepCache(dict[str, Any]):
    """The last step on each axis. It can be computed again, so copies and pickles are empty.

    >>> import copy
    >>> copy.deepcopy(_StepCache(lr=3))
    {}
    """

    def __reduce__(self) -> tuple[type[_StepCache], tuple[()]]:
        return _StepCache, ()


class _CachedStep(NamedTuple):
    """The step on one axis after the first rounds of a history.

    Thanks to it, a long history is not gone through again in every round.
    """

    axis: object
    turns: int  # the number of axes: each has its turn once in as many rounds
    history: Sequence[Round]
    rounds_seen: int  # the length of the history at that time: it may have grown since
    last_round: Round | None  # the last of the rounds seen
    step: float

    def is_extended_by(self, axis: object, turns: int, history: Sequence[Round]) -> bool:
        """Whether this history only adds rounds to the one seen, and it is the axis' turn again."""
        if self.axis is not axis or self.turns != turns or not grew_from(history, self.history):
            return False
        more = len(history) - self.rounds_seen
        if more < 0 or more % turns:
            return False
        # Compared in tuples, where a round equals itself even if one of its metrics is nan.
        return not self.rounds_seen or (history[self.rounds_seen - 1],) == (self.last_round,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Interpolation:
    """Try the value in force and one step either side of it, then the peak of the parabola.

    Steps are taken on the axis' own scale, and may end between its grid values. If the three scores
    are not concave or the peak lies outside, there is no fourth try, and the best of the three
    wins. The step starts at one grid step. Several axes take turns. Under ``Racing``, whose tries
    end after different epochs, no parabola is drawn and the step stays as it is.

    Args:
        shrink: the factor for the step after a round whose peak lay inside, or in which an end of
            the axis was better than the one point next to it.
        grow: the factor for the step after any other round.
        smallest: the smallest step, as a share of the axis.

    >>> known = Known(space=Space({"x": [0.0, 0.5, 1.0]}), current=Candidate({"x": 0.5}))
    >>> Interpolation().propose(known, np.random.default_rng(0))
    [Candidate(x=0.5), Candidate(x=0.0), Candidate(x=1.0)]
    """

    shrink: float = 0.5
    grow: float = 2.0
    smallest: float = 1 / 64
    _steps: _StepCache = field(default_factory=_StepCache, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name, share in (("shrink", self.shrink), ("smallest", self.smallest)):
            require_number(
                f"Interpolation: {name}", share, "lie in (0, 1]", lambda share: 0 < share <= 1
            )
        require_number(
            "Interpolation: grow", self.grow, "be a number of 1 or more", lambda grow: grow >= 1
        )

    def propose(self, known: Known, rng: np.random.Generator) -> list[Candidate]:
        """First propose the value in force and both sides of it; then the peak, if there is one."""
        names = list(known.space)
        name = names[len(known.history) % len(names)]
        axis = scaled_axis(known.space, name)
        if not known.tries:
            sides = sides_of(axis, known.current[name], self._step(known, name, axis))
            return [known.current, *(known.current.but({name: side}) for side in sides)]
        peak = peak_of(known.tries, name, axis)
        peak_was_tried = len(known.tries) > 3  # the value in force and its two sides come first
        if peak is None or peak_was_tried:
            return []
        value = axis.at(peak)
        tried = (try_.candidate[name] for try_ in known.tries)
        new = all(apart(axis, value, other) for other in tried)
        return [known.current.but({name: value})] if new else []

    def _step(self, known: Known, name: str, axis: ScaledAxis) -> float:
        """How far the sides are from the value in force.

        The step depends on the history alone, so it is the same in every process. If the history
        only has a few more rounds than at the last call, only these few are looked at.
        """
        turns = len(known.space)
        history = known.history
        first = len(history) % turns  # the axis had its first turn in this round
        step = axis.step()
        cached: _CachedStep | None = self._steps.get(name)
        if cached is not None and cached.is_extended_by(axis, turns, history):
            first = cached.rounds_seen
            step = cached.step
        for index in range(first, len(history), turns):
            tries = history[index].tries
            if not same_length(tries):
                continue
            if len(tries) == 2:  # at an end of the axis, which is settled if the end is better
                settled = tries[0].rank_key >= tries[1].rank_key
            else:
                settled = peak_of(tries, name, axis) is not None
            step *= self.shrink if settled else self.grow
            step = min(1.0, max(self.smallest, step))
        last = history[-1] if history else None
        self._steps[name] = _CachedStep(axis, turns, history, len(history), last, step)
        return step

    def waves(self, space: Space, current: Candidate) -> Waves:
        """Up to three candidates, then at most one more.

        At an end of the axis the first wave has two candidates, and one if the axis has one value.
        """
        for name in space:
            scaled_axis(space, name)  # called for its error alone: the run must not start with it
        least = 1 if any(len(axis.grid()) == 1 for axis in space.values()) else 2
        return Waves((least,), (3, 1))


def sides_of(axis: ScaledAxis, value: Value, step: float) -> list[Value]:
    """The values one step down and one step up, or the only one of these at an end of the axis.

    A step that is too small to lead to another value (whole numbers) is made larger.

    >>> from dynhp import Int
    >>> sides_of(Int(1, 9), 5, 0.001), sides_of(Int(1, 9), 9, 0.25)
    ([4, 6], [7])
    """
    here = axis.position(value)
    sides: list[Value] = []
    for way in (-step, step):
        while not apart(axis, side := axis.at(here + way), value) and 0 < here + way < 1:
            way *= 2
        if apart(axis, side, value):
            sides.append(side)
    return sides


def apart(axis: ScaledAxis, value: Value, other: Value) -> bool:
    """Whether two values differ by more than rounding."""
    return abs(axis.position(value) - axis.position(other)) > APART


def scaled_axis(space: Space, name: str) -> ScaledAxis:
    """The axis of this name; refused if its values have no scale to step along."""
    axis = space[name]
    if not (isinstance(axis, ScaledAxis) and axis.scaled):
        raise SettingsError(
            f"Interpolation: {name} must be a range or a rising or falling list of numbers, "
            f"got {shown(axis)}; use Neighbors or FullGrid for it"
        )
    return axis


def peak_of(tries: Sequence[Try], name: str, axis: ScaledAxis) -> float | None:
    """The peak of the parabola through the first three tries; None if it has no peak between them.

    >>> space = Space({"x": [0.0, 0.5, 1.0]})
    >>> tries = [Try(candidate=Candidate({"x": x}), series=(), epochs=1, score=-(x - 0.4) ** 2)
    ...          for x in (0.5, 0.0, 1.0)]
    >>> round(peak_of(tries, "x", scaled_axis(space, "x")), 12)
    0.4
    """
    if len(tries) < 3 or not all(math.isfinite(try_.rank_key) for try_ in tries[:3]):
        return None
    if not same_length(tries[:3]):
        return None
    points = sorted((axis.position(try_.candidate[name]), try_.rank_key) for try_ in tries[:3])
    (x0, y0), (x1, y1), (x2, y2) = points
    if not x0 < x1 < x2:
        return None
    left, right = (y1 - y0) / (x1 - x0), (y2 - y1) / (x2 - x1)
    bend = (right - left) / (x2 - x0)
    if not bend < 0:
        return None
    peak = (x0 + x1) / 2 - left / (2 * bend)
    return peak if x0 < peak < x2 else None


def same_length(tries: Sequence[Try]) -> bool:
    """Whether the tries ran equally long; scores after different epochs cannot be compared."""
    return len({try_.epochs for try_ in tries}) == 1
