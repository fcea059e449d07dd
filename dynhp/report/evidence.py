"""How likely differences as large as those of a run are where no value is better than another."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np

from dynhp.records import Round
from dynhp.records.noise import comparable_scores
from dynhp.report.agreement import (
    Array,
    Scores,
    agreement_chance,
    centered,
    one_stands_out,
    standardized,
)
from dynhp.report.student import missed_share, t_tail

__all__ = ["Evidence", "evidence_of"]

LEVEL = 0.02
"""Below this chance the choices are not called luck."""
EFFECT = 5.0
"""What a record should be able to show: one value better by so many times the noise."""

# Three tests share one chance of error. Most of it goes to the first; with few rounds, where the
# others could say nothing, all of it, and a test of the order of the values has a quarter more.
_SHARES = {"better on average": 0.8, "better again": 0.1, "better after the same": 0.1}
_FEW_ROUNDS = 8
_SHARE_OF_ORDER = 0.25
_OF_A_WALK = 2.0  # the first test is too sure, by less than this, where rounds try other values
_MOST_VALUES = 600  # more would take seconds, unless every round has tried all of them


class Evidence(NamedTuple):
    """What the records of a run tell about its values, and what they cannot tell.

    Attributes:
        chance: how likely differences as large are where all values are equal; None where unknown.
        missed: how often rounds with the same tries would not show one value that is better by five
            times the noise, where that may be any of them.
        equal: whether all tries of each round scored the same; False where the chance is unknown.
        uneven: whether one round has far larger differences than all others.
    """

    chance: float | None
    missed: float
    equal: bool
    uneven: bool = False


class _Averages(NamedTuple):
    """The test whether a value is better on average."""

    chance: float
    values: int  # that may be the one that stands out
    freedom: int
    reach: Array  # by how many standard errors EFFECT would move each of them

    def missed(self, level: float) -> float:
        return missed_share(self.reach, self.freedom, chance=level / (2 * self.values))


def evidence_of(history: Sequence[Round]) -> Evidence:
    """The chance of differences as large as these, were all values equal, and what it may miss.

    Were no value better than another, the scores of a round would be noise that no other round
    repeats. What counts as evidence is therefore what rounds have in common, never a large gap in
    one of them: a value that is better on average (a t-test of the largest deviation from the
    mean), the same with each value in force looked at by itself, and an order of the values that
    comes again in the next round (a sum of correlations, each with its exact variance). With few
    rounds the order is compared in all of them at once, whatever the size of the differences: those
    of a model that converges shrink. Where a single round has far larger ones than all others,
    nobody can tell whether it shows an effect that is gone later, or is a bad one (``uneven``).

    The first test is exact where every round tries the same values. Where the values follow the
    value in force (``Neighbors``), earlier scores decide what is tried: a value is tried again and
    again *because* it was lucky, and left when its luck ends. In a long walk so many values get a
    chance of a lucky stay that the test is too sure: 66 of 2,300 walks on noise passed where 46
    may. So it counts half there.

    What was never tried leaves no trace: where the only better value lies out of reach of the walk,
    the record is that of equal values, and no test can tell them apart. A value that was tried in
    one round only is no evidence either. And where few rounds have tried the same values, the noise
    is known so badly that even a large effect does not stand out: ``missed`` says how often. It is
    the mean over the values: the least tried one alone would decide in a walk of hundreds of
    rounds, though the walk would have stayed with it, were it the better one.

    >>> evidence_of([])
    Evidence(chance=None, missed=1.0, equal=False, uneven=False)
    """
    number: dict[Hashable, int] = {}  # numbers are found far faster than candidates
    scores: list[Scores] = [
        [(number.setdefault(candidate, len(number)), score) for candidate, score in each]
        for each in map(comparable_scores, history)
    ]
    on_average = _on_average(scores)
    if on_average is None:
        return Evidence(None, 1.0, equal=False)
    # A chance of 1 does not say it: a sum over the values is cut there.
    equal = all(len({score for _, score in listed}) < 2 for listed in scores)
    uneven = one_stands_out(_repeated(scores))
    if len(history) < _FEW_ROUNDS:
        order = agreement_chance(scores)
        chances = [on_average.chance, *([] if order is None else [order / _SHARE_OF_ORDER])]
        return Evidence(min(1.0, *chances), on_average.missed(LEVEL), equal, uneven)
    walk = len({frozenset(name for name, _ in listed) for listed in scores}) > 1
    factor = (_OF_A_WALK if walk else 1.0) / _SHARES["better on average"]
    after: list[Scores] = [
        [((name, number.get(round_.previous)), score) for name, score in listed]
        for round_, listed in zip(history, scores, strict=True)
    ]
    by_test = {
        "better on average": on_average.chance * (_OF_A_WALK if walk else 1.0),
        "better again": _again(scores),
        "better after the same": None if (each := _on_average(after)) is None else each.chance,
    }
    known = [chance / _SHARES[name] for name, chance in by_test.items() if chance is not None]
    return Evidence(min(1.0, *known), on_average.missed(LEVEL / factor), equal, uneven)


def _on_average(rounds: list[Scores]) -> _Averages | None:
    """The chance that the value farthest from the mean is that far, rounds and noise allowed for.

    The model is a level for each round, an effect for each value, and noise: least squares give
    the effects and the noise, also where rounds have tried different values.
    """
    rounds = _repeated(rounds)
    place = {name: i for i, name in enumerate(dict.fromkeys(n for r in rounds for n, _ in r))}
    complete = all(len(listed) == len(place) for listed in rounds)
    if not rounds or (len(place) > _MOST_VALUES and not complete):
        return None
    counts = np.zeros((len(place), len(rounds)))
    sums = np.zeros(len(place))
    squares = 0.0
    for column, listed in enumerate(rounds):
        deviations = centered([score for _, score in listed]).tolist()
        for (name, _), deviation in zip(listed, deviations, strict=True):
            counts[place[name], column] += 1
            sums[place[name]] += deviation
            squares += deviation**2
    effects, variances, shares = _effects(counts, sums)
    comparisons = round(float(shares.sum()))
    # At least 1, because each value is in two rounds and each round has two values.
    freedom = int(counts.sum()) - len(rounds) - comparisons
    # For noise of 1 in a score; that of a paired difference is larger by the root of 2.
    reach = EFFECT * math.sqrt(2) * (shares / np.sqrt(variances))
    noise = (squares - float(sums @ effects)) / freedom
    values = len(place) if comparisons > 1 else 1
    if not squares:
        chance = 1.0
    elif noise <= 1e-12 * squares:  # the same differences in every round: nothing random in them
        chance = 0.0
    else:
        largest = float(np.max(np.abs(effects) / np.sqrt(noise * variances)))
        chance = 2 * values * t_tail(largest, freedom)
    return _Averages(chance, values, freedom, reach)


def _effects(counts: Array, sums: Array) -> tuple[Array, Array, Array]:
    """The effects of the values, their variances for noise of 1, and what shows of each effect.

    A value's own effect is in the mean that it is compared with, so only a share of it shows.
    """
    values, rounds = counts.shape
    if np.all(counts == 1):
        share = 1 - 1 / values
        return sums / rounds, np.full(values, share / rounds), np.full(values, share)
    spread = np.diag(counts.sum(axis=1)) - (counts / counts.sum(axis=0)) @ counts.T
    # Values that were never compared leave eigenvalues of 0; rounding makes them 1e-15 or so.
    inverse = np.linalg.pinv(spread, rcond=1e-12, hermitian=True)
    return inverse @ sums, np.diag(inverse), np.einsum("ij,ji->i", inverse, spread)


def _repeated(rounds: list[Scores]) -> list[Scores]:
    """Without values that were tried once, and rounds in which then nothing is compared."""
    while True:
        seen = Counter(name for listed in rounds for name in {name for name, _ in listed})
        left = [[item for item in listed if seen[item[0]] > 1] for listed in rounds]
        left = [listed for listed in left if len({name for name, _ in listed}) > 1]
        if left == rounds:
            return left
        rounds = left


def _again(rounds: list[Scores]) -> float | None:
    """The chance that successive rounds put the values in so similar an order."""
    total, pairs = 0.0, 0
    for before, now in itertools.pairwise(rounds):
        earlier, later = dict(before), dict(now)
        both = [name for name in later if name in earlier]
        if len(both) > 1:
            first = standardized([earlier[name] for name in both])
            second = standardized([later[name] for name in both])
            # Under any order of the values this has mean 0 and variance 1.
            total += math.sqrt(len(both) - 1) * float(first @ second)
            pairs += 1
    return math.erfc(total / math.sqrt(2 * pairs)) / 2 if pairs else None
