"""What to do about a run in one sentence, and the epochs that it would have saved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dynhp.planning.budget import spent
from dynhp.records import Candidate, Round
from dynhp.records.text import label
from dynhp.records.units import one_of
from dynhp.report.luck import MISSED, Luck, Verdict
from dynhp.report.text import nothing_chosen

__all__ = ["advice_of", "is_placebo", "returns_of", "values_of", "verdict_of"]

FEWEST = 4
"""With fewer rounds a page does not speak of luck: ``benchmarks/luck.py`` counts none so short."""
_SETTLED = 4  # rounds without a change at the end, and half of all, before a value has settled


def verdict_of(luck: Luck) -> Verdict:
    """That of the luck report, but "unknown" where so few rounds could hardly show an effect."""
    few = luck.rounds < FEWEST or luck.missed > MISSED
    return "unknown" if luck.verdict == "luck" and few and not luck.equal else luck.verdict


def advice_of(
    history: Sequence[Round], tried: Sequence[Round], luck: Luck, misled: Mapping[str, str]
) -> tuple[str, int]:
    """One sentence, and the epochs that it would have saved."""
    cost = spent(history)
    if not tried:
        return "Nothing has been tried yet, so there is nothing to save.", 0
    of_all = f"{cost.overhead} {cost.unit} of {cost.total}"
    if all(round_.rescue for round_ in tried):
        saved = cost.overhead + cost.abandoned
        value = values_of(tried[-1].candidate)
        return (
            f"Begin with {value} the next time: where nothing breaks, that saves {saved} "
            f"{cost.unit} of {cost.total}.",
            saved,
        )
    if nothing_chosen(tried):
        return "Nothing was tried beside the main line, so there is nothing to save.", 0
    if is_placebo(tried):
        return f"Without its tries this run would have saved {of_all}.", cost.overhead
    verdict = verdict_of(luck)
    if verdict == "luck":
        value = values_of(tried[0].previous)
        return f"Leave it at {value}: that would have saved {of_all}.", cost.overhead
    if misled:
        value, why = values_of(tried[0].previous), "; ".join(misled.values())
        return (
            f"Leave it at {value}, or compare whole runs, with a Shadow for instance ({why}): that "
            f"would have saved {of_all}.",
            cost.overhead,
        )
    taken = tried[-1].corrected
    if verdict == "unknown" and taken is not None:
        return (
            f"A run that begins with {values_of(taken)} can do without the search, which cost "
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
    returns = returns_of(tried)
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
        names = "; ".join(map(values_of, sorted(never, key=str)[:3]))
        more = f" and {len(never) - 3} more" if len(never) > 3 else ""
        return (
            f"{names}{more} never came first: leaving {'it' if len(never) == 1 else 'them'} out "
            f"would have saved {saved} "
            f"{cost.unit} of {cost.total}.",
            saved,
        )
    idle = {try_.candidate for round_ in tried for try_ in round_.tries} - _chosen(tried)
    busy = "" if idle else "Every value was chosen at some time, so no try was idle. "
    return (
        f"{busy}Rounds twice as long would save about {cost.overhead // 2} {cost.unit} "
        f"beside the {cost.main_line} of the main line.",
        cost.overhead // 2,
    )


def _never_near(tried: Sequence[Round]) -> set[Candidate]:
    """The candidates that were tried in at least four rounds and were never chosen or in force."""
    counts: dict[Candidate, int] = {}
    for round_ in tried:
        for candidate in {try_.candidate for try_ in round_.tries}:
            counts[candidate] = counts.get(candidate, 0) + 1
    return {each for each, count in counts.items() if count >= _SETTLED} - _chosen(tried)


def _chosen(tried: Sequence[Round]) -> set[Candidate]:
    """The candidates that came first or were in force, also where the winner was corrected."""
    return {each for r in tried for each in (r.winner.candidate, r.candidate, r.previous)}


def returns_of(tried: Sequence[Round]) -> int:
    """How many changes went back to a value that had been in force and was left."""
    left: set[Candidate] = set()
    returns = 0
    for round_ in tried:
        if round_.changed:
            left.add(round_.previous)
            returns += round_.candidate in left
    return returns


def is_placebo(tried: Sequence[Round]) -> bool:
    return len({try_.candidate for round_ in tried for try_ in round_.tries}) == 1


def values_of(candidate: Candidate) -> str:
    return ", ".join(f"{name}={label(value)}" for name, value in candidate.items())
