"""How likely differences as large as those of a run are if no value is better than another."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Hashable, Sequence
from statistics import fmean, stdev
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dynhp.records import Candidate, Round
from dynhp.records.noise import comparable_scores
from dynhp.report.student import missed_share, t_tail

__all__ = ["EFFECT", "LEVEL", "Evidence", "agreement_chance", "clearly_ahead", "evidence_of"]
__all__ += ["one_stands_out"]

Array: TypeAlias = NDArray[np.float64]
Scores: TypeAlias = list[tuple[Hashable, float]]
"""The scores of a round by value."""

LEVEL = 0.02
"""Choices are called luck only if the chance is at least this."""
EFFECT = 5.0
"""What a record should be able to show: one value better by this many times the noise."""

# Three tests share one chance of error. Most of it goes to the first. With few rounds, which tell
# the others nothing, all of it does, and a test of the order of the values has a quarter more.
_SHARES = {"better on average": 0.8, "better again": 0.1, "better after the same": 0.1}
_FEW_ROUNDS = 8
_SHARE_OF_ORDER = 0.25
_OF_A_WALK = 2.0  # if rounds try different values, the first test is too sure by less than this
_MOST_VALUES = 600  # more would take seconds, unless every round has tried all of them
_MOST_ORDERS = 20_000
_DRAWN_ORDERS = 999
_SURE = 0.001  # how often a round of plain noise may be said to stand out


class Evidence(NamedTuple):
    """What the records of a run tell about its values, and what they cannot tell.

    Attributes:
        chance: how likely differences as large are if all values are equal; None if unknown.
        missed: how often rounds with the same tries would not show that one value, which may be
            any of them, is better by five times the noise.
        equal: whether all tries of each round scored the same; False if the chance is unknown.
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
    of a model that converges shrink. If a single round has far larger ones than all others, it may
    show an effect that is gone later, or be an outlier (``uneven``).

    The first test is exact if every round tries the same values. If the values follow the
    value in force (``Neighbors``), earlier scores decide what is tried: a value is tried again and
    again *because* it was lucky, and left when its luck ends. In a long walk many values get a
    chance of a lucky stay, and the test is too sure: 66 of 2,300 walks on noise passed, but 46
    may. So it counts half there.

    What was never tried leaves no trace: if the walk never reaches the only better value,
    the record looks as if all values were equal, and no test can tell. A value that was tried in
    one round only is no evidence either. And if few rounds have tried the same values, the noise
    is known so badly that even a large effect does not stand out: ``missed`` says how often. It is
    the mean over the values: otherwise the least tried value alone would decide in a walk of
    hundreds of rounds, though the walk would have stayed with it if it were the best.

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
        by_order = 1.0 if order is None else order / _SHARE_OF_ORDER
        chance = min(1.0, on_average.chance, by_order)
        return Evidence(chance, on_average.missed(LEVEL), equal, uneven)

    walk = len({frozenset(name for name, _ in listed) for listed in scores}) > 1
    too_sure = _OF_A_WALK if walk else 1.0
    after: list[Scores] = [
        [((name, number.get(round_.previous)), score) for name, score in listed]
        for round_, listed in zip(history, scores, strict=True)
    ]
    after_the_same = _on_average(after)
    by_test = {
        "better on average": on_average.chance * too_sure,
        "better again": _again(scores),
        "better after the same": None if after_the_same is None else after_the_same.chance,
    }
    known = [chance / _SHARES[name] for name, chance in by_test.items() if chance is not None]
    level = LEVEL / (too_sure / _SHARES["better on average"])
    return Evidence(min(1.0, *known), on_average.missed(level), equal, uneven)


def _on_average(rounds: list[Scores]) -> _Averages | None:
    """The chance that the value farthest from the mean is that far, rounds and noise allowed for.

    The model is a level for each round, an effect for each value, and noise: least squares give
    the effects and the noise, also if rounds have tried different values.
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
        deviations = _centered([score for _, score in listed]).tolist()
        for (name, _), deviation in zip(listed, deviations, strict=True):
            counts[place[name], column] += 1
            sums[place[name]] += deviation
            squares += deviation**2
    effects, variances, shares = _effects(counts, sums)
    comparisons = round(float(shares.sum()))
    # At least 1, because each value is in two rounds and each round has two values.
    freedom = int(counts.sum()) - len(rounds) - comparisons
    # For noise of 1 in a score; a paired difference has more, by the root of 2.
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
    """The chance that successive rounds put the values in an order as similar as here."""
    total, pairs = 0.0, 0
    for before, now in itertools.pairwise(rounds):
        earlier, later = dict(before), dict(now)
        both = [name for name in later if name in earlier]
        if len(both) > 1:
            first = _standardized([earlier[name] for name in both])
            second = _standardized([later[name] for name in both])
            # Under any order of the values this has mean 0 and variance 1.
            total += math.sqrt(len(both) - 1) * float(first @ second)
            pairs += 1
    return math.erfc(total / math.sqrt(2 * pairs)) / 2 if pairs else None


def agreement_chance(rounds: Sequence[Scores]) -> float | None:
    """The chance that rounds put their values in an order as similar as here, if all are equal.

    Training converges, so a true difference may shrink from round to round by far more than noise
    would explain. Here every round counts alike: its scores are measured by their own spread, and
    compared with those of the same rounds in other orders. None if rounds tried other values.

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
        row[[place[name] for name, _ in listed]] = _standardized([score for _, score in listed])
    count = len(place)
    if count <= 6 and math.factorial(count) ** (len(rounds) - 1) <= _MOST_ORDERS:
        sums = table[:1]  # over rounds, for each order that each round but the first may have
        for row in table[1:]:
            orders = np.array(list(itertools.permutations(row.tolist())))
            sums = (sums[:, np.newaxis, :] + orders).reshape(-1, count)
    else:
        rng = np.random.default_rng(0)  # the same verdict whenever the same record is looked at
        drawn = [np.sum(rng.permuted(table, axis=1), axis=0) for _ in range(_DRAWN_ORDERS)]
        sums = np.stack([np.sum(table, axis=0), *drawn])
    seen = float(np.sum(np.sum(table, axis=0) ** 2))
    return float(np.mean(np.sum(sums**2, axis=1) >= seen * (1 - 1e-9)))


def clearly_ahead(rounds: Sequence[Round], *, level: float) -> Candidate | None:
    """The candidate with the best mean score, if it surely beats the first value in force.

    A paired t-test, for as many candidates as there are. None if rounds tried other values.

    >>> from dynhp import DynamicGridAdapter
    >>> from dynhp.testing import Quadratic
    >>> adapter = DynamicGridAdapter(Quadratic(), {"lr": [0.1, 0.5]}, minimize="loss",
    ...                              adapt_every=1, try_for=1)
    >>> clearly_ahead(adapter.run(30)[:2], level=0.5)
    Candidate(lr=0.5)
    """
    scores = [dict(comparable_scores(round_)) for round_ in rounds]
    names = scores[0].keys()
    start = rounds[0].previous
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

    That round may show an effect that is gone afterwards, or be an outlier: records cannot tell.

    >>> first = [("low", 0.0), ("high", 90.0)]
    >>> later = [[("low", 0.0), ("high", each)] for each in (0.1, -0.2, 0.1, 0.2)]
    >>> one_stands_out([first, *later]), one_stands_out(later)
    (True, False)
    """
    squares = [float(np.sum(_centered([s for _, s in each]) ** 2)) for each in rounds if each]
    freedoms = [len(each) - 1 for each in rounds if each]
    if not any(squares):
        return False
    most = max(range(len(squares)), key=squares.__getitem__)
    others = math.fsum(squares) - squares[most]
    freedom = sum(freedoms) - freedoms[most]
    if freedom < 1:
        return False  # there is nothing to compare it with
    if others <= 1e-24 * squares[most]:
        return True
    ratio = (squares[most] / freedoms[most]) / (others / freedom)
    # The chance for one degree of freedom: with more, a ratio as large is rarer still.
    return 2 * len(squares) * t_tail(math.sqrt(ratio), freedom) < _SURE


def _standardized(scores: Sequence[float]) -> Array:
    """Without their mean, and with a sum of squares of 1; all 0 if they are equal."""
    deviations = _centered(scores)
    deviations /= float(np.linalg.norm(deviations)) or 1.0
    return deviations


def _centered(scores: Sequence[float]) -> Array:
    """Without their mean: exactly 0 if all are equal, which the mean alone would round."""
    deviations: Array = np.array(scores, dtype=np.float64) - scores[0]
    deviations -= np.mean(deviations)
    return deviations
