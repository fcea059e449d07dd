"""Whether the choices of a run were more than luck, as far as its records show it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

from dynhp.records import Round
from dynhp.records.noise import comparable_scores, paired_noise
from dynhp.report.evidence import chance_of

__all__ = ["Luck", "luck_of"]

LEVEL = 0.02
"""Below this chance the choices are not called luck."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Luck:
    """Whether the values of a run differed by more than luck, and what its changes gained.

    Attributes:
        rounds: how many there were.
        changes: in how many the value changed.
        clear: how many changes gained more than the noise gives the luckiest of so many tries.
        noise: the standard deviation of a paired difference, 0 where it cannot be estimated.
        chance: how likely such differences are where all values are equal, None where unknown.

    >>> print(Luck(rounds=10, changes=4, clear=3, noise=0.02, chance=0.001))
    The value changed in 4 of 10 rounds. In 3 of these the gain was clear of the noise (0.02).
    """

    rounds: int
    changes: int
    clear: int
    noise: float
    chance: float | None = None

    def __str__(self) -> str:
        text = f"The value in force was kept in all {self.rounds} rounds."
        if self.changes:
            text = f"The value changed in {self.changes} of {self.rounds} rounds."
            if self.noise:
                text += (
                    f" In {self.clear} of these the gain was clear of the noise ({self.noise:.2g})."
                )
        return text + self._doubt()

    def _doubt(self) -> str:
        if self.chance is None:
            if self.changes and not self.noise:
                return " The noise cannot be estimated from this run; run more seeds and a placebo."
            unclear = 2 * self.clear < self.changes
        else:
            unclear = self.chance >= LEVEL
        if not unclear:
            return ""
        if self.chance == 1 and not self.noise:
            return " All tries of a round scored the same: a choice between them is luck."
        shown = "" if self.chance is None else f" (p = {self.chance:.2g})"
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
        chance=chance_of(history),
    )


def _is_clear(round_: Round, noise: float) -> bool:
    scores = dict(comparable_scores(round_))
    gain = scores.get(round_.candidate, math.nan) - scores.get(round_.previous, math.nan)
    if not math.isfinite(gain):
        return False
    # The best of many tries gains more by luck than one of two: for two it is twice the noise.
    return gain > noise * NormalDist().inv_cdf(1 - 0.025 / max(1, len(scores) - 1))
