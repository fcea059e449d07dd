"""Signal or noise: how far the choices of a run can be believed, and what could be saved."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, variance

from dynhp.planning.budget import spent
from dynhp.records import Candidate, Round
from dynhp.records.noise import comparable_scores
from dynhp.records.text import label
from dynhp.records.units import one_of, unit_of
from dynhp.report.luck import MISSED, Luck, Verdict, luck_of

__all__ = ["Signal", "signal_of"]

FEWEST = 4
"""With fewer rounds a page does not speak of luck: ``benchmarks/luck.py`` counts none so short."""
_SETTLED = 4  # rounds without a change at the end, and half of all, before a value has settled


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

    @property
    def verdict(self) -> Verdict:
        """That of ``luck``, but "unknown" where so few rounds could hardly have shown an effect."""
        return _verdict(self.luck)

    @property
    def ratio(self) -> float | None:
        """How many times larger the spread between candidates is; None where that is not known."""
        return self.between / self.equal if self.equal else None


def signal_of(history: Sequence[Round]) -> Signal:
    """Judge a run by its records.

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
    advice, saving = _advice(history, tried, luck)
    return Signal(
        luck=luck,
        between=math.sqrt(fmean(spreads)) if spreads else 0.0,
        equal=luck.noise / math.sqrt(2),
        returns=_returns(tried),
        headline=_headline(history, tried, luck),
        advice=advice,
        saving=saving,
    )


def _verdict(luck: Luck) -> Verdict:
    few = luck.rounds < FEWEST or luck.missed > MISSED
    return "unknown" if luck.verdict == "luck" and few and not luck.equal else luck.verdict


def _returns(tried: Sequence[Round]) -> int:
    """How many changes went back to a value that had been in force and was left."""
    left: set[Candidate] = set()
    returns = 0
    for round_ in tried:
        if round_.changed:
            left.add(round_.previous)
            returns += round_.candidate in left
    return returns


def _headline(history: Sequence[Round], tried: Sequence[Round], luck: Luck) -> str:
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
        return f"{broke}. {_judged(tried, luck)}"
    return _judged(tried, luck)


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _judged(tried: Sequence[Round], luck: Luck) -> str:
    """What the tries say, whatever they were made for."""
    if _is_placebo(tried):
        return f"Only one value was tried: {_values(tried[0].candidate)}."
    verdict, taken = _verdict(luck), tried[-1].corrected
    if verdict == "luck":
        return "The tries do not tell the values apart: what was chosen may be luck."
    if verdict == "unknown" and taken is not None:
        best = _values(tried[-1].winner.candidate)
        return f"The best try was {best}; {_values(taken)} was taken."
    if verdict == "unknown":
        return "Too little was tried to tell luck from an effect."
    if not luck.changes:
        return f"The values differ by more than luck: {_values(tried[0].previous)} stayed the best."
    course = _course(tried)
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
        return ", ".join(moved) or f"all came back to {_values(first)}"
    return f"{_values(first)} stayed"


def _is_placebo(tried: Sequence[Round]) -> bool:
    return len({try_.candidate for round_ in tried for try_ in round_.tries}) == 1


def _values(candidate: Candidate) -> str:
    return ", ".join(f"{name}={label(value)}" for name, value in candidate.items())


def _advice(history: Sequence[Round], tried: Sequence[Round], luck: Luck) -> tuple[str, int]:
    """One sentence, and the epochs that it would have saved."""
    cost = spent(history)
    if not tried:
        return "Nothing has been tried yet, so there is nothing to save.", 0
    of_all = f"{cost.overhead} {cost.unit} of {cost.total}"
    if all(round_.rescue for round_ in tried):
        saved = cost.overhead + cost.abandoned
        value = _values(tried[-1].candidate)
        return (
            f"Begin with {value} the next time: where nothing breaks, that saves {saved} "
            f"{cost.unit} of {cost.total}.",
            saved,
        )
    if _is_placebo(tried):
        return f"Without its tries this run would have saved {of_all}.", cost.overhead
    verdict = _verdict(luck)
    if verdict == "luck":
        value = _values(tried[0].previous)
        return f"Leave it at {value}: that would have saved {of_all}.", cost.overhead
    taken = tried[-1].corrected
    if verdict == "unknown" and taken is not None:
        return (
            f"A run that begins with {_values(taken)} can do without the search, which cost "
            f"{of_all}.",
            cost.overhead,
        )
    if verdict == "unknown":
        return (
            "Compare with a run that adapts nothing before you pay for tries again: they cost "
            f"{of_all}.",
            cost.overhead,
        )
    changes = [place for place, round_ in enumerate(tried) if round_.changed]
    last = changes[-1] if changes else -1
    after = tried[last + 1 :]
    if len(after) >= max(_SETTLED, len(tried) // 2):
        saved = sum(round_.overhead for round_ in after)
        since = f"since {one_of(cost.unit)} {tried[last].start}" if changes else "at all"
        rounds = "one round" if last < 1 else f"the first {last + 1} rounds"
        return (
            f"The value has not changed {since}: {rounds} alone would have saved {saved} "
            f"{cost.unit} of {cost.total}.",
            saved,
        )
    returns = _returns(tried)
    if 2 * returns >= luck.changes > 1:
        saved = sum(round_.overhead for round_ in tried[1::2])
        return (
            f"{returns} of {luck.changes} changes were taken back: adapting half as often, with "
            f"BestByMargin(noise=2), would save {saved} {cost.unit} of {cost.total}.",
            saved,
        )
    never = _never_near(tried)
    if never:
        saved = sum(
            try_.epochs for round_ in tried for try_ in round_.tries if try_.candidate in never
        )
        names = "; ".join(map(_values, sorted(never, key=str)[:3]))
        more = f" and {len(never) - 3} more" if len(never) > 3 else ""
        return (
            f"{names}{more} never came first: leaving them out would have saved {saved} "
            f"{cost.unit} of {cost.total}.",
            saved,
        )
    return (
        "Every value was chosen at some time, so no try was idle; rounds twice as long would save "
        f"about {cost.overhead // 2} {cost.unit} beside the {cost.main_line} of the main line.",
        cost.overhead // 2,
    )


def _never_near(tried: Sequence[Round]) -> set[Candidate]:
    """The candidates that were tried in at least four rounds and were never chosen or in force."""
    counts: dict[Candidate, int] = {}
    for round_ in tried:
        for candidate in {try_.candidate for try_ in round_.tries}:
            counts[candidate] = counts.get(candidate, 0) + 1
    chosen = {round_.candidate for round_ in tried} | {round_.previous for round_ in tried}
    return {each for each, count in counts.items() if count >= _SETTLED and each not in chosen}
