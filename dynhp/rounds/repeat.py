"""The self-check of a round: one try is carried out again and must come to the same."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from dynhp.errors import NotRepeatable, ValueNotUsed, advise
from dynhp.records import Candidate, Metrics
from dynhp.rounds.jobs import Job, Outcome
from dynhp.rounds.settings import AdapterView
from dynhp.rounds.unused import (
    EndOfTry,
    UnusedAxes,
    all_alike,
    metrics_difference,
    unused_axes,
)
from dynhp.selfcheck.contents import shown
from dynhp.selfcheck.fingerprint import Fingerprint, fingerprint
from dynhp.selfcheck.watch import trainer_watch
from dynhp.trainer import State

__all__ = ["REPEATS", "Reference", "RepeatRun", "SelfCheck", "Watcher", "self_check"]

REPEATS = 2
"""How often a try is carried out again. After n tries a single repeat misses what comes again after
n of them, such as a flag that every try turns over; with one more, only what comes again after each
try is left, and that harms nothing."""

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


class Watcher(Protocol):
    """Looks at what the training code can reach besides the state, from a round's beginning on."""

    def first_try_ended(self) -> None:
        """Note where plain numbers and lists are now."""
        ...

    def back_at_origin(self) -> None:
        """All tries have ended, and the trainer is where it was when the round began."""
        ...

    def left_behind(self) -> list[str]:
        """After the repeat: what the tries changed outside the state and nobody put back."""
        ...

    def suspects(self) -> list[str]:
        """After a repeat that differed: what may be missing in the state, likely things first."""
        ...

    def hints(self) -> list[str]:
        """After an equal repeat: what went on outside the state all the same."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """The try that is carried out once more, and what it came to the first time."""

    job: Job
    series: tuple[Metrics, ...]
    state: Fingerprint


@dataclass(slots=True, eq=False, kw_only=True)
class SelfCheck:
    """What one round learns about itself while its tries run.

    The first try that succeeds is the reference. As long as all others come to exactly the same,
    although their values differ, nobody has used a value yet.
    """

    round: int
    tolerance: float
    common: bool  # whether all tries meet the same random numbers
    part_names: Sequence[str]  # of a state that is a sequence of parts
    watch: Watcher
    agree: Callable[[Any], Sequence[Any]] | None  # gathers what each of several ranks says
    gives_hints: bool  # to the author of a loop; a trainer may count what it likes
    first: int = 0  # the first round with tries
    reference: Reference | None = None
    alike: bool | None = None  # None: no two values to compare yet
    axes: UnusedAxes = field(default_factory=UnusedAxes)
    epochs: int = 0  # of the repeats

    def look_at(self, job: Job, outcome: Outcome) -> State:
        """Look at a try that has ended; its state is given back where it had to be taken out."""
        end = EndOfTry(outcome, self.tolerance)
        if not end.is_new:
            self.alike = False  # nothing to compare with, or a difference already
        elif self.reference is None:
            self.reference = Reference(job=job, series=outcome.series, state=end.look())
            self.watch.first_try_ended()
        elif self.alike is not False and self.common:
            self._compare_values(self.reference, job, end)
        if self.common and self._is_first and not self.tolerance:  # else whole states were held
            self.axes.add(job, end)
        return end.kept

    def _compare_values(self, first: Reference, job: Job, end: EndOfTry) -> None:
        if job.candidate != first.job.candidate:
            self.alike = self._difference(end.outcome, 0.0) is None and first.state.differs_only_by(
                end.look(), first.job.last_values, job.last_values
            )

    @property
    def _is_first(self) -> bool:  # later, training may be at its end, where no value matters
        return self.round == self.first

    def _fingerprint(self, state: State) -> Fingerprint:
        return fingerprint(state, tolerance=self.tolerance)

    def require_used(self, tried: int) -> None:
        """Refuse a first round that came to the same with different values; a hint on one axis."""
        message = None
        if self._is_first and self.alike and self.reference is not None:
            message = all_alike(tried, self.round, _listed(list(self.reference.job.candidate), 6))
        elif axes := [_listed([name]) for name in self.axes.names()]:
            advise(unused_axes(axes, self.round), about=("unused", *axes))
        if message := self._of_all_ranks(message):
            raise ValueNotUsed(message)

    def compare(self, outcome: Outcome) -> None:
        """Compare the repeat with the first time."""
        assert self.reference is not None
        self.epochs += outcome.epochs
        metrics = outcome.error or self._difference(outcome, self.tolerance)
        state = self.reference.state.differences(self._fingerprint(outcome.keep()))
        message = None
        if metrics is not None or state:
            message = self._message(self.reference, metrics, state, self._likely(outcome))
        elif left := self.watch.left_behind():
            guard = _OF_THE_MAIN_LINE if self.gives_hints and "best" in str(left).lower() else ""
            message = (
                f"the tries of round {self.round} changed something that training can reach but "
                f"that is not in the state: {_listed(left)}. The state was put back, this was not, "
                f"so each try began from where the last one had left it. {guard}{_WAYS_OUT}"
            )
        if message := self._of_all_ranks(message):
            raise NotRepeatable(message)
        if self.gives_hints and (hints := self.watch.hints()):
            advise(f"tries change things outside the state: {_listed(hints)}")

    def _of_all_ranks(self, message: str | None) -> str | None:
        """What is wrong on any rank: where one stopped alone, the others would wait for ever."""
        said = [message] if self.agree is None else self.agree(message)
        return next((each for each in said if each is not None), None)

    def _difference(self, outcome: Outcome, tolerance: float) -> str | None:
        assert self.reference is not None
        watched = self.reference.job.watch
        return metrics_difference(self.reference.series, outcome.series, watched, tolerance)

    def _likely(self, repeat: Outcome) -> str:
        """What may be missing in the state; who looks at another process sees nothing change."""
        if repeat.elsewhere:
            return _ELSEWHERE
        suspects = self.watch.suspects()
        return f" In reach: {_listed(suspects, 6)}." if suspects else ""

    def _message(
        self, reference: Reference, metrics: str | None, state: list[str], likely: str
    ) -> str:
        values = shown_values(reference.job.candidate)
        parts = list(dict.fromkeys(self._part(place) for place in state))
        metrics = metrics and metrics[:300]
        if state and metrics:
            what = f"{metrics}, and the state differs in {_listed(parts)}"
        elif state:
            what = f"the state differs in {_listed(parts)}"
        else:
            what = f"{metrics}, though the states agree: only what is outside can have changed"
        return (
            f"the first try of round {self.round} ({values}) was carried out again from the "
            f"same origin and did not come to the same: {what}. So something that decides training "
            f"is not in the state, and went on from try to try.{likely} {_WAYS_OUT}"
        )

    def _part(self, place: str) -> str:
        number = re.match(r"state\[(\d+)\]", place)
        if number is None or int(number[1]) >= len(self.part_names):
            return place
        return self.part_names[int(number[1])]


@dataclass(slots=True, eq=False)
class RepeatRun:
    """The repeat as a stage of one job, which drivers carry out like any other."""

    check: SelfCheck

    def jobs(self) -> list[Job]:
        """The job of the reference once more, which starts at the round's origin."""
        assert self.check.reference is not None
        return [replace(self.check.reference.job, repeat=True, keeps=False, hold=None)]

    def begun(self) -> list[int]:
        """Nothing: it starts at the origin."""
        return [0]

    def places(self) -> list[int | None]:
        """None: what it comes to is compared, and never kept."""
        return [None]

    def take_outcome(self, outcome: Outcome) -> None:
        """Compare."""
        self.check.compare(outcome)


def self_check(adapter: AdapterView, round_: int, *, first: int) -> SelfCheck:
    """The self-check of a round that is about to begin; the trainer is at its origin."""
    trainer: Any = adapter.trainer
    watches = hasattr(trainer, "watch")
    return SelfCheck(
        round=round_,
        first=first,
        tolerance=adapter.tolerance,
        common=adapter.randomness == "common",
        part_names=getattr(trainer, "part_names", ()),
        watch=trainer.watch(adapter.tolerance)
        if watches
        else trainer_watch(trainer, adapter.tolerance),
        agree=getattr(trainer, "agree", None),
        gives_hints=watches,
    )


def _listed(names: Sequence[str], most: int = 3) -> str:
    rest = len(names) - most
    listed = ", ".join(shown(name, _LONG, str) for name in names[:most])
    return listed + (f" and {rest} more" if rest > 0 else "")


def shown_values(candidate: Candidate) -> str:
    """The values of a try in a message."""
    values = ", ".join(f"{name}={value!r}" for name, value in candidate.items())
    return shown(values, _LONG, str)
