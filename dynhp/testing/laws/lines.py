"""Lines: what can be seen of a trainer from one state on, and where two of them differ."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from dynhp.records import Candidate, Metrics
from dynhp.selfcheck.contents import numbers, shown
from dynhp.testing.difference import difference
from dynhp.trainer import State, Trainer

LONGEST = 300
"""So many characters of an exception are shown at most."""


@dataclass(frozen=True, slots=True)
class Line:
    """The metrics after each epoch, the state after the first and the state after the last."""

    series: tuple[Metrics, ...]
    early: State
    state: State


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


def seen_now(trainer: Trainer) -> Line:
    """The metrics and the state of this moment, as a line.

    Metrics come first, always: they may leave a model in evaluation mode, and where the next epoch
    puts it back into training mode no harm is done.
    """
    metrics = metrics_of(trainer)
    state = copy_of(trainer.get_state())
    return Line((metrics,), state, state)


def metrics_of(trainer: Trainer) -> Metrics:
    """A copy of the metrics; where they are no mapping, the law of purity says so."""
    metrics: Any = trainer.metrics()
    return dict(metrics) if isinstance(metrics, Mapping) else {"": metrics}


def line_difference(a: Line, b: Line) -> str | None:
    """Where two lines of the same length differ: in the last state, in the metrics, or in both."""
    return different(a.state, b.state, a.series, b.series)


def different(
    state: State, other: State, series: tuple[Metrics, ...], others: tuple[Metrics, ...]
) -> str | None:
    """Where two states and the metrics on the way to them differ: at most two places."""
    names = [f"metrics() after epoch {i + 1}" for i in range(len(series))]
    pairs = zip(series, others, names, strict=True)
    places = [difference(state, other), *(difference(x, y, name) for x, y, name in pairs)]
    return "; ".join([place for place in places if place is not None][:2]) or None


def float_arrays(state: Any) -> dict[str, Any]:
    """The arrays of floats in a state, by their paths; those of generators hold whole numbers."""
    arrays: dict[str, Any] = {}
    met: set[int] = set()
    rest = [("", state)]
    while rest:
        path, value = rest.pop()
        items: Iterable[tuple[Any, Any]] = ()
        if isinstance(value, Mapping):
            # Keys by their place: they may be hashed by identity, and others may be long.
            items = enumerate(value.values())
        elif isinstance(value, list | tuple):
            items = enumerate(value)
        if id(value) not in met:
            rest += [(f"{path}[{key}]", item) for key, item in items]
            met.add(id(value))
        array = numbers(value)
        if array is not None and array.dtype.kind == "f" and array.size > 1:
            arrays[path] = array
    return arrays


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
    text = shown(error, LONGEST, str)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
