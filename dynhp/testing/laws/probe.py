"""The experiments that all laws are made of: bring a trainer to a state, and look at it."""

from __future__ import annotations

import copy
import pickle
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from dynhp._checks import require_count
from dynhp.errors import LawBroken, SettingsError
from dynhp.loops.parts import Parts, global_generators
from dynhp.records import Candidate, Metrics
from dynhp.spaces import Space
from dynhp.testing.difference import difference
from dynhp.trainer import State, Trainer, require_trainer

Make: TypeAlias = Callable[[], Trainer]
"""Builds a fresh trainer each time it is called."""


@dataclass(frozen=True, slots=True)
class Trace:
    """What can be seen of a trainer: its state, its metrics now and over the epochs after."""

    state: State
    series: tuple[Metrics, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """The trainers under examination, and how far the examination goes."""

    make: Make
    space: Space
    epochs: int
    another_process: bool
    # The error of each candidate that was trained, or "": kept, so that none is trained twice.
    failures: dict[Candidate, str] = field(default_factory=dict, compare=False)

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

    def follow(self, state: State, candidate: Candidate) -> Trace:
        """What a new trainer does from this state on."""
        return follow(self.fresh_at(state), candidate, self.epochs)

    def candidates(self, law: str) -> list[Candidate]:
        """The middle of the space and its two ends, without those that cannot be trained.

        A value may fail, as tries may, but not all of them.
        """
        ends = [{name: axis.grid()[i] for name, axis in self.space.items()} for i in (0, -1)]
        candidates = list(dict.fromkeys([self.space.start(), *map(Candidate, ends)]))
        for candidate in candidates:
            if candidate not in self.failures:
                self.failures[candidate] = self._failure(candidate)
        usable = [candidate for candidate in candidates if not self.failures[candidate]]
        if not usable:
            raise broken(
                law,
                f"none of {len(candidates)} candidates could be trained; "
                f"{dict(candidates[0])!r} raised {self.failures[candidates[0]]}",
                "the space has names or values that are not this trainer's",
            )
        return usable

    def origins(self, candidate: Candidate) -> list[State]:
        """States to start from: before any training, and after some."""
        trainer = self.fresh()
        untrained = copy_of(trainer.get_state())
        trainer.train_k(2, candidate)
        return [untrained, copy_of(trainer.get_state())]

    def starts(self, candidates: Sequence[Candidate]) -> list[tuple[State, Candidate]]:
        """Where to start and with what: untrained with the first candidate, trained with each."""
        untrained, trained = self.origins(candidates[0])
        return [(untrained, candidates[0]), *((trained, candidate) for candidate in candidates)]

    def _failure(self, candidate: Candidate) -> str:
        trainer = self.fresh()
        try:
            for _ in range(2 * self.epochs + 2):  # as far as any law goes
                trainer.train_k(1, candidate)
        except Exception as error:
            return error_line(error)
        return ""


def look(trainer: Trainer, candidate: Candidate, epochs: int) -> Trace:
    """Look at a trainer now, and at its metrics over the next epochs."""
    series = [dict(trainer.metrics())]
    state = copy_of(trainer.get_state())
    for _ in range(epochs):
        trainer.train_k(1, candidate)
        series.append(dict(trainer.metrics()))
    return Trace(state, tuple(series))


def follow(trainer: Trainer, candidate: Candidate, epochs: int) -> Trace:
    """Train one epoch, then look at the trainer and at its metrics over the epochs after."""
    trainer.train_k(1, candidate)
    return look(trainer, candidate, epochs)


def trace_difference(a: Trace, b: Trace) -> str | None:
    """Where two traces differ: in the state, in the metrics, or in both."""
    names = ["metrics()"] + [f"metrics() {i} epochs on" for i in range(1, len(a.series))]
    pairs = zip(a.series, b.series, names, strict=True)
    places = [difference(a.state, b.state), *(difference(x, y, name) for x, y, name in pairs)]
    return "; ".join([place for place in places if place is not None][:2]) or None


def broken(law: str, seen: str, cause: str) -> LawBroken:
    """The error that all laws raise: which law, what was seen, what usually causes it."""
    return LawBroken(f"{law}: {seen}. Usual cause: {cause}")


def refuse(law: str, place: str | None, seen: str, cause: str) -> None:
    """Raise the error of a law where there is a difference; ``place`` says which."""
    if place is not None:
        raise broken(law, f"{seen}: {place}", cause)


def copy_of(state: State) -> State:
    """A copy that shares nothing with the state, or the state itself where it allows none."""
    return _copied(state)[0]


def can_be_copied(state: State) -> bool:
    """Whether ``copy_of`` gives a copy."""
    return _copied(state)[1]


def _copied(state: State) -> tuple[State, bool]:
    for copied in (copy.deepcopy, _unpickled):
        try:
            return copied(state), True
        except Exception:  # open files, compiled modules: only behaviour can be compared
            continue
    return state, False


def _unpickled(state: State) -> State:
    return pickle.loads(pickle.dumps(state))


def error_line(error: BaseException) -> str:
    """An exception on one line."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


@contextmanager
def generators_put_back() -> Iterator[None]:
    """Leave the global generators of Python, numpy and torch as they were before."""
    generators = Parts(global_generators())
    before = generators.get_state()
    torch = sys.modules.get("torch")  # where it is not imported, it was not used
    torch_state = torch.get_rng_state() if torch is not None else None
    try:
        yield
    finally:
        generators.set_state(before)
        if torch is not None:
            torch.set_rng_state(torch_state)


def require_subject(make: Any, space: Any, *, epochs: Any, another_process: bool) -> Subject:
    """Refuse what cannot be examined."""
    if not callable(make):
        raise SettingsError(
            f"make must be a function that builds a fresh trainer, got {make!r}; "
            "write lambda: MyTrainer(...)"
        )
    require_count("epochs", epochs)
    space = space if isinstance(space, Space) else Space(space)
    return Subject(make=make, space=space, epochs=epochs, another_process=another_process)
