"""Interpolation: neighbours, then the peak of the parabola through their scores, tried too."""

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


class Memory(dict[str, Any]):
    """What can be worked out again at any time: copies and pickles of it are empty.

    >>> import copy
    >>> copy.deepcopy(Memory(lr=3))
    {}
    """

    def __reduce__(self) -> tuple[type[Memory], tuple[()]]:
        return Memory, ()


class Replayed(NamedTuple):
    """The step after the first rounds of a history, on an axis that has its turn every few rounds.

    So a long history is not gone through again in every round.
    """

    axis: object
    turns: int
    history: Sequence[Round]
    rounds: int  # how many of its rounds there were
    last: Round | None  # of these
    step: float

    def goes_on(self, axis: object, turns: int, history: Sequence[Round]) -> bool:
        """Whether this is the same history with more rounds in it, and the axis has its turn."""
        if self.axis is not axis or self.turns != turns or not grew_from(history, self.history):
            return False
        more = len(history) - self.rounds
        if more < 0 or more % turns:
            return False
        # In tuples, because the same round is the same even where a metric of it is nan.
        return not self.rounds or (history[self.rounds - 1],) == (self.last,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Interpolation:
    """Try the value in force and one step either side of it, then the peak of the parabola.

    All on the axis' own scale and between its grid values. If the three scores are not concave or
    the peak lies outside, the better end wins by its score. The step starts at one grid step.
    Several axes take turns. Under ``Racing``, whose tries end after different epochs, no parabola
    is drawn and the step stays: the better end wins.

    Args:
        shrink: what the step is multiplied by after a round whose peak lay inside, or if an end
            of the axis was better than the one point next to it.
        grow: what the step is multiplied by after any other round.
        smallest: the smallest step, as a share of the axis.

    >>> known = Known(space=Space({"x": [0.0, 0.5, 1.0]}), current=Candidate({"x": 0.5}))
    >>> Interpolation().propose(known, np.random.default_rng(0))
    [Candidate(x=0.5), Candidate(x=0.0), Candidate(x=1.0)]
    """

    shrink: float = 0.5
    grow: float = 2.0
    smallest: float = 1 / 64
    _memory: Memory = field(default_factory=Memory, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name, share in (("shrink", self.shrink), ("smallest", self.smallest)):
            require_number(
                f"Interpolation: {name}", share, "lie in (0, 1]", lambda share: 0 < share <= 1
            )
        require_number(
            "Interpolation: grow", self.grow, "be a number of 1 or more", lambda grow: grow >= 1
        )

    def propose(self, known: Known, rng: np.random.Generator) -> list[Candidate]:
        """First the value in force and both sides of it; then the peak, if there is one."""
        names = list(known.space)
        name = names[len(known.history) % len(names)]
        axis = scaled_axis(known.space, name)
        if not known.tries:
            sides = sides_of(axis, known.current[name], self._step(known, name, axis))
            return [known.current, *(known.current.but({name: side}) for side in sides)]
        peak = peak_of(known.tries, name, axis)
        if peak is None or len(known.tries) > 3:
            return []
        value = axis.at(peak)
        tried = (try_.candidate[name] for try_ in known.tries)
        new = all(apart(axis, value, other) for other in tried)
        return [known.current.but({name: value})] if new else []

    def _step(self, known: Known, name: str, axis: ScaledAxis) -> float:
        # A pure function of the past: the same history gives the same step in every process. If the
        # rounds are those of the last call and a few more, only these few are looked at.
        turns, history = len(known.space), known.history
        done, step = len(history) % turns, axis.step()
        before = self._memory.get(name)
        if before is not None and before.goes_on(axis, turns, history):
            done, step = before.rounds, before.step
        for index in range(done, len(history), turns):
            tries = history[index].tries
            if not same_length(tries):
                continue
            if len(tries) == 2:  # at an end of the axis: settled if the end itself is better
                settled = tries[0].rank_key >= tries[1].rank_key
            else:
                settled = peak_of(tries, name, axis) is not None
            step *= self.shrink if settled else self.grow
            step = min(1.0, max(self.smallest, step))
        last = history[-1] if history else None
        self._memory[name] = Replayed(axis, turns, history, len(history), last, step)
        return step

    def waves(self, space: Space, current: Candidate) -> Waves:
        """Two or three candidates (two at an end of the axis), then at most one more."""
        for name in space:
            scaled_axis(space, name)
        least = 1 if any(len(axis.grid()) == 1 for axis in space.values()) else 2
        return Waves((least,), (3, 1))


def sides_of(axis: ScaledAxis, value: Value, step: float) -> list[Value]:
    """The values one step down and one step up; at an end of the axis only the one there is.

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
    """The axis as one that can be moved along, or an error."""
    axis = space[name]
    if not (isinstance(axis, ScaledAxis) and axis.scaled):
        raise SettingsError(
            f"Interpolation: {name} must be a range or a rising or falling list of numbers, "
            f"got {shown(axis)}; use Neighbors or FullGrid for it"
        )
    return axis


def peak_of(tries: Sequence[Try], name: str, axis: ScaledAxis) -> float | None:
    """The peak of the parabola through the first three tries, None if it has none between them.

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
