"""Signal or noise: how far the choices of a run can be believed, and what could be saved."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, variance
from typing import Literal

from dynhp.advice import doubts
from dynhp.records import Round
from dynhp.records.noise import comparable_scores
from dynhp.records.text import label
from dynhp.records.units import unit_of
from dynhp.report.agreement import clearly_ahead
from dynhp.report.evidence import LEVEL
from dynhp.report.luck import Luck, luck_of
from dynhp.report.page.saving import advice_of, is_placebo, returns_of, values_of, verdict_of
from dynhp.report.text import nothing_chosen

__all__ = ["Signal", "signal_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """What the tries of a run show, and one sentence of advice.

    Attributes:
        luck: whether the values differ by more than luck.
        between: the standard deviation between the scores of a round's candidates.
        equal: that between equal candidates, by how the scores jump from round to round.
        returns: how many changes went back to a value that had been left before.
        headline: what came out, in a sentence.
        advice: what to do about it, in a sentence that names a saving.
        saving: the epochs of that saving.
        misled: what short tries are known to misjudge, and why, where that is all that was adapted.

    >>> signal_of(()).advice
    'Nothing has been tried yet, so there is nothing to save.'
    """

    luck: Luck
    between: float
    equal: float
    returns: int
    headline: str
    advice: str
    saving: int
    misled: Mapping[str, str] = field(default_factory=dict)

    @property
    def verdict(self) -> Literal["effect", "luck", "unknown", "misled"]:
        """That of ``luck``, but "unknown" where so few rounds could hardly have shown an effect.

        "misled" says that tries may differ, but not by what pays in the end.
        """
        verdict = verdict_of(self.luck)
        return "misled" if self.misled and verdict != "luck" else verdict

    @property
    def ratio(self) -> float | None:
        """How many times larger the spread between candidates is; None where that is not known."""
        return self.between / self.equal if self.equal else None


def signal_of(history: Sequence[Round], *, kinds: Mapping[str, str] | None = None) -> Signal:
    """Judge a run by its records.

    Args:
        history: its rounds.
        kinds: what hyperparameters are, where their names do not say it: ``{"p": "dropout"}``.

    >>> from dynhp import DynamicGridAdapter
    >>> from dynhp.testing import Quadratic
    >>> adapter = DynamicGridAdapter(Quadratic(), {"lr": [0.01, 0.1, 0.5]}, minimize="loss",
    ...                              adapt_every=5, try_for=1)
    >>> signal = signal_of(adapter.run(40))
    >>> print(signal.headline)
    The values differ by more than luck: lr went from 0.1 to 0.5.
    >>> print(signal.advice)
    The value has not changed since epoch 0: one round alone would have saved 14 epochs of 58.
    """
    tried = [round_ for round_ in history if round_.tries]
    luck = luck_of(tried)
    spreads = [
        variance([score for _, score in scores])
        for scores in map(comparable_scores, tried)
        if len(scores) > 1
    ]
    misled = {} if is_placebo(tried) else doubts(history, kinds)
    advice, saving = advice_of(history, tried, luck, misled)
    return Signal(
        luck=luck,
        misled=misled,
        between=math.sqrt(fmean(spreads)) if spreads else 0.0,
        equal=luck.noise / math.sqrt(2),
        returns=returns_of(tried),
        headline=_headline(history, tried, luck, misled),
        advice=advice,
        saving=saving,
    )


def _headline(
    history: Sequence[Round], tried: Sequence[Round], luck: Luck, misled: Mapping[str, str]
) -> str:
    if not history:
        return "Nothing has been recorded yet."
    if not tried:
        done = history[-1].start + history[-1].epochs
        return f"No round was due: {done} {unit_of(history)}, nothing tried."
    rescues = sum(round_.rescue for round_ in tried)
    if rescues:
        broke = f"The main line broke {_times(rescues)} and was rescued"
        if rescues == len(tried):
            return f"{broke}: {_course(tried)}."
        return f"{broke}. {_judged(tried, luck, misled)}"
    return _judged(tried, luck, misled)


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _judged(tried: Sequence[Round], luck: Luck, misled: Mapping[str, str]) -> str:
    """What the tries say, whatever they were made for."""
    if nothing_chosen(tried) and is_placebo(tried):
        return f"Nothing was chosen: {values_of(tried[0].candidate)} was the only value."
    if nothing_chosen(tried):
        return "Nothing was chosen: each round had one value, which was given."
    if is_placebo(tried):
        return f"Only one value was tried: {values_of(tried[0].candidate)}."
    verdict, taken = verdict_of(luck), tried[-1].corrected
    if verdict == "luck":
        return "The tries do not tell the values apart: what was chosen may be luck."
    if misled:
        return f"Short tries do not show what pays: {_course(tried)}, which is no sign of a gain."
    if verdict == "unknown" and taken is not None:
        best = values_of(tried[-1].winner.candidate)
        return f"The best try was {best}; {values_of(taken)} was taken."
    if verdict == "unknown" and luck.uneven:
        return "One round alone tells the values apart: luck, or an effect that is gone later."
    if verdict == "unknown":
        return "Too little was tried to tell luck from an effect."
    if not luck.changes and taken is None:
        return (
            f"The values differ by more than luck: {values_of(tried[0].previous)} stayed the best."
        )
    course, ahead = _course(tried), clearly_ahead(tried, level=LEVEL)
    if ahead == tried[-1].candidate:
        return f"The values differ by more than luck: {course}, the best on average."
    if ahead is not None:
        return (
            f"The values differ by more than luck: {values_of(ahead)} is the best on average; "
            f"{course}."
        )
    if not luck.clear:
        return (
            f"Some values are worse by more than luck; the changes made ({course}) are not clear "
            "of the noise."
        )
    return f"The values differ by more than luck: {course}."


def _course(tried: Sequence[Round]) -> str:
    """From which value to which the rounds went."""
    first, last = tried[0].previous, tried[-1].candidate
    moved = [
        f"{name} went from {label(first[name])} to {label(value)}"
        for name, value in last.items()
        if first[name] != value
    ]
    if any(round_.changed for round_ in tried):
        return ", ".join(moved) or f"all came back to {values_of(first)}"
    return f"{values_of(first)} stayed"
