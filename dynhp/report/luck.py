"""Whether the choices of a run were more than luck, as far as its records show it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dynhp.records import Round
from dynhp.selection import paired_noise

__all__ = ["Luck", "luck_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Luck:
    """How many changes of value there were, and how many gained more than twice the noise.

    ``noise`` is the standard deviation of a paired difference, 0 where it cannot be estimated.

    >>> print(Luck(rounds=10, changes=4, clear=3, noise=0.02))
    The value changed in 4 of 10 rounds. In 3 of these the gain was above twice the noise (0.02).
    """

    rounds: int
    changes: int
    clear: int
    noise: float

    def __str__(self) -> str:
        if not self.changes:
            return f"The value in force was kept in all {self.rounds} rounds."
        text = f"The value changed in {self.changes} of {self.rounds} rounds."
        if not self.noise:
            return (
                text + " The noise cannot be estimated from this run; run more seeds and a placebo."
            )
        text += f" In {self.clear} of these the gain was above twice the noise ({self.noise:.2g})."
        if 2 * self.clear < self.changes:
            text += " Most choices may be luck: compare with a placebo before you believe them."
        return text


def luck_of(history: Sequence[Round]) -> Luck:
    """Judge the choices of a run by the noise seen in it.

    >>> str(luck_of([]))
    'The value in force was kept in all 0 rounds.'
    """
    noise = paired_noise(history)
    changed = [round_ for round_ in history if round_.changed]
    return Luck(
        rounds=len(history),
        changes=len(changed),
        clear=sum(_gain(round_) > 2 * noise for round_ in changed),
        noise=noise,
    )


def _gain(round_: Round) -> float:
    held = [try_.rank_key for try_ in round_.tries if try_.candidate == round_.previous]
    gain = round_.winner.rank_key - held[0] if held else math.nan
    return gain if math.isfinite(gain) else 0.0
