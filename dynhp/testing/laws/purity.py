"""Purity: looking changes nothing that follows, and metrics are finite-or-nan floats."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from dynhp.records import Candidate
from dynhp.testing.difference import difference
from dynhp.testing.laws.probe import (
    Subject,
    Trace,
    apart,
    broken,
    corners,
    fresh,
    fresh_at,
    look,
    starts,
    usable,
)
from dynhp.trainer import ReadsBack, State, Trainer

LAW = "purity"
CAUSE = (
    "it draws random numbers, moves an iterator, leaves a model in evaluation mode or updates "
    "running averages; put back what it moves"
)


def check(subject: Subject) -> tuple[str, ...]:
    """Look often and look seldom: the training must come out the same."""
    candidates = usable(subject, LAW, corners(subject.space))
    for candidate in candidates:
        _metrics_are_floats(subject, candidate)
    for state, candidate in starts(subject, candidates):
        if not _looking_is_harmless(subject, state, candidate):
            return ("not judged: training gives another result each time, see restore",)
    return ()


def _metrics_are_floats(subject: Subject, candidate: Candidate) -> None:
    trainer = fresh(subject)
    trainer.train_k(1, candidate)
    found = trainer.metrics()
    if not isinstance(found, Mapping):
        raise broken(LAW, f"metrics() gave {found!r}", "it should give a dict of names to floats")
    for name, value in found.items():
        if not isinstance(name, str):
            raise broken(LAW, f"metrics() has the name {name!r}", "names of metrics are strings")
        if type(value) is not float:
            raise broken(
                LAW,
                f"metric {name!r} is {value!r}, a {type(value).__qualname__}",
                "a number of numpy or of a tensor library was passed on; wrap it in float(...)",
            )
        if math.isinf(value):
            raise broken(
                LAW,
                f"metric {name!r} is {value!r} after an epoch with {dict(candidate)!r}",
                "an overflow or a division by zero; give math.nan for what could not be measured",
            )
    again = difference(dict(found), dict(trainer.metrics()), "metrics()")
    if again is not None:
        raise broken(LAW, f"two calls of metrics() in a row differ: {again}", CAUSE)


def _looking_is_harmless(subject: Subject, state: State, candidate: Candidate) -> bool:
    def trained(peek: Callable[[Trainer], object]) -> Trace:
        trainer = fresh_at(subject, state)
        for _ in range(subject.epochs):
            trainer.train_k(1, candidate)
            peek(trainer)
            peek(trainer)
        return look(trainer, candidate, 1)

    unseen = trained(_nothing)
    if apart(unseen, trained(_nothing)) is not None:
        return False
    peeks = {"metrics": _metrics, "get_state": _get_state, "hyperparameters": _hyperparameters}
    for method, peek in peeks.items():
        place = apart(unseen, trained(peek))
        if place is not None:
            raise broken(LAW, f"calling {method}() changed what followed: {place}", CAUSE)
    return True


def _nothing(trainer: Trainer) -> None:
    pass


def _metrics(trainer: Trainer) -> object:
    return trainer.metrics()


def _get_state(trainer: Trainer) -> object:
    return trainer.get_state()


def _hyperparameters(trainer: Trainer) -> object:
    return trainer.hyperparameters() if isinstance(trainer, ReadsBack) else None
