"""Whether rounds agree, where the size of their differences is not the same in all of them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Sequence
from statistics import fmean, stdev
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dynhp.records import Candidate, Round
from dynhp.records.noise import comparable_scores
from dynhp.report.student import t_tail

__all__ = ["Array", "Scores", "agreement_chance", "centered", "clearly_ahead", "one_stands_out"]
__all__ += ["standardized"]

Array: TypeAlias = NDArray[np.float64]
Scores: TypeAlias = list[tuple[Hashable, float]]
"""The scores of a round by value."""

_MOST_ORDERS, _DRAWN_ORDERS = 20_000, 999
_SURE = 0.001  # so rarely is a round of plain noise said to stand out


def agreement_chance(rounds: Sequence[Scores]) -> float | None:
    """The chance that rounds put their values in so similar an order, were all values equal.

    Training converges, so a true difference may shrink from round to round by far more than noise
    would explain. Here every round counts alike: its scores are measured by their own spread, and
    compared with those of the same rounds in other orders. None where rounds tried other values.

    >>> shrinking = [[("low", 0.0), ("middle", 3.0 / n), ("high", 8.0 / n)] for n in (1, 4, 9, 99)]
    >>> agreement_chance(shrinking) == 1 / 6**3
    True
    """
    names = {frozenset(name for name, _ in listed) for listed in rounds}
    if len(names) != 1 or len(rounds) < 2:
        return None
    place = {name: i for i, name in enumerate(dict(rounds[0]))}
    table = np.zeros((len(rounds), len(place)))
    for row, listed in zip(table, rounds, strict=True):
        row[[place[name] for name, _ in listed]] = standardized([score for _, score in listed])
    sums = _sums_of_all_orders(table) if _few_orders(*table.shape) else _sums_of_some(table)
    seen = float(np.sum(np.sum(table, axis=0) ** 2))
    return float(np.mean(np.sum(sums**2, axis=1) >= seen * (1 - 1e-9)))


def _few_orders(rounds: int, values: int) -> bool:
    return values <= 6 and math.factorial(values) ** (rounds - 1) <= _MOST_ORDERS


def _sums_of_all_orders(table: Array) -> Array:
    """The sums over rounds, for each order that each round but the first may have."""
    sums = table[:1]
    for row in table[1:]:
        orders = np.array(list(itertools.permutations(row.tolist())))
        sums = (sums[:, np.newaxis, :] + orders).reshape(-1, table.shape[1])
    return sums


def _sums_of_some(table: Array) -> Array:
    """The sums over rounds as they are, and for random orders of each."""
    rng = np.random.default_rng(0)  # the same verdict whenever the same record is looked at
    drawn = [np.sum(rng.permuted(table, axis=1), axis=0) for _ in range(_DRAWN_ORDERS)]
    return np.stack([np.sum(table, axis=0), *drawn])


def clearly_ahead(rounds: Sequence[Round], *, level: float) -> Candidate | None:
    """The candidate with the best mean score, where it beats the first value in force for sure.

    A paired t-test, for as many candidates as there are. None where rounds tried other values.

    >>> from dynhp import DynamicGridAdapter
    >>> from dynhp.testing import Quadratic
    >>> adapter = DynamicGridAdapter(Quadratic(), {"lr": [0.1, 0.5]}, minimize="loss",
    ...                              adapt_every=1, try_for=1)
    >>> clearly_ahead(adapter.run(30)[:2], level=0.5)
    Candidate(lr=0.5)
    """
    scores = [dict(comparable_scores(round_)) for round_ in rounds]
    names, start = scores[0].keys(), rounds[0].previous
    if len({frozenset(each) for each in scores}) != 1 or start not in names or len(scores) < 2:
        return None
    best = max(names, key=lambda name: math.fsum(each[name] for each in scores))
    gains = [each[best] - each[start] for each in scores]
    error = stdev(gains) / math.sqrt(len(gains))
    if not error:
        return best if gains[0] > 0 else None
    chance = (len(names) - 1) * t_tail(max(0.0, fmean(gains) / error), len(gains) - 1)
    return best if chance < level else None


def one_stands_out(rounds: Sequence[Scores]) -> bool:
    """Whether one round has far larger differences than the others: noise is alike in all.

    Then nobody can tell: that round may show an effect that is gone afterwards, or be a bad one.

    >>> first = [("low", 0.0), ("high", 90.0)]
    >>> later = [[("low", 0.0), ("high", each)] for each in (0.1, -0.2, 0.1, 0.2)]
    >>> one_stands_out([first, *later]), one_stands_out(later)
    (True, False)
    """
    squares = [float(np.sum(centered([s for _, s in each]) ** 2)) for each in rounds if each]
    freedoms = [len(each) - 1 for each in rounds if each]
    if not any(squares):
        return False
    most = max(range(len(squares)), key=squares.__getitem__)
    others, freedom = math.fsum(squares) - squares[most], sum(freedoms) - freedoms[most]
    if freedom < 1:
        return False  # there is nothing to compare it with
    if others <= 1e-24 * squares[most]:
        return True
    ratio = (squares[most] / freedoms[most]) / (others / freedom)
    # That of one degree of freedom: with more, so large a ratio is rarer still.
    return 2 * len(squares) * t_tail(math.sqrt(ratio), freedom) < _SURE


def standardized(scores: Sequence[float]) -> Array:
    """Without their mean, and with a sum of squares of 1; all 0 where they are equal."""
    deviations = centered(scores)
    deviations /= float(np.linalg.norm(deviations)) or 1.0
    return deviations


def centered(scores: Sequence[float]) -> Array:
    """Without their mean: exactly 0 where all are equal, which the mean alone would round."""
    deviations: Array = np.array(scores, dtype=np.float64) - scores[0]
    deviations -= np.mean(deviations)
    return deviations
