"""Whether the choices of a run were more than luck, judged by its records."""

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
"""Whether the values of a run differ, differ by nothing that can be seen, or it is unknown."""
MISSED = 0.05
"""If a record would miss a large effect more often than this, it is not called luck."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Luck:
    """Whether the values of a run differed by more than luck, and what its changes gained.

    Attributes:
        rounds: how many there were.
        changes: in how many the value changed.
        clear: how many changes gained more than the noise gives the luckiest of as many tries.
        noise: the standard deviation of a paired difference, 0 if it cannot be estimated.
        chance: how likely such differences are if all values are equal, None if unknown.
        missed: how often such rounds would not show a value better by five times the noise.
        equal: whether all tries of each round scored the same.
        uneven: whether one round has far larger differences than all others.

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
        """Whether the values differ, differ by nothing that can be seen, or it is unknown.

        >>> Luck(rounds=3, changes=1, clear=0, noise=0.1, chance=0.3, missed=0.4).verdict
        'unknown'
        """
        if self.chance is None:
            if not (self.changes and self.noise):
                return "unknown"
            return "luck" if 2 * self.clear < self.changes else "effect"
        if self.chance < LEVEL:
            return "effect"
        if self.uneven:
            return "unknown"
        # A chance cut at 1 is luck too: else a long walk would often get no answer.
        return "unknown" if self.missed > MISSED and self.chance < 1 else "luck"

    def __str__(self) -> str:
        text = f"The value in force was kept in all {self.rounds} rounds."
        if self.changes:
            text = f"The value changed in {self.changes} of {self.rounds} rounds."
            if self.noise:
                text += (
                    f" In {self.clear} of these the gain was clear of the noise ({self.noise:.2g})."
                )
            elif self.chance and not self.equal:  # at 0 all rounds agree: there is no noise
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
    """Judge the choices of a run by what its rounds have in common, and by the noise seen in it.

    How often it is silent on noise alone, and how often it accuses a real effect, is counted by
    ``make bench-luck``; ``docs/how-long.md`` has the figures.

    >>> str(luck_of([]))
    'The value in force was kept in all 0 rounds.'
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
    scores = dict(comparable_scores(round_))
    gain = scores.get(round_.winner.candidate, math.nan) - scores.get(round_.previous, math.nan)
    if not math.isfinite(gain):
        return False
    # The best of many tries gains more by luck than one of two: for two it is twice the noise.
    return gain > noise * NormalDist().inv_cdf(1 - 0.025 / max(1, len(scores) - 1))
