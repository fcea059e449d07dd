"""Tell from the records of a run whether its choices were better than luck."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal, TypeAlias

from dynhp.records import Round
from dynhp.records.noise import comparable_scores, paired_noise
from dynhp.report.evidence import EFFECT, LEVEL, evidence_of

__all__ = ["Luck", "luck_of"]

Verdict: TypeAlias = Literal["effect", "luck", "unknown"]
"""``effect``: the values differ; ``luck``: no difference can be seen; ``unknown``: neither."""
MISSED = 0.05
"""If a record would miss a large effect more often than this, the verdict is not luck."""
_CLEAR_SHARE = 0.5  # without p, the share of changes that must be clear gains to count as an effect
_CLEAR_BY_LUCK = 0.025  # how often noise alone may make the best of a round look like a clear gain


@dataclass(frozen=True, slots=True, kw_only=True)
class Luck:
    """What a run's records say about luck: whether its values differed, and what changes gained.

    Attributes:
        rounds: the number of rounds.
        changes: the number of rounds in which the value changed.
        clear: the number of changes that gained more than noise gives the luckiest of as many
            tries.
        noise: the standard deviation of a paired difference of scores, in units of the score; 0 if
            it cannot be estimated.
        chance: the probability of such differences if all values are equally good (p), from 0 to
            1; None if unknown.
        missed: the share of such runs, from 0 to 1, that would not show a value better by five
            times the noise.
        equal: true if all tries of each round scored the same.
        uneven: true if one round has far larger differences than all others.

    >>> print(Luck(rounds=10, changes=4, clear=3, noise=0.02, chance=0.001))
    The value changed in 4 of 10 rounds. In 3 of these the gain was clear of the noise (0.02).
    """

    rounds: int
    changes: int
    clear: int
    noise: float
    chance: float | None = None
    missed: float = 0.0
    equal: bool = False
    uneven: bool = False

    @property
    def verdict(self) -> Verdict:
        """What the records say: the values differ, no difference can be seen, or neither.

        >>> Luck(rounds=3, changes=1, clear=0, noise=0.1, chance=0.3, missed=0.4).verdict
        'unknown'
        """
        if self.chance is None:
            if not (self.changes and self.noise):
                return "unknown"
            return "luck" if self.clear < _CLEAR_SHARE * self.changes else "effect"
        if self.chance < LEVEL:
            return "effect"
        if self.uneven:
            return "unknown"
        # A chance cut off at 1 is luck too: otherwise a long walk would often get no answer.
        return "unknown" if self.missed > MISSED and self.chance < 1 else "luck"

    def __str__(self) -> str:
        text = f"The value in force was kept in all {self.rounds} rounds."
        if not self.rounds:
            text = "No rounds yet."
        elif self.changes:
            text = f"The value changed in {self.changes} of {self.rounds} rounds."
            if self.noise:
                text += (
                    f" In {self.clear} of these the gain was clear of the noise ({self.noise:.2g})."
                )
            elif self.chance and not self.equal:  # at 0 all rounds agree, so there is no noise
                text += " The noise of such gains cannot be estimated from this run."
        return text + self._doubt()

    def _doubt(self) -> str:
        shown = "" if self.chance is None else f" (p = {self.chance:.2g})"
        if self.verdict == "unknown" and self.uneven:
            return (
                " In one round the values differ far more than in all others: whether that is luck "
                "or an effect that is gone later cannot be told. Compare with a placebo, or with "
                "other seeds."
            )
        if self.verdict == "unknown" and self.chance is not None:
            return (
                f" Too few rounds tried the same values to tell luck from an effect{shown}: "
                f"one of {EFFECT:.0f} times the noise would go unseen in "
                f"{100 * self.missed:.0f} of 100 such runs. Compare with a placebo, or adapt in "
                "more rounds."
            )
        if self.verdict == "unknown" and self.changes:
            return " The noise cannot be estimated from this run; run more seeds and a placebo."
        if self.verdict != "luck":
            return ""
        if self.equal:
            return " All tries of a round scored the same: a choice between them is luck."
        return (
            f" The tries do not tell the values apart{shown}: the choices may be luck. Compare "
            "with a placebo before you believe them."
        )


def luck_of(history: Sequence[Round]) -> Luck:
    """Judge the choices of a run by what its rounds have in common and by the noise seen in them.

    ``make bench-luck`` counts how often it calls pure noise an effect, and how often it calls a
    real effect luck; ``docs/how-long.md`` has the figures.

    >>> str(luck_of([]))
    'No rounds yet.'
    """
    noise = paired_noise(history)
    changed = [round_ for round_ in history if round_.changed]
    return Luck(
        rounds=len(history),
        changes=len(changed),
        clear=sum(_is_clear(round_, noise) for round_ in changed),
        noise=noise,
        **evidence_of(history)._asdict(),
    )


def _is_clear(round_: Round, noise: float) -> bool:
    """Whether the winner beat the value in force by more than luck would, at this noise."""
    scores = dict(comparable_scores(round_))
    gain = scores.get(round_.winner.candidate, math.nan) - scores.get(round_.previous, math.nan)
    if not math.isfinite(gain):
        return False
    # The best of many tries gains more by luck than the better of two, where the limit is 1.96
    # times the noise. So the allowed chance is divided among the rivals (Bonferroni).
    rivals = max(1, len(scores) - 1)
    return gain > noise * NormalDist().inv_cdf(1 - _CLEAR_BY_LUCK / rivals)
