"""The experiments that all laws are made of: take a trainer somewhere, and look at it."""

from __future__ import annotations

import copy
import pickle
import random
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from dynhp.errors import LawBroken, SettingsError
from dynhp.records import Candidate, Metrics
from dynhp.spaces import Space
from dynhp.testing.difference import difference
from dynhp.trainer import State, Trainer, require_trainer

Make: TypeAlias = Callable[[], Trainer]
"""Builds a fresh trainer each time it is called."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What is under examination, and how far the examination goes."""

    make: Make
    space: Space
    epochs: int
    another_process: bool
    # Which candidates fail, and how: filled on the way, so that each is found out only once.
    failures: dict[Candidate, str] = field(default_factory=dict, compare=False)


@dataclass(frozen=True, slots=True)
class Trace:
    """What can be seen of a trainer: its state, its metrics now and over the epochs after."""

    state: State
    series: tuple[Metrics, ...]


def broken(law: str, seen: str, cause: str) -> LawBroken:
    """The error that all laws raise: which law, what was seen, what usually causes it."""
    return LawBroken(f"{law}: {seen}. Usual cause: {cause}")


def fresh(subject: Subject) -> Trainer:
    """A new trainer."""
    trainer = subject.make()
    require_trainer(trainer)
    return trainer


def fresh_at(subject: Subject, state: State) -> Trainer:
    """A new trainer that was handed a copy of this state."""
    trainer = fresh(subject)
    trainer.set_state(copy_of(state))
    return trainer


def look(trainer: Trainer, candidate: Candidate, epochs: int) -> Trace:
    """Look at a trainer now, and at its metrics over the next epochs."""
    series = [dict(trainer.metrics())]
    state = copy_of(trainer.get_state())
    for _ in range(epochs):
        trainer.train_k(1, candidate)
        series.append(dict(trainer.metrics()))
    return Trace(state, tuple(series))


def follow(trainer: Trainer, candidate: Candidate, epochs: int) -> Trace:
    """Train as many epochs as that, one at a time, and look after the first and on."""
    trainer.train_k(1, candidate)
    return look(trainer, candidate, epochs)


def apart(a: Trace, b: Trace) -> str | None:
    """Where two traces differ: in the state, in the metrics, or in both."""
    found = [difference(a.state, b.state)]
    names = ["metrics()"] + [f"metrics() {i} epochs on" for i in range(1, len(a.series))]
    pairs = zip(a.series, b.series, names, strict=True)
    found += [difference(x, y, name) for x, y, name in pairs]
    told = [one for one in found if one is not None]
    return "; ".join(told[:2]) or None


def copy_of(state: State) -> State:
    """A copy that shares nothing with the state, or the state itself where it allows none."""
    return _copied(state)[0]


def can_be_copied(state: State) -> bool:
    """Whether ``copy_of`` gives a copy."""
    return _copied(state)[1]


def _copied(state: State) -> tuple[State, bool]:
    for way in (copy.deepcopy, _pickled):
        try:
            return way(state), True
        except Exception:  # open files, compiled modules: behaviour alone must tell
            continue
    return state, False


def _pickled(state: State) -> State:
    return pickle.loads(pickle.dumps(state))


def corners(space: Space) -> list[Candidate]:
    """The middle of a space and its two ends: enough values to be different, few to be quick."""
    ends = [Candidate({name: axis.grid()[i] for name, axis in space.items()}) for i in (0, -1)]
    return distinct([space.start(), *ends])


def distinct(candidates: Iterable[Candidate]) -> list[Candidate]:
    """The candidates without repeats."""
    return list(dict.fromkeys(candidates))


def usable(subject: Subject, law: str, candidates: Sequence[Candidate]) -> list[Candidate]:
    """Those that can be trained at all: a value may fail, as tries may, but not all of them."""
    for candidate in candidates:
        if candidate not in subject.failures:
            subject.failures[candidate] = _failure(subject, candidate)
    errors = {candidate: subject.failures[candidate] for candidate in candidates}
    if all(errors.values()):
        first = candidates[0]
        raise broken(
            law,
            f"none of {len(errors)} candidates could be trained; {dict(first)!r} raised "
            f"{errors[first]}",
            "the space has names or values that are not this trainer's",
        )
    return [candidate for candidate, error in errors.items() if not error]


def _failure(subject: Subject, candidate: Candidate) -> str:
    trainer = fresh(subject)
    try:
        for _ in range(2 * subject.epochs + 2):  # as far as any law goes
            trainer.train_k(1, candidate)
    except Exception as error:
        return told(error)
    return ""


def origins(subject: Subject, candidate: Candidate) -> list[State]:
    """States to start from: before any training, and after some."""
    trainer = fresh(subject)
    states = [copy_of(trainer.get_state())]
    trainer.train_k(2, candidate)
    return [*states, copy_of(trainer.get_state())]


def starts(subject: Subject, candidates: Sequence[Candidate]) -> list[tuple[State, Candidate]]:
    """Where to start and with what: untrained with the first candidate, trained with each."""
    untrained, trained = origins(subject, candidates[0])
    return [(untrained, candidates[0]), *((trained, candidate) for candidate in candidates)]


def told(error: BaseException) -> str:
    """An exception on one line."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


@contextmanager
def generators_put_back() -> Iterator[None]:
    """Leave the global generators of Python, numpy and torch as they were found."""
    python, legacy = random.getstate(), np.random.get_state()
    torch = sys.modules.get("torch")  # never imported for this: who has not cannot have used it
    seeds = torch.get_rng_state() if torch is not None else None
    try:
        yield
    finally:
        random.setstate(python)
        np.random.set_state(legacy)
        if torch is not None:
            torch.set_rng_state(seeds)


def require_subject(make: Any, space: Any, *, epochs: Any, another_process: bool) -> Subject:
    """Refuse what cannot be examined."""
    if not callable(make):
        raise SettingsError(
            f"make must be a function that builds a fresh trainer, got {make!r}; "
            "write lambda: MyTrainer(...)"
        )
    if not isinstance(epochs, int) or isinstance(epochs, bool) or epochs < 1:
        raise SettingsError(f"epochs must be a whole number above 0, got {epochs!r}")
    space = space if isinstance(space, Space) else Space(space)
    return Subject(make=make, space=space, epochs=epochs, another_process=another_process)
