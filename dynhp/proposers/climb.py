"""A climb along an axis: from the value in force to a peak with worse values on both sides."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from dynhp._checks import require_count
from dynhp.criteria.contract import Criterion, require_criterion, score
from dynhp.errors import advise
from dynhp.proposers.contract import Known, Waves
from dynhp.proposers.ladder import require_numbers, sides_of_value
from dynhp.records import Candidate, Progress, Try, Value
from dynhp.spaces import Around, Axis, Space

_SECOND_PEAK = 0.2
"""A second peak is worth a hint if it is this much higher than the dip, in heights of the first."""


@dataclass(frozen=True, slots=True)
class Climb:
    """The value in force and one two steps up, then neighbours of the best until all are worse.

    One at a time, first those that lead away from the start. On an axis without ends
    (``Around``) the steps are rungs of a ladder, a factor apart; with an ``anchor`` they are the
    same wherever the start is, and the climb begins on the rung next to the start. A try that fails
    counts as worse, and so does all that lies behind it. If all have failed, it goes down. A step
    that is only as good is not taken. Several axes take turns.

    Args:
        rungs: the most steps on one side; if the last of them is the best, a hint says so.
        worse: how many worse values on each side make a peak.
        learns: a criterion by which the best try must have improved since its first epoch: its last
            third must be better, by more than its own noise. If it is not, all that was tried may
            be too high, and the climb goes on below.

    >>> from dynhp.spaces import Around
    >>> known = Known(space=Space({"lr": Around(0.1)}), current=Candidate({"lr": 0.1}))
    >>> Climb().propose(known, np.random.default_rng(0))
    [Candidate(lr=0.1), Candidate(lr=1.0)]
    """

    rungs: int = 8
    worse: int = 2
    learns: Criterion | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "rungs", require_count("Climb: rungs", self.rungs))
        object.__setattr__(self, "worse", require_count("Climb: worse", self.worse))
        if self.learns is not None:
            require_criterion(self.learns)

    def propose(self, known: Known, rng: np.random.Generator) -> list[Candidate]:
        """The first wave has two; each further one has one candidate."""
        names = list(known.space)
        name = names[len(known.history) % len(names)]
        values = self._steps(known.space[name], known.current[name])
        if not known.tries:
            first = dict.fromkeys((0, min(2, max(values)) or max(-1, min(values))))
            return [known.current.but({name: values[step]}) for step in first]
        steps = {value: step for step, value in values.items()}
        tried = {
            steps[try_.candidate[name]]: try_
            for try_ in known.tries
            if try_.candidate[name] in steps  # not that of a dry run, which may lie between two
        }
        for step in self._wanted(tried):
            if step in values and step not in tried:
                return [known.current.but({name: values[step]})]
        self._advise(name, values, tried)
        return []

    def _steps(self, axis: Axis, current: Value) -> dict[int, Value]:
        """The values of the axis by their steps from where the climb begins."""
        start = axis.nearest(current) if isinstance(axis, Around) else current
        down, up = sides_of_value(axis, start, self.rungs)
        below = {-distance: value for distance, value in enumerate(down, start=1)}
        return below | dict(enumerate([start, *up]))

    def _wanted(self, tried: Mapping[int, Try]) -> Iterable[int]:
        """The steps that must be known, the first one first, also beyond the ends."""
        below = min(tried) - 1
        best = best_step(tried)
        if best is None:
            yield below
            return
        away = 1 if best > 0 else -1
        for side in (away, -away):
            for distance in range(1, self.worse + 1):
                step = best + side * distance
                yield step
                if step in tried and tried[step].error is not None:
                    break
        if not self._has_learnt(tried[best]):
            yield below

    def _has_learnt(self, try_: Try) -> bool:
        """Whether the end of a try is better than its first epoch, by more than its own noise."""
        if self.learns is None or len(try_.series) < 2:
            return True
        # One by one: progress is that of a try, and not of a run.
        scores = [score(self.learns, [metrics], Progress(0)) for metrics in try_.series]
        last = np.array(scores[-max(1, round(len(scores) / 3)) :])
        noise = last.std(ddof=1) / math.sqrt(len(last)) if len(last) > 1 else 0.0
        return bool(last.mean() - 2 * noise > scores[0])

    def _advise(self, name: str, values: Mapping[int, Value], tried: Mapping[int, Try]) -> None:
        """Say so if the search is over and its end is no answer."""
        best = best_step(tried)
        if best is None:
            return
        if len(tried) > 2 and all(try_.score == tried[best].score for try_ in tried.values()):
            advise(
                f"{name}: all {len(tried)} tries scored {tried[best].score!r}, so they do not say "
                "which value is better; is what judges them measured anew in each try?",
                about=(name, tried[best].score),  # however many tries there were
            )
        elif not self._has_learnt(tried[best]):
            advise(
                f"{name}: no try ended better than it began, from {values[min(tried)]!r} to "
                f"{values[max(tried)]!r}; the best of them, {values[best]!r}, is luck. Make the "
                "tries longer, start much lower, or look for a mistake in the training",
                about=object(),  # each search is another
            )
        elif abs(best) == self.rungs:
            advise(
                f"{name} was best at {values[best]!r}, the last of {self.rungs} steps from "
                f"{values[0]!r}; start nearer to it, or allow more with Climb(rungs=...)",
                about=object(),
            )
        elif (other := second_peak(tried)) is not None:
            advise(
                f"{name}: scores rise and fall more than once. The best is at {values[best]!r}, "
                f"another peak at {values[other]!r}; look at all of them (rate_search(...) lists "
                "them), and make the tries longer if they are noisy",
                about=object(),
            )

    def waves(self, space: Space, current: Candidate) -> Waves:
        """Two (one if there is nothing else), then one at a time; at most each step once."""
        sides = []
        for name, axis in space.items():
            require_numbers(f"{self!r} goes up and down", name, axis)
            starts = (*axis.grid(), current[name])
            for value in starts:
                steps = self._steps(axis, value)
                sides.append((-min(steps), max(steps)))
        first = [2 if down or up else 1 for down, up in sides]
        least = min(self._least_further(down, up) for down, up in sides)
        most = max(1 + down + up for down, up in sides) - max(first)
        return Waves((min(first), *[1] * least), (max(first), *[1] * most))

    def _least_further(self, down: int, up: int) -> int:
        """How many tries follow the first two at least, with so many steps on the two sides.

        Failures save tries, because nothing is looked at behind them; so do the ends of an axis.
        """
        if up < 2 or not down:
            return 0
        near_the_end = 3 if self.worse == 1 else 2
        return 1 if up <= near_the_end or down == 1 else 2

    def searched(self, axis: Axis, value: Value) -> str | None:
        """The start, the factor and the rungs on an axis without ends; elsewhere it is the grid."""
        if not isinstance(axis, Around):
            return None
        rungs = "1 rung" if self.rungs == 1 else f"{self.rungs} rungs"
        return (
            f"from {axis.nearest(value)} up or down by a factor of {axis.factor:.4g} at a time, "
            f"at most {rungs} each way"
        )


def best_step(tried: Mapping[int, Try]) -> int | None:
    """The step of the best try that has not failed, of equals the first; None if all have."""
    able = [step for step, try_ in tried.items() if try_.error is None]
    return max(able, key=lambda step: tried[step].rank_key, default=None)


def second_peak(tried: Mapping[int, Try]) -> int | None:
    """The highest step beyond a dip that is clearly lower than it, None if there is none."""
    scores = {step: try_.score for step, try_ in sorted(tried.items()) if try_.error is None}
    scores = {step: score for step, score in scores.items() if math.isfinite(score)}
    best = max(scores, key=lambda step: scores[step], default=None)
    if best is None:
        return None
    found: dict[int, float] = {}
    for step, height in scores.items():
        between = [scores[other] for other in scores if min(step, best) < other < max(step, best)]
        dip = min(between, default=height)
        if height - dip > _SECOND_PEAK * (scores[best] - dip):
            found[step] = height
    return max(found, key=lambda step: found[step], default=None)
