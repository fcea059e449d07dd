"""Signal or noise: how far the choices of a run can be believed, and what could be saved."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, variance
from typing import Literal, NamedTuple

from dynhp.advice import doubts
from dynhp.planning.budget import Cost, spent
from dynhp.records import Candidate, Round
from dynhp.records.history import DRY_RUN
from dynhp.records.noise import comparable_scores
from dynhp.records.text import label
from dynhp.records.units import one_of, unit_of
from dynhp.report.evidence import LEVEL, clearly_ahead
from dynhp.report.luck import MISSED, Luck, Verdict, luck_of
from dynhp.report.text import nothing_chosen

__all__ = ["Signal", "signal_of"]

FEWEST = 4
"""With fewer rounds nothing is called luck: ``benchmarks/luck.py`` counts no runs as short."""
_SETTLED = 4  # rounds without a change at the end, and half of all, before a value has settled


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """What the tries of a run show, and one sentence of advice.

    Attributes:
        luck: whether the values differ by more than luck.
        between: the standard deviation between the scores of a round's candidates.
        equal: the same for equal candidates, by how the scores jump from round to round.
        returns: how many changes went back to a value that had been left before.
        headline: what came out, in a sentence.
        advice: what to do about it, in a sentence that names a saving.
        saving: the epochs of that saving.
        misled: what short tries are known to misjudge, and why, if nothing else was adapted.

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
        """The verdict of ``luck``, but "unknown" if the rounds could hardly have shown an effect.

        "misled" says that tries may differ, but not by what pays in the end.
        """
        verdict = _verdict(self.luck)
        return "misled" if self.misled and verdict != "luck" else verdict

    @property
    def ratio(self) -> float | None:
        """How many times larger the spread between candidates is; None if that is not known."""
        return self.between / self.equal if self.equal else None


def signal_of(history: Sequence[Round], *, kinds: Mapping[str, str] | None = None) -> Signal:
    """Judge a run by its records.

    Args:
        history: its rounds.
        kinds: what hyperparameters are, if their names do not say it: ``{"p": "dropout"}``.

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
    misled = {} if _is_placebo(tried) else doubts(history, kinds)
    said = _said(history, tried, luck, misled)
    return Signal(
        luck=luck,
        misled=misled,
        between=math.sqrt(fmean(spreads)) if spreads else 0.0,
        equal=luck.noise / math.sqrt(2),
        returns=_returns(tried),
        headline=_rescues(tried) + said.headline,
        advice=said.advice,
        saving=said.saving,
    )


def _verdict(luck: Luck) -> Verdict:
    """The verdict of the luck report, but "unknown" if the rounds could hardly show an effect."""
    few = luck.rounds < FEWEST or luck.missed > MISSED
    return "unknown" if luck.verdict == "luck" and few and not luck.equal else luck.verdict


class _Said(NamedTuple):
    """What came out of a run, what to do about it, and the epochs that this would have saved."""

    headline: str
    advice: str
    saving: int


def _said(
    history: Sequence[Round], tried: Sequence[Round], luck: Luck, misled: Mapping[str, str]
) -> _Said:
    if not tried:
        headline = "Nothing has been recorded yet."
        if history:
            done = history[-1].start + history[-1].epochs
            headline = f"No round was due: {done} {unit_of(history)}, nothing tried."
        return _Said(headline, "Nothing has been tried yet, so there is nothing to save.", 0)

    cost = spent(history)
    tries = cost.overhead
    of_all = f"{tries} {cost.unit} of {cost.total}"
    first = _values(tried[0].previous)
    course = _course(tried)
    if all(round_.rescue for round_ in tried):
        saved = cost.overhead + cost.abandoned
        advice = (
            f"Begin with {_values(tried[-1].candidate)} the next time: where nothing breaks, that "
            f"saves {saved} {cost.unit} of {cost.total}."
        )
        return _Said(f"{course}.", advice, saved)

    if nothing_chosen(tried):
        only = "each round had one value, which was given"
        if _is_placebo(tried):
            only = f"{_values(tried[0].candidate)} was the only value"
        advice = "Nothing was tried beside the main line, so there is nothing to save."
        return _Said(f"Nothing was chosen: {only}.", advice, 0)
    if _is_placebo(tried):
        headline = f"Only one value was tried: {_values(tried[0].candidate)}."
        return _Said(headline, f"Without its tries this run would have saved {of_all}.", tries)

    if all(round_.reason == DRY_RUN for round_ in tried):
        headline = f"A dry run: {first} was kept, whatever the tries said."
        advice = f"Without its tries this run would have saved {of_all}; nothing else would differ."
        return _Said(headline, advice, tries)

    verdict = _verdict(luck)
    if verdict == "luck":
        headline = "The tries do not tell the values apart: what was chosen may be luck."
        return _Said(headline, f"Leave it at {first}: that would have saved {of_all}.", tries)
    if misled:
        advice = (
            f"Leave it at {first}, or compare whole runs, with a Shadow for instance "
            f"({'; '.join(misled.values())}): that would have saved {of_all}."
        )
        headline = f"Short tries do not show what pays: {course}, which is no sign of a gain."
        return _Said(headline, advice, tries)
    if verdict == "effect":
        return _effect(tried, luck, cost)

    taken = tried[-1].corrected
    if taken is not None:
        advice = (
            f"A run that begins with {_values(taken)} can do without the search, which cost "
            f"{of_all}."
        )
        best = _values(tried[-1].winner.candidate)
        return _Said(f"The best try was {best}; {_values(taken)} was taken.", advice, tries)

    advice = (
        "Compare with a run that adapts nothing before you pay for tries again: they cost "
        f"{of_all}."
    )
    headline = "Too little was tried to tell luck from an effect."
    if luck.uneven:
        headline = "One round alone tells the values apart: luck, or an effect that is gone later."
    return _Said(headline, advice, tries)


def _rescues(tried: Sequence[Round]) -> str:
    """How often the main line broke, to stand before the headline."""
    rescues = sum(round_.rescue for round_ in tried)
    if not rescues:
        return ""
    times = "once" if rescues == 1 else f"{rescues} times"
    end = ":" if rescues == len(tried) else "."
    return f"The main line broke {times} and was rescued{end} "


def _effect(tried: Sequence[Round], luck: Luck, cost: Cost) -> _Said:
    """What to say of a run whose values differ by more than luck."""
    course = _course(tried)
    ahead = clearly_ahead(tried, level=LEVEL)
    headline = f"The values differ by more than luck: {course}."
    if not luck.changes and tried[-1].corrected is None:
        headline = (
            f"The values differ by more than luck: {_values(tried[0].previous)} stayed the best."
        )
    elif ahead == tried[-1].candidate:
        headline = f"The values differ by more than luck: {course}, the best on average."
    elif ahead is not None:
        headline = (
            f"The values differ by more than luck: {_values(ahead)} is the best on average; "
            f"{course}."
        )
    elif not luck.clear:
        headline = (
            f"Some values are worse by more than luck; the changes made ({course}) are not clear "
            "of the noise."
        )
    return _Said(headline, *_less_trying(tried, cost))


def _less_trying(tried: Sequence[Round], cost: Cost) -> tuple[str, int]:
    """How such a run could do with fewer tries, and the epochs that this would save."""
    of_all = f"{cost.unit} of {cost.total}"
    changes = [place for place, round_ in enumerate(tried) if round_.changed]
    last = changes[-1] if changes else -1
    after = tried[last + 1 :]
    if len(after) >= max(_SETTLED, len(tried) // 2):
        needed = max(1, last + 1)  # what max_rounds= would have to be
        saved = sum(round_.overhead for round_ in tried[needed:])
        since = f"since {one_of(cost.unit)} {tried[last].start}" if changes else "at all"
        rounds = "one round" if needed == 1 else f"the first {needed} rounds"
        text = (
            f"The value has not changed {since}: {rounds} alone would have saved {saved} {of_all}."
        )
        return text, saved

    returns = _returns(tried)
    if 2 * returns >= len(changes) > 1:
        saved = sum(round_.overhead for round_ in tried[1::2])
        text = (
            f"{returns} of {len(changes)} changes were taken back: adapting half as often, with "
            f"BestByMargin(noise=2), would save {saved} {of_all}."
        )
        return text, saved

    rounds_with = Counter(each for r in tried for each in {try_.candidate for try_ in r.tries})
    useful = {each for r in tried for each in (r.winner.candidate, r.candidate, r.previous)}
    idle = rounds_with.keys() - useful
    never = {each for each in idle if rounds_with[each] >= _SETTLED}
    if never:
        saved = sum(t.epochs for round_ in tried for t in round_.tries if t.candidate in never)
        names = "; ".join(map(_values, sorted(never, key=str)[:3]))
        more = f" and {len(never) - 3} more" if len(never) > 3 else ""
        text = (
            f"{names}{more} never came first: leaving "
            f"{'it' if len(never) == 1 else 'them'} out would have saved {saved} {of_all}."
        )
        return text, saved

    busy = "" if idle else "Every value was chosen at some time, so no try was idle. "
    text = (
        f"{busy}Rounds twice as long would save about {cost.overhead // 2} {cost.unit} "
        f"beside the {cost.main_line} of the main line."
    )
    return text, cost.overhead // 2


def _returns(tried: Sequence[Round]) -> int:
    """How many changes went back to a value that had been in force and was left."""
    left: set[Candidate] = set()
    returns = 0
    for round_ in tried:
        if round_.changed:
            left.add(round_.previous)
            if round_.candidate in left:
                returns += 1
    return returns


def _is_placebo(tried: Sequence[Round]) -> bool:
    return len({try_.candidate for round_ in tried for try_ in round_.tries}) == 1


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


def _values(candidate: Candidate) -> str:
    return ", ".join(f"{name}={label(value)}" for name, value in candidate.items())
