"""Runs whose scores are known, as records: what a real adapter records of them, in far less time.

``tests/report/test_luck_runs.py`` compares the records with those of a real adapter.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dynhp import Best, BestByMargin, FullGrid, Neighbors, Racing
from dynhp.proposers import Known, Proposer
from dynhp.records import Candidate, Round, Try
from dynhp.records.metrics import FixedMetrics
from dynhp.selection import Selection
from dynhp.spaces import Space

Array: TypeAlias = NDArray[np.float64]
Randomness: TypeAlias = Literal["common", "independent"]
Truth: TypeAlias = Literal["noise", "peak", "hill"]

EFFECT = 5 * math.sqrt(2)
"""Five times the noise of a paired difference, for scores whose own noise is 1."""
TRY_FOR = 2
SELECTIONS: dict[str, Selection] = {
    "Best": Best(),
    "BestByMargin(noise=1)": BestByMargin(noise=1.0),
    "BestByMargin(delta=1)": BestByMargin(delta=1.0),
    "Racing": Racing(),
    "Racing(keep=0.3)": Racing(keep=0.3),
}
PROPOSERS: dict[str, Proposer] = {"FullGrid": FullGrid(), "Neighbors": Neighbors()}


class LuckCase(NamedTuple):
    """What the runs of one cell of the table have in common.

    ``truth``: all values are equal ("noise"), one is better than all others by ``EFFECT`` ("peak"),
    or each is better by ``EFFECT`` than the next one farther from the best ("hill").
    """

    values: int
    rounds: int
    selection: str = "Best"
    proposer: str = "FullGrid"
    randomness: Randomness = "independent"
    truth: Truth = "noise"


def true_scores(case: LuckCase, seed: int) -> Array:
    """What each value is worth; which one is best goes by the seed."""
    away = np.abs(np.arange(case.values) - seed % case.values)
    worth = {"noise": 0.0 * away, "peak": EFFECT * (away == 0), "hill": -EFFECT * away}
    return np.asarray(worth[case.truth], dtype=np.float64)


def score_table(case: LuckCase, seed: int) -> Array:
    """The score after each epoch (row) of a try with each value (column).

    Noise of 1 for each try. Under common random numbers there is also noise that the tries of a
    round share, as batches are. Each value still has noise of its own, as in a network whose
    training amplifies the smallest difference. Training progress is far larger than all of them.
    """
    rng = np.random.default_rng([seed, *case[:2]])
    epochs = TRY_FOR * case.rounds
    table = rng.standard_normal((epochs, case.values)) + true_scores(case, seed)
    table += 10.0 * np.arange(1, epochs + 1)[:, np.newaxis]
    if case.randomness == "common":
        table += 3.0 * rng.standard_normal((epochs, 1))
    return table


def recorded(case: LuckCase, seed: int) -> list[Round]:
    """The rounds of one run with these scores."""
    table = score_table(case, seed)
    space = Space({"x": [float(value) for value in range(case.values)]})
    place = {candidate: i for i, candidate in enumerate(space.grid())}
    current = space.start()
    history: list[Round] = []
    selection, noise = SELECTIONS[case.selection], GridNoise()
    for index in range(case.rounds):
        known = Known(space=space, current=current, history=history)
        wave = PROPOSERS[case.proposer].propose(known, np.random.default_rng(0))
        start = TRY_FOR * index
        columns = [place[candidate] for candidate in wave]
        scores = table[start : start + TRY_FOR, columns].T.tolist()
        if isinstance(selection, BestByMargin) and case.proposer == "FullGrid":
            margin = max(selection.delta, selection.noise * noise.of_recent_rounds())
            # In order of the grid, not of the wave, which begins with the value in force.
            noise.add(table[start + TRY_FOR - 1], place[current])
            round_ = _round(BestByMargin(delta=margin), history, current, wave, scores)
        else:
            round_ = _round(selection, history, current, wave, scores)
        history.append(round_)
        current = round_.candidate
    return history


class GridNoise:
    """The noise that ``BestByMargin`` estimates, where every round tries all values.

    ``paired_noise`` goes through 50 rounds of 300 values again in every round, which is most of the
    time of a long run. Here each round is compared once, with the last one that had the same value
    in force. The sums are the same but for rounding.
    """

    def __init__(self) -> None:
        self._gains: list[Array] = []
        self._compared: list[tuple[int, float]] = []  # the round before, and the sum of squares
        self._last: dict[int, int] = {}

    def add(self, scores: Array, in_force: int) -> None:
        """Add a round: the score of each value, and the place of the one in force."""
        gains = scores - scores[in_force]
        before = self._last.get(in_force, -1)
        squares = float(np.sum((gains - self._gains[before]) ** 2)) / 2 if before >= 0 else 0.0
        self._last[in_force] = len(self._gains)
        self._gains.append(gains)
        self._compared.append((before, squares))

    def of_recent_rounds(self) -> float:
        """The standard deviation of one paired difference in the last 50 rounds."""
        first = max(0, len(self._gains) - 50)
        recent = [squares for before, squares in self._compared[first:] if before >= first]
        if not recent:
            return 0.0
        return math.sqrt(sum(recent) / (len(recent) * (len(self._gains[0]) - 1)))


def _round(
    selection: Selection,
    history: list[Round],
    current: Candidate,
    wave: Sequence[Candidate],
    scores: list[list[float]],
) -> Round:
    ranking = selection.ranking(history, current)
    stages = selection.stages(len(wave), TRY_FOR)
    tries: dict[int, Try] = {}
    on, trained = list(range(len(wave))), 0
    for stage in stages:
        trained += stage.epochs
        for i in on:
            tries[i] = _try(wave[i], scores[i][:trained], in_a_race=len(stages) > 1)
        on = [on[i] for i in ranking([tries[i] for i in on])[: stage.keep]]
    return Round(
        index=len(history),
        start=TRY_FOR * len(history),
        epochs=TRY_FOR,
        previous=current,
        tries=tuple(tries[i] for i in range(len(wave))),
        chosen=on[0],
        reason="",
        metrics={},
    )


def _try(candidate: Candidate, scores: list[float], *, in_a_race: bool) -> Try:
    # Only where tries end at different lengths does the report look at more than their score.
    series = tuple(FixedMetrics({"score": score}) for score in scores) if in_a_race else ()
    return Try(candidate=candidate, series=series, epochs=len(scores), score=scores[-1])


def on_record(case: LuckCase, seed: int, history: list[Round]) -> bool:
    """Whether two rounds or more have tried the value that is better than all others.

    Where not, the record does not hold the effect: it is that of equal values (or has one score
    that nothing confirms), and then to speak of luck is right.
    """
    if case.truth != "peak":
        return True
    best = float(seed % case.values)
    return sum(any(each.candidate["x"] == best for each in r.tries) for r in history) > 1
