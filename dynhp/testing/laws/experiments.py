"""The trainers under examination, and the experiments that the laws share."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias, TypeVar

import numpy as np

from dynhp._checks import require_count
from dynhp.errors import LawBroken, SettingsError
from dynhp.frameworks import loaded_integrations
from dynhp.loops.parts import Parts, global_generators
from dynhp.records import Candidate, Metrics, Value
from dynhp.selfcheck.contents import shown
from dynhp.selfcheck.difference import difference
from dynhp.selfcheck.fingerprint import fingerprint
from dynhp.spaces import Categorical, Space
from dynhp.trainer import State, Trainer, require_trainer

Make: TypeAlias = Callable[[], Trainer]
"""Builds a fresh trainer each time it is called."""

Made = TypeVar("Made")

ORIGINS: Final = (0, 1, 3)
"""The epochs that experiments start from: odd ones, because much goes in twos."""

VALUES: Final = 5
"""At most this many numbers of an axis are tried: its ends, its middle, and some between."""

SEE_RESTORE: Final = "not judged: training gives another result each time, see restore"


@dataclass(frozen=True, slots=True)
class Line:
    """What is seen of a trainer from one state on: metrics, the first state and the last one."""

    series: tuple[Metrics, ...]  # after each epoch
    early: State  # after the first epoch
    state: State  # after the last


@dataclass(frozen=True, slots=True)
class PlainLine:
    """A trainer that was never set back: its metrics after each epoch, and some of its states."""

    candidate: Candidate
    series: tuple[Metrics, ...]
    states: dict[int, State]


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """The trainers under examination, and how far the examination goes."""

    make: Make
    space: Space
    epochs: int
    another_process: bool
    # What was seen already, so that nothing is trained twice.
    memory: dict[Any, Any] = field(default_factory=dict, compare=False)

    @property
    def window(self) -> int:
        """How many epochs an experiment looks at."""
        return self.epochs + 1

    def fresh(self) -> Trainer:
        """A new trainer."""
        trainer = self.make()
        require_trainer(trainer)
        return trainer

    def fresh_at(self, state: State) -> Trainer:
        """A new trainer that was handed a copy of this state."""
        trainer = self.fresh()
        trainer.set_state(copy_of(state))
        return trainer

    def offers(self, power: type) -> bool:
        """Whether the trainers have one of the optional powers."""
        return self._remembered(power, lambda: isinstance(self.fresh(), power))

    def plain(self, law: str) -> PlainLine:
        """The line that was never set back, with the first candidate that can be trained."""
        return self._remembered("plain", lambda: self._plain(law))

    def line(self, epoch: int, candidate: Candidate) -> Line:
        """What a new trainer does from this epoch of the plain line on; remembered."""
        state = self.memory["plain"].states[epoch]
        return self._remembered((epoch, candidate), lambda: self.follow(state, candidate))

    def follow(self, state: State, candidate: Candidate) -> Line:
        """What a new trainer does from this state on."""
        return follow(self.fresh_at(state), candidate, self.window)

    def repeatable(self) -> bool:
        """Whether two new trainers do the same; if not, only restore can be judged."""
        first = self.line(1, self.memory["plain"].candidate)
        return line_difference(first, self.second_line()) is None

    def second_line(self) -> Line:
        """The same as ``line(1, …)`` with the first candidate, but by one more new trainer."""
        plain: PlainLine = self.memory["plain"]
        return self._remembered("second", lambda: self.follow(plain.states[1], plain.candidate))

    def trained(
        self,
        state: State,
        candidate: Candidate,
        calls: Sequence[int],
        after: Callable[[Trainer], object] = lambda trainer: None,
    ) -> Line:
        """Train a new trainer by these calls of ``train_k``, and look at it only in the end."""
        trainer = self.fresh_at(state)
        for k in calls:
            trainer.train_k(k, candidate)
            after(trainer)
        # Metrics come first, always: they may leave a model in evaluation mode, and if the next
        # epoch puts it back into training mode no harm is done.
        metrics = metrics_of(trainer)
        end = copy_of(trainer.get_state())
        return Line((metrics,), end, end)

    def candidates(self, law: str) -> list[Candidate]:
        """The middle of the space, its two ends and each category; none that cannot be trained."""
        usable = self.plain(law).candidate
        others = dict.fromkeys([*self._corners(), *self.categories(law)])
        return [usable, *(c for c in others if c != usable and not self.failure(c))]

    def categories(self, law: str) -> list[Candidate]:
        """One candidate for each other category: each may be a way of its own to train."""
        usable = self.plain(law).candidate
        axes = [name for name, axis in self.space.items() if isinstance(axis, Categorical)]
        each = [usable.but({name: value}) for name in axes for value in self.values(name)]
        return [c for c in each if c != usable and not self.failure(c)]

    def every(self, law: str) -> list[Candidate]:
        """The candidates, and those that differ from the first in one value."""
        first = self.candidates(law)[0]
        beside = [first.but({name: v}) for name in self.space for v in self.values(name)]
        rest = dict.fromkeys([*self._corners(), *beside])
        trained = [candidate for candidate in rest if not self.failure(candidate)]
        return [first, *(candidate for candidate in trained if candidate != first)]

    def failing(self) -> list[Candidate]:
        """The candidates that turned out to fail."""
        failures = [(key, error) for key, error in self.memory.items() if error]
        return [key[1] for key, _ in failures if isinstance(key, tuple) and key[0] == "failure"]

    def values(self, name: str) -> list[Value]:
        """All values of a small axis; of a large one its ends, its middle, and some between.

        Of categories, all: none lies between others.
        """
        grid = list(self.space[name].grid())
        if isinstance(self.space[name], Categorical):
            return grid
        few = min(VALUES, len(grid))
        places = [round(i * (len(grid) - 1) / max(1, few - 1)) for i in range(few)]
        return [grid[i] for i in places]

    def failure(self, candidate: Candidate) -> str:
        """The error of training with this candidate, or "": a value may fail, as tries may."""
        plain: PlainLine = self.memory["plain"]
        key = ("failure", candidate)
        if candidate == plain.candidate:
            return ""
        if key not in self.memory:
            trainer = self.fresh_at(plain.states[1])  # if this raises, it is not the value's fault
            try:
                self.memory[1, candidate] = follow(trainer, candidate, self.window)
                self.memory[key] = ""
            except Exception as error:
                self.memory[key] = error_line(error)
        return str(self.memory[key])

    def _corners(self) -> list[Candidate]:
        ends = [{name: axis.grid()[i] for name, axis in self.space.items()} for i in (0, -1)]
        return list(dict.fromkeys([self.space.start(), *map(Candidate, ends)]))

    def _plain(self, law: str) -> PlainLine:
        looks = {*ORIGINS, *(origin + self.window for origin in ORIGINS)}
        corners = self._corners()
        failures = []
        for candidate in corners:
            trainer = self.fresh()
            states = {0: copy_of(trainer.get_state())}
            series: list[Metrics] = []
            for epoch in range(1, max(looks) + 1):
                try:
                    trainer.train_k(1, candidate)
                except Exception as error:
                    failures.append(error_line(error))
                    break
                series.append(metrics_of(trainer))
                if epoch in looks:
                    states[epoch] = copy_of(trainer.get_state())
            else:
                return PlainLine(candidate, tuple(series), states)
        raise broken(
            law,
            f"none of {len(corners)} candidates could be trained; {values_of(corners[0])} raised "
            f"{failures[0]}",
            "the space has names or values that are not this trainer's",
            "name the hyperparameters as train_k does, and check the values of the space",
        )

    def _remembered(self, key: Any, make: Callable[[], Made]) -> Made:
        if key not in self.memory:
            self.memory[key] = make()
        return self.memory[key]  # type: ignore[no-any-return]


def require_subject(make: Any, space: Any, *, epochs: Any, another_process: bool) -> Subject:
    """Refuse what cannot be examined."""
    if not callable(make):
        raise SettingsError(
            f"make must be a function that builds a fresh trainer, got {shown(make)}; "
            "write lambda: MyTrainer(...)"
        )
    epochs = require_count("epochs", epochs)
    space = space if isinstance(space, Space) else Space(space)
    return Subject(make=make, space=space, epochs=epochs, another_process=another_process)


def follow(trainer: Trainer, candidate: Candidate, epochs: int) -> Line:
    """Train epoch by epoch and look."""
    series = []
    early = None
    for epoch in range(epochs):
        trainer.train_k(1, candidate)
        series.append(metrics_of(trainer))
        if not epoch:
            early = copy_of(trainer.get_state())
    return Line(tuple(series), early, copy_of(trainer.get_state()))


def metrics_of(trainer: Trainer) -> Metrics:
    """A copy of the metrics; if they are no mapping, the law of purity says so."""
    metrics: Any = trainer.metrics()
    return dict(metrics) if isinstance(metrics, Mapping) else {"": metrics}


def line_difference(a: Line, b: Line) -> str | None:
    """Where two lines of the same length differ: in the last state, in the metrics, or in both."""
    return different(a.state, b.state, a.series, b.series)


def different(
    state: State, other: State, series: tuple[Metrics, ...], others: tuple[Metrics, ...]
) -> str | None:
    """Where two states and the metrics on the way to them differ: at most two places."""
    places = [difference(state, other)]
    for epoch, (metrics, others_metrics) in enumerate(zip(series, others, strict=True), start=1):
        places.append(difference(metrics, others_metrics, f"metrics() after epoch {epoch}"))
    return "; ".join([place for place in places if place is not None][:2]) or None


def float_arrays(state: Any) -> dict[str, Any]:
    """The arrays of floats in a state, by their places; those of generators hold whole numbers."""
    # With a tolerance, a fingerprint holds such arrays themselves.
    places = fingerprint(state, name="", tolerance=1.0).places
    return {
        place: array
        for place, array in places.items()
        if isinstance(array, np.ndarray) and array.dtype.kind == "f" and array.size > 1
    }


def copy_of(state: State) -> State:
    """A copy that shares nothing with the state, or the state itself if it allows none."""
    return _copied(state)[0]


def can_be_copied(state: State) -> bool:
    """Whether ``copy_of`` gives a copy."""
    return _copied(state)[1]


def _copied(state: State) -> tuple[State, bool]:
    def unpickled(state: State) -> State:
        return pickle.loads(pickle.dumps(state))

    for copied in (copy.deepcopy, unpickled):
        try:
            return copied(state), True
        except Exception:  # open files, compiled modules: only behaviour can be compared
            continue
    return state, False


@contextmanager
def generators_put_back() -> Iterator[None]:
    """Leave the global generators of Python, numpy and loaded frameworks as they were before."""
    generators = Parts(global_generators())
    before = generators.get_state()
    holds = [each.hold_generators for each in loaded_integrations()]
    put_back = [hold() for hold in holds if hold is not None]
    try:
        yield
    finally:
        generators.set_state(before)
        for put in put_back:
            put()


def broken(law: str, seen: str, cause: str, way_out: str) -> LawBroken:
    """The error that all laws raise: which law, what was seen, its usual cause, the way out."""
    return LawBroken(f"{law}: {seen}. Usual cause: {cause}. Way out: {way_out}")


def refuse(law: str, place: str | None, seen: str, cause: str, way_out: str) -> None:
    """Raise the error of a law if there is a difference; ``place`` says which."""
    if place is not None:
        raise broken(law, f"{seen}: {place}", cause, way_out)


def values_of(candidate: Candidate) -> str:
    """The values of a candidate, in a message."""
    return shown(dict(candidate), 200)


def error_line(error: BaseException) -> str:
    """An exception on one line."""
    text = shown(error, 300, str)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
