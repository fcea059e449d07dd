"""Scores that can be compared, and how much of their differences is noise."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence

from dynhp.records.candidate import Candidate
from dynhp.records.history import Round, Try
from dynhp.records.metrics import Metrics

__all__ = ["comparable_scores", "paired_noise"]


def comparable_scores(round_: Round) -> list[tuple[Candidate, float]]:
    """The candidates of a round with their scores after equally many epochs, if these are finite.

    In a race the tries end at different lengths, and a record has only the score at the end. Where
    that is a metric of the last epoch (``highest``, ``lowest``), all are compared after the epochs
    of the shortest; by another criterion, only tries of the commonest length are.

    >>> from dynhp import DynamicGridAdapter, Racing, lowest
    >>> from dynhp.testing import Quadratic
    >>> adapter = DynamicGridAdapter(Quadratic(), {"lr": [0.5, 0.75]}, criterion=lowest("loss"),
    ...                              adapt_every=2, try_for=2, selection=Racing())
    >>> race = adapter.step()
    >>> [(try_.epochs, try_.score) for try_ in race.tries]
    [(1, -0.125), (2, -0.001953125)]
    >>> [score for _, score in comparable_scores(race)]  # after one epoch each
    [-0.125, -0.03125]
    """
    succeeded = [try_ for try_ in round_.tries if try_.error is None]
    lengths = Counter([try_.epochs for try_ in succeeded])
    if len(lengths) < 2:
        scores = [(try_.candidate, try_.score) for try_ in succeeded]
    elif metric := _judged_by(succeeded):
        name, sign = metric
        epochs = min(lengths)
        # A try that failed later counts too: it was measured after these epochs.
        after = ((each.candidate, _after(each, epochs).get(name)) for each in round_.tries)
        scores = [(candidate, sign * value) for candidate, value in after if value is not None]
    else:
        [(epochs, _)] = lengths.most_common(1)
        scores = [(try_.candidate, try_.score) for try_ in succeeded if try_.epochs == epochs]
    return [(candidate, score) for candidate, score in scores if math.isfinite(score)]


def _after(try_: Try, epochs: int) -> Metrics:
    """What was last measured in the first epochs of a try; nothing if it ended before."""
    known = [metrics for place, metrics in try_.measured if place < epochs]
    return known[-1] if known and try_.epochs >= epochs else {}


def _judged_by(tries: Sequence[Try]) -> tuple[str, int] | None:
    """The metric whose last value is the score of all these tries, and its sign."""
    for name in tries[0].series[-1] if tries[0].series else ():
        for sign in (1, -1):
            if all(
                each.series and sign * each.series[-1].get(name, math.nan) == each.score
                for each in tries
            ):
                return name, sign
    return None


def paired_noise(history: Sequence[Round]) -> float:
    """The standard deviation of one paired difference between a candidate and the value in force.

    Both were trained from one origin with the same random numbers, so their difference has far
    less noise than either. How much is left shows in how the difference of one candidate jumps
    from one round to the next; slow changes of what is best cancel in these jumps.

    >>> from dynhp import DynamicGridAdapter, lowest
    >>> from dynhp.testing import NoisyQuadratic
    >>> adapter = DynamicGridAdapter(NoisyQuadratic(noise=0.1), {"lr": [0.1, 0.2]},
    ...                              criterion=lowest("loss"), adapt_every=4, try_for=1)
    >>> f"{paired_noise(adapter.run(40)):.2g}"
    '0.028'
    """
    last_of: dict[Candidate, dict[Hashable, float]] = {}  # by the value in force
    squares: list[float] = []
    for round_ in history:
        scores = _numbered(comparable_scores(round_))
        base = scores.pop(round_.previous, None)
        if base is None:
            continue
        last = last_of.setdefault(round_.previous, {})
        for key, score in scores.items():
            gain = score - base
            before = last.get(key)
            if before is not None:
                squares.append((gain - before) ** 2 / 2)
            last[key] = gain
    return math.sqrt(sum(squares) / len(squares)) if squares else 0.0


def _numbered(scores: list[tuple[Candidate, float]]) -> dict[Hashable, float]:
    """Scores by candidate; those of a placebo's further copies also by the number of the copy."""
    numbered: dict[Hashable, float] = dict(scores)
    if len(numbered) == len(scores):  # hundreds of candidates in every round are hashed only here
        return numbered
    copies: Counter[Candidate] = Counter()
    numbered = {}
    for candidate, score in scores:
        copy = copies[candidate]
        numbered[(candidate, copy) if copy else candidate] = score
        copies[candidate] += 1
    return numbered
