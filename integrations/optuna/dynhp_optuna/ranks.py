"""What a try was worth among those of its round, since rounds cannot be compared by score."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dynhp.records import Candidate, Round, Try
from dynhp.records.noise import comparable_scores

__all__ = ["ranks_of", "ranks_of_tries"]


def ranks_of(round_: Round) -> list[float | None]:
    """For each try of a round, the share of the others that it beat; None where that is not known.

    From 0 for the worst to 1 for the best; equals share their places, and what failed comes last.
    Tries of a race are compared after equally many epochs. Where only one try can be compared,
    it has beaten no other, and its share is not known.

    >>> from dynhp import complete_search, lowest
    >>> from dynhp.testing import Quadratic
    >>> [round_] = complete_search(Quadratic(), {"lr": [1, 3, 2]}, criterion=lowest("loss"),
    ...                            epochs=1)
    >>> ranks_of(round_)
    [0.0, 1.0, 0.5]
    """
    scores = _scores(round_)
    known = [score for score in scores if score is not None]
    return [_rank(score, known) for score in scores]


def ranks_of_tries(tries: Sequence[Try], current: Candidate) -> list[float | None]:
    """The same for the tries of a round that is under way."""
    return ranks_of(
        Round(
            index=0, start=0, epochs=0, previous=current, tries=tuple(tries), chosen=0,
            reason="under way", metrics={},
        )
    )  # fmt: skip


def _scores(round_: Round) -> list[float | None]:
    # Taken in the order of the tries, since a candidate may have been tried more than once. What
    # failed on its way may be among them, with what it had measured by then.
    comparable = comparable_scores(round_)
    scores: list[float | None] = []
    for try_ in round_.tries:
        known = bool(comparable) and comparable[0][0] is try_.candidate
        score = comparable.pop(0)[1] if known else None
        scores.append(-math.inf if try_.rank_key == -math.inf else score)
    return scores


def _rank(score: float | None, known: Sequence[float]) -> float | None:
    if score is None or len(known) < 2:
        return None
    beaten = sum(other < score for other in known)
    equals = sum(other == score for other in known) - 1
    return (beaten + equals / 2) / (len(known) - 1)
