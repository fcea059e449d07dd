"""Axes that nobody uses: tries that differ only there come to exactly the same."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from dynhp.records import Candidate, Metrics
from dynhp.rounds.jobs import UNKNOWN_STATE, Job, Outcome, kept_and_end
from dynhp.selfcheck.fingerprint import Fingerprint, fingerprint
from dynhp.trainer import State

__all__ = ["EndOfTry", "UnusedAxes", "all_alike", "metrics_difference", "unused_axes"]

_CAUSES = (
    "Either nothing reads the value (bind it, or read it where it is used in training), or a try "
    "is too short for it to matter (a rate that a warm-up multiplies by 0, a value used only every "
    "few epochs): use a larger try_for"
)


@dataclass(slots=True, eq=False)
class EndOfTry:
    """What came of a try; its state is taken out and looked at once, where somebody asks for it."""

    outcome: Outcome
    tolerance: float = 0.0
    kept: State = UNKNOWN_STATE  # what may be kept of it, where it was taken out
    state: Fingerprint | None = None

    @property
    def is_new(self) -> bool:
        """Whether the try succeeded, and in this process, so that its state is at hand."""
        return self.outcome.error is None and not self.outcome.replayed

    def look(self) -> Fingerprint:
        """Its state, as it is compared."""
        if self.state is None:
            self.kept, end = kept_and_end(self.outcome.keep())
            self.state = fingerprint(end, tolerance=self.tolerance)
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
    """Compares each try with an earlier one that differs from it in one value alone.

    States are looked at only where the metrics of two such tries are equal, and from then on as
    long as the axis is suspected. So a first pair may be compared by its metrics alone; an axis is
    unused only where the states of another pair were equal too, and no pair has shown a difference.
    """

    _used: set[str] = field(default_factory=set)
    _suspected: set[str] = field(default_factory=set)  # some metrics were equal along this axis
    _equal: dict[str, None] = field(default_factory=dict)  # and so were states; in order
    _lines: dict[tuple[str, Candidate], _Before] = field(default_factory=dict)

    def add(self, job: Job, end: EndOfTry) -> None:
        """Take in a try that has ended."""
        lines = [
            (axis, job.candidate.but({axis: None}))  # all that differ from it only there share it
            for axis in job.candidate
            if axis not in self._used
        ]
        for line in lines:
            before = self._lines.get(line)
            if before is not None and before.job.candidate != job.candidate:
                self._compare(line[0], before, job, end)
        state = end.look() if end.is_new and self._suspected - self._used else end.state
        this = _Before(job, end.outcome.series, end.outcome.error, state)
        for line in lines:
            if line not in self._lines or self._lines[line].state is None:
                self._lines[line] = this

    def _compare(self, axis: str, before: _Before, job: Job, end: EndOfTry) -> None:
        series, error = end.outcome.series, end.outcome.error
        if before.error != error or metrics_difference(before.series, series, job.watch):
            self._used.add(axis)
        elif end.is_new:
            self._suspected.add(axis)
            values = before.job.last_values, job.last_values
            if before.state is None:
                return
            if before.state.differs_only_by(end.look(), *values):
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
    """The first metric that differs, in words. Those nobody watches may be seconds or the like."""
    if len(first) != len(second):
        return f"it was measured {len(first)} times and then {len(second)} times"
    for epoch, (here, there) in enumerate(zip(first, second, strict=True), start=1):
        for name in watched or here:
            value, other = here[name], there.get(name, math.nan)
            close = math.isclose(value, other, rel_tol=tolerance, abs_tol=tolerance)
            if not close and (value == value or other == other):
                return f"{name} was {value!r} and then {other!r} after epoch {epoch}"
    return None


def all_alike(tried: int, round_: int, values: str) -> str:
    """What to say where nobody uses any value."""
    return (
        f"all {tried} tries of round {round_} came to exactly the same, in metrics and state, "
        f"although their values of {values} differ. {_CAUSES}"
    )


def unused_axes(names: Sequence[str], round_: int) -> str:
    """What to say where others are used, and these are not."""
    return (
        f"all tries of round {round_} that differ only in {' or '.join(names)} came to exactly the "
        f"same, in metrics and state. {_CAUSES}"
    )
