"""The self-check of a round: one try is carried out again and must give the same result."""

from __future__ import annotations

import math
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
from dynhp.engine.memory import StateRef
from dynhp.errors import NotRepeatable, ValueNotUsed, advise
from dynhp.records import Candidate, Metrics
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
_LONG = 200  # characters of a name, or of the values of a try, in a message


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """The try that is carried out once more, and its result the first time."""

    job: Job
    series: tuple[Metrics, ...]
    state: Fingerprint


class EndOfTry:
    """The result of a try; its state is looked at once, and only on demand."""

    def __init__(self, tried: Tried, tolerance: float) -> None:
        self.tried = tried
        self.state: Fingerprint | None = None
        self._tolerance = tolerance
        self._looked = False

    def look(self) -> Generator[Command, Any, Fingerprint | None]:
        """A fingerprint of its state; None if the state can no longer be seen."""
        if not self._looked:
            self.state = yield Look(self.tried.end, self._tolerance)
            self._looked = True
        return self.state


@dataclass(frozen=True, slots=True)
class _Before:
    """An earlier try, without its state itself."""

    job: Job
    series: tuple[Metrics, ...]
    error: str | None
    state: Fingerprint | None


@dataclass(slots=True, eq=False)
class UnusedAxes:
    """Compares each try with an earlier one that differs from it in one value only.

    States are looked at only once the metrics of two such tries were equal, and then as long as
    the axis is suspected. So the first pair may be compared by its metrics alone; an axis counts as
    unused only if the states of another pair were equal too, and no pair has shown a difference.
    """

    _used: set[str] = field(default_factory=set)
    _suspected: set[str] = field(default_factory=set)  # some metrics were equal along this axis
    _equal: dict[str, None] = field(default_factory=dict)  # and so were states; in order
    _lines: dict[tuple[str, Candidate], _Before] = field(default_factory=dict)

    def add(self, job: Job, end: EndOfTry) -> Generator[Command, Any, None]:
        """Take in a try that has ended."""
        lines = [
            (axis, job.candidate.but({axis: None}))  # the same for all that differ only in axis
            for axis in job.candidate
            if axis not in self._used
        ]
        for line in lines:
            before = self._lines.get(line)
            if before is not None and before.job.candidate != job.candidate:
                yield from self._compare(line[0], before, job, end)
        if end.tried.error is None and self._suspected - self._used:
            yield from end.look()
        this = _Before(job, end.tried.series, end.tried.error, end.state)
        for line in lines:
            if line not in self._lines or self._lines[line].state is None:
                self._lines[line] = this

    def _compare(
        self, axis: str, before: _Before, job: Job, end: EndOfTry
    ) -> Generator[Command, Any, None]:
        tried = end.tried
        if before.error != tried.error or metrics_difference(
            before.series, tried.series, job.watch
        ):
            self._used.add(axis)
        elif tried.error is None:
            self._suspected.add(axis)
            if before.state is None:
                return
            state = yield from end.look()
            if state is None:
                return
            if before.state.differs_only_by(state, before.job.last_values, job.last_values):
                self._equal[axis] = None
            else:
                self._used.add(axis)

    def names(self) -> list[str]:
        """The axes along which all tries were equal."""
        return [axis for axis in self._equal if axis not in self._used]


def metrics_difference(
    first: Sequence[Metrics],
    second: Sequence[Metrics],
    watched: Sequence[str],
    tolerance: float = 0.0,
) -> str | None:
    """The first metric that differs, in words. Metrics that are not watched may be times."""
    if len(first) != len(second):
        return f"it was measured {len(first)} times and then {len(second)} times"
    for epoch, (here, there) in enumerate(zip(first, second, strict=True), start=1):
        for name in watched or here:
            value, other = here[name], there.get(name, math.nan)
            close = math.isclose(value, other, rel_tol=tolerance, abs_tol=tolerance)
            if not close and (value == value or other == other):
                return f"{name} was {value!r} and then {other!r} after epoch {epoch}"
    return None


@dataclass(slots=True, eq=False, kw_only=True)
class SelfCheck:
    """What one round learns about itself while its tries run.

    The first try that succeeds is the reference. As long as all others give exactly the same
    result although their values differ, no value has been used yet.
    """

    round: int
    first: bool  # whether no round had tries before; later, no value may matter any more
    tolerance: float
    common: bool  # whether all tries meet the same random numbers
    reference: Reference | None = None
    alike: bool | None = None  # None: no two values to compare yet
    axes: UnusedAxes = field(default_factory=UnusedAxes)
    epochs: int = 0  # of the repeats

    def begin(self) -> Generator[Command, Any, None]:
        """Note what the training code can reach before the first try."""
        yield Reach("begin", self.tolerance)

    def look_at(self, job: Job, tried: Tried) -> Generator[Command, Any, None]:
        """Look at a try that has ended."""
        end = EndOfTry(tried, self.tolerance)
        if tried.error is not None:
            self.alike = False  # nothing to compare with
        elif self.reference is None:
            state = yield from end.look()
            if state is None:
                self.alike = False
            else:
                self.reference = Reference(job=job, series=tried.series, state=state)
                yield Reach("first try")
        elif self.alike is not False and self.common:
            yield from self._compare_values(self.reference, job, end)
        if self.common and self.first and not self.tolerance:  # a tolerance would need whole states
            yield from self.axes.add(job, end)

    def _compare_values(
        self, first: Reference, job: Job, end: EndOfTry
    ) -> Generator[Command, Any, None]:
        if job.candidate == first.job.candidate:
            return
        self.alike = self._difference(first, end.tried, 0.0) is None
        if self.alike:
            state = yield from end.look()
            values = first.job.last_values, job.last_values
            self.alike = state is not None and first.state.differs_only_by(state, *values)

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
            yield from self._compare(self.reference, repeated)

    def _require_used(self, reference: Reference, tried: int) -> Generator[Command, Any, None]:
        """Refuse a first round whose values made no difference; hint at an axis that made none."""
        message = None
        if self.first and self.alike:
            message = (
                f"all {tried} tries of round {self.round} gave exactly the same result, in metrics "
                f"and state, although their values of {_listed(list(reference.job.candidate), 6)} "
                f"differ. {_CAUSES}"
            )
        elif axes := [_listed([name]) for name in self.axes.names()]:
            advise(
                f"all tries of round {self.round} that differ only in {' or '.join(axes)} gave "
                f"exactly the same result, in metrics and state. {_CAUSES}",
                about=("unused", *axes),
            )
        message = yield from _of_all_ranks(message)
        if message is not None:
            raise ValueNotUsed(message)

    def _compare(self, reference: Reference, repeated: Tried) -> Generator[Command, Any, None]:
        state: Fingerprint = yield Look(repeated.end, self.tolerance)
        metrics = repeated.error or self._difference(reference, repeated, self.tolerance)
        places = reference.state.differences(state)
        message = None
        found = Reached()
        if metrics is not None or places:
            found = yield Reach("differs")
            likely = _likely(repeated, found)
            message = self._not_the_same(reference, metrics, places, likely, found.part_names)
        else:
            found = yield Reach("equal")
            if found.left_behind:
                message = self._left_behind(found)
        message = yield from _of_all_ranks(message)
        if message is not None:
            raise NotRepeatable(message)
        if found.in_a_loop and found.hints:
            advise(f"tries change things outside the state: {_listed(found.hints)}")

    def _difference(self, reference: Reference, tried: Tried, tolerance: float) -> str | None:
        watched = reference.job.watch
        return metrics_difference(reference.series, tried.series, watched, tolerance)

    def _left_behind(self, found: Reached) -> str:
        best = found.in_a_loop and "best" in str(found.left_behind).lower()
        return (
            f"the tries of round {self.round} changed something that training can reach but that "
            f"is not in the state: {_listed(found.left_behind)}. The state was put back, this was "
            "not, so each try began from where the last one had left it. "
            f"{_OF_THE_MAIN_LINE if best else ''}{_WAYS_OUT}"
        )

    def _not_the_same(
        self,
        reference: Reference,
        metrics: str | None,
        places: Sequence[str],
        likely: str,
        part_names: Sequence[str],
    ) -> str:
        parts = list(dict.fromkeys(_part(place, part_names) for place in places))
        metrics = metrics and metrics[:300]
        if parts and metrics:
            what = f"{metrics}, and the state differs in {_listed(parts)}"
        elif parts:
            what = f"the state differs in {_listed(parts)}"
        else:
            what = f"{metrics}, though the states agree: only what is outside can have changed"
        return (
            f"the first try of round {self.round} ({shown_values(reference.job.candidate)}) was "
            f"carried out again from the same origin and did not give the same result: {what}. So "
            "something that decides training is not in the state, and was carried over from try to "
            "try."
            f"{likely} {_WAYS_OUT}"
        )


def _of_all_ranks(message: str | None) -> Generator[Command, Any, str | None]:
    """What is wrong on any rank: if one stopped alone, the others would wait forever."""
    said: Sequence[str | None] = yield Agree(message)
    return next((each for each in said if each is not None), None)


def _likely(repeat: Tried, found: Reached) -> str:
    """What may be missing in the state; changes in another process cannot be seen from here."""
    if repeat.elsewhere:
        return _ELSEWHERE
    return f" In reach: {_listed(found.suspects, 6)}." if found.suspects else ""


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
