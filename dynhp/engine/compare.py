"""Tries that have ended, compared with each other: by their metrics, and by their states."""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any

from dynhp.engine.commands import Command, Job, Look, Tried
from dynhp.records import Candidate
from dynhp.records.units import EPOCHS, Unit, one_of
from dynhp.selfcheck.fingerprint import Fingerprint

__all__ = ["EndedTry", "UnusedAxes", "metrics_difference", "states_are_alike"]


@dataclass(slots=True, eq=False)
class EndedTry:
    """A try that has ended; its state is looked at once, and only on demand.

    It can be looked at only until the next try begins.
    """

    job: Job
    tried: Tried
    tolerance: float
    # None: not looked at yet, or no longer to be seen.
    state: Fingerprint | None = field(default=None, init=False)
    _looked: bool = field(default=False, init=False)

    def look(self) -> Generator[Command, Any, Fingerprint | None]:
        """A fingerprint of its state; None if the state can no longer be seen."""
        if not self._looked:
            self.state = yield Look(self.tried.end, self.tolerance)
            self._looked = True
        return self.state


def metrics_difference(
    first: EndedTry, second: Tried, tolerance: float = 0.0, unit: Unit = EPOCHS
) -> str | None:
    """The first metric that differs, in words. Metrics that are not watched may be times."""
    before, after = first.tried.series, second.series
    if len(before) != len(after):
        return f"it was measured {len(before)} times and then {len(after)} times"
    for epoch, (here, there) in enumerate(zip(before, after, strict=True), start=1):
        for name in first.job.watch or here:
            value, other = here[name], there.get(name, math.nan)
            close = math.isclose(value, other, rel_tol=tolerance, abs_tol=tolerance)
            if not close and not (math.isnan(value) and math.isnan(other)):
                number = first.tried.reported[epoch - 1] if first.tried.reported else epoch
                return f"{name} was {value!r} and then {other!r} after {one_of(unit)} {number}"
    return None


def states_are_alike(first: EndedTry, second: EndedTry) -> bool:
    """Whether both states were seen and are the same, but for the values that are set in them."""
    if first.state is None or second.state is None:
        return False
    return first.state.differs_only_by(second.state, first.job.last_values, second.job.last_values)


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
    _lines: dict[tuple[str, Candidate], EndedTry] = field(default_factory=dict)

    def add(self, this: EndedTry) -> Generator[Command, Any, None]:
        """Take in a try that has ended."""
        candidate = this.job.candidate
        lines = [
            (axis, candidate.but({axis: None}))  # the same for all that differ only in axis
            for axis in candidate
            if axis not in self._used
        ]
        for line in lines:
            before = self._lines.get(line)
            if before is not None and before.job.candidate != candidate:
                yield from self._compare_pair(line[0], before, this)
        if this.tried.error is None and self._suspected - self._used:
            yield from this.look()
        for line in lines:
            if line not in self._lines or self._lines[line].state is None:
                self._lines[line] = this

    def _compare_pair(
        self, axis: str, before: EndedTry, this: EndedTry
    ) -> Generator[Command, Any, None]:
        if before.tried.error != this.tried.error or metrics_difference(before, this.tried):
            self._used.add(axis)
        elif this.tried.error is None:
            self._suspected.add(axis)
            if before.state is None or (yield from this.look()) is None:
                return
            if states_are_alike(before, this):
                self._equal.setdefault(axis)
            else:
                self._used.add(axis)

    def unused(self) -> list[str]:
        """The axes along which all tries were equal."""
        return [axis for axis in self._equal if axis not in self._used]
