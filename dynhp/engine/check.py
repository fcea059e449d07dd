"""The self-check of a round: one try is carried out again and must give the same result."""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from dynhp.engine.commands import (
    Agree,
    Announce,
    Attempt,
    Command,
    Job,
    Look,
    Reach,
    Reached,
    Restore,
    Tried,
)
from dynhp.engine.compare import EndedTry, UnusedAxes, metrics_difference, states_are_alike
from dynhp.engine.memory import StateRef
from dynhp.errors import NotRepeatable, ValueNotUsed, advise
from dynhp.records import Candidate
from dynhp.records.units import EPOCHS, Unit
from dynhp.selfcheck.contents import shown
from dynhp.selfcheck.fingerprint import Fingerprint

__all__ = ["REPEATS", "SelfCheck"]

REPEATS: Final = 2
"""How often a try is carried out again. One repeat after n tries misses whatever has a period of n
tries, such as a flag that every try flips. A second repeat leaves only what has a period of one
try, which does no harm."""

_CAUSES = (
    "Either nothing reads the value (bind it, or read it where it is used in training), or a try "
    "is too short for it to matter (a rate that a warm-up multiplies by 0, a value used only every "
    "few epochs): use a larger try_for"
)
_WAYS_OUT = (
    "Add what is missing to the state. Training that cannot be repeated to the bit declares "
    "tolerance=, and check='off' leaves this check out"
)
_OF_THE_MAIN_LINE = "What belongs to the main line alone stands under `if epoch.main:`. "
_ELSEWHERE = (
    " Tries ran in other processes, of which only metrics and states are seen: run once with "
    "Serial() to be told what it is."
)
_MOST_CAUSES = 6
_LONGEST_CAUSE = 400  # characters of what may be missing, with the way out in code
_LONG = 200  # characters of a name, or of the values of a try, in a message


@dataclass(slots=True, eq=False, kw_only=True)
class SelfCheck:
    """What one round learns about itself: ``begin``, ``look_at`` each try, then ``prove``.

    The first try that succeeds is the reference. After all tries it is carried out again, and
    whatever differs then is not in the state. While the other tries run they are compared with it
    too: as long as all of them give exactly the same result although their values differ, no value
    has been used yet.
    """

    round: int
    first: bool  # whether no round had tries before; later, no value may matter any more
    tolerance: float
    common: bool  # whether all tries meet the same random numbers
    unit: Unit = EPOCHS
    reference: EndedTry | None = None
    alike: bool | None = None  # None: no two values to compare yet
    axes: UnusedAxes = field(default_factory=UnusedAxes)
    epochs: int = 0  # of the repeats

    def begin(self) -> Generator[Command, Any, None]:
        """Note what the training code can reach before the first try."""
        yield Reach("begin", self.tolerance)

    def look_at(self, job: Job, tried: Tried) -> Generator[Command, Any, None]:
        """Look at a try that has ended."""
        this = EndedTry(job, tried, self.tolerance)
        if tried.error is not None:
            self.alike = False  # nothing to compare with
        elif self.reference is None:
            if (yield from this.look()) is None:
                self.alike = False
            else:
                self.reference = this
                yield Reach("first try")
        elif self.alike is not False and self.common:
            yield from self._compare_values(self.reference, this)
        if self.common and self.first and not self.tolerance:  # a tolerance would need whole states
            yield from self.axes.add(this)

    def _compare_values(self, reference: EndedTry, this: EndedTry) -> Generator[Command, Any, None]:
        """Find out whether the values of a try have made it differ from the reference."""
        if this.job.candidate == reference.job.candidate:
            return
        self.alike = metrics_difference(reference, this.tried) is None
        if self.alike:
            yield from this.look()
            self.alike = states_are_alike(reference, this)

    def prove(self, origin: StateRef, *, tried: int) -> Generator[Command, Any, None]:
        """Carry out the reference again and compare; whatever differs ends the run."""
        if self.reference is None:
            return
        yield from self._require_used(self.reference, tried)
        job = replace(self.reference.job, repeat=True, keeps=False, inner_rule=None, place=None)
        for _ in range(REPEATS):
            yield Restore(origin)
            yield Reach("back at origin")
            yield Announce((job,))
            repeated: Tried = yield Attempt(job)
            self.epochs += repeated.epochs
            yield from self._require_same(self.reference, repeated)

    def _require_used(self, reference: EndedTry, tried: int) -> Generator[Command, Any, None]:
        """Refuse a first round whose values made no difference; hint at an axis that made none."""
        message = None
        if self.first and self.alike:
            message = (
                f"all {tried} tries of round {self.round} gave exactly the same result, in metrics "
                f"and state, although their values of {_listed(list(reference.job.candidate), 6)} "
                f"differ. {_CAUSES}"
            )
        elif axes := [_listed([name]) for name in self.axes.unused()]:
            advise(
                f"all tries of round {self.round} that differ only in {' or '.join(axes)} gave "
                f"exactly the same result, in metrics and state. {_CAUSES}",
                about=("unused", *axes),
            )
        message = yield from _of_all_ranks(message)
        if message is not None:
            raise ValueNotUsed(message)

    def _require_same(self, reference: EndedTry, repeated: Tried) -> Generator[Command, Any, None]:
        """Refuse a repeat that differs, or one that was equal while something else changed."""
        assert reference.state is not None
        state: Fingerprint = yield Look(repeated.end, self.tolerance)
        difference = repeated.error or metrics_difference(
            reference, repeated, self.tolerance, self.unit
        )
        places = reference.state.differences(state)
        message = None
        if difference is not None or places:
            found = yield Reach("differs")
            message = self._not_the_same(reference.job, difference, places, repeated, found)
        else:
            found = yield Reach("equal")
            if found.left_behind:
                message = self._left_behind(found)
        message = yield from _of_all_ranks(message)
        if message is not None:
            raise NotRepeatable(message)
        if found.in_a_loop and found.hints:
            advise(f"tries change things outside the state: {_listed(found.hints)}")

    def _left_behind(self, found: Reached) -> str:
        # The usual mistake in a loop: the best epoch so far, noted in tries too.
        notes_best = found.in_a_loop and any("best" in name.lower() for name in found.left_behind)
        return (
            f"the tries of round {self.round} changed something that training can reach but that "
            f"is not in the state: {_listed(found.left_behind)}. The state was put back, this was "
            "not, so each try began from where the last one had left it. "
            f"{_OF_THE_MAIN_LINE if notes_best else ''}{_WAYS_OUT}"
        )

    def _not_the_same(
        self,
        job: Job,
        difference: str | None,
        places: Sequence[str],
        repeated: Tried,
        found: Reached,
    ) -> str:
        parts = list(dict.fromkeys(_part(place, found.part_names) for place in places))
        difference = difference and difference[:300]
        if parts and difference:
            what = f"{difference}, and the state differs in {_listed(parts)}"
        elif parts:
            what = f"the state differs in {_listed(parts)}"
        else:
            what = f"{difference}, though the states agree: only what is outside can have changed"
        return (
            f"the first try of round {self.round} ({shown_values(job.candidate)}) was "
            f"carried out again from the same origin and did not give the same result: {what}. So "
            "something that decides training is not in the state, and was carried over from try to "
            "try."
            f"{_likely(repeated, found)}{_WAYS_OUT}"
        )


def _of_all_ranks(message: str | None) -> Generator[Command, Any, str | None]:
    """What is wrong on any rank: if one stopped alone, the others would wait forever."""
    said: Sequence[str | None] = yield Agree(message)
    return next((each for each in said if each is not None), None)


def _likely(repeat: Tried, found: Reached) -> str:
    """What may be missing in the state; changes in another process cannot be seen from here."""
    if repeat.elsewhere:
        return f"{_ELSEWHERE} "
    if not found.suspects:
        return " "
    causes = [shown(each, _LONGEST_CAUSE, str) for each in found.suspects[:_MOST_CAUSES]]
    lines = [f"  {number}. {cause}" for number, cause in enumerate(causes, start=1)]
    if (more := len(found.suspects) - len(causes)) > 0:
        lines.append(f"  and {more} more")
    return "\n".join([" In reach, the likeliest first:", *lines, ""])


def _part(place: str, part_names: Sequence[str]) -> str:
    number = re.match(r"state\[(\d+)\]", place)
    if number is None or int(number[1]) >= len(part_names):
        return place
    return part_names[int(number[1])]


def _listed(names: Sequence[str], most: int = 3) -> str:
    rest = len(names) - most
    listed = ", ".join(shown(name, _LONG, str) for name in names[:most])
    return listed + (f" and {rest} more" if rest > 0 else "")


def shown_values(candidate: Candidate) -> str:
    """The values of a try in a message."""
    values = ", ".join(f"{name}={value!r}" for name, value in candidate.items())
    return shown(values, _LONG, str)
