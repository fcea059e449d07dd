"""Purity: looking changes nothing that follows, and metrics are finite-or-nan floats."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from typing import Any

from dynhp.records import Candidate
from dynhp.selfcheck.contents import shown
from dynhp.testing.difference import difference
from dynhp.testing.laws.lines import Line, line_difference, metrics_of, seen_now
from dynhp.testing.laws.probe import SEE_RESTORE, Subject, broken, refuse, values_of
from dynhp.trainer import ReadsBack, State, Trainer

LAW = "purity"
CAUSE = (
    "it draws random numbers, moves an iterator, leaves a model in evaluation mode or updates "
    "running averages"
)
WAY_OUT = "put back what it moves, or let it work on copies"
WAIT = 0.05  # seconds: enough for a thread that was left behind


def check(subject: Subject) -> tuple[str, ...]:
    """Look often and look rarely: the training must give the same."""
    candidates = subject.candidates(LAW)
    for candidate in candidates:
        _metrics_are_floats(subject, candidate)
    if not subject.repeatable():
        return (SEE_RESTORE,)
    states = subject.plain(LAW).states
    _looking_is_harmless(subject, states[0], candidates[0])
    _looking_is_harmless(subject, states[1], candidates[-1])
    _waiting_is_harmless(subject, states[1], candidates[0])
    return ()


def _metrics_are_floats(subject: Subject, candidate: Candidate) -> None:
    trainer = subject.fresh()
    trainer.train_k(1, candidate)
    metrics = trainer.metrics()
    if not isinstance(metrics, Mapping):
        raise broken(
            LAW,
            f"metrics() gave {shown(metrics)}",
            "one number, or a list of them, was returned",
            "give a dict of names to floats",
        )
    for name, value in metrics.items():
        _is_named(name)
        _is_float(name, value)
        if math.isinf(value):
            raise broken(
                LAW,
                f"metric {name!r} is {value!r} after an epoch with {values_of(candidate)}",
                "an overflow or a division by zero",
                "give math.nan for what could not be measured",
            )
    place = difference(dict(metrics), metrics_of(trainer), "metrics()")
    refuse(LAW, place, "two calls of metrics() in a row differ", CAUSE, WAY_OUT)
    for later in subject.line(1, candidate).series:
        for name, value in later.items():
            _is_float(name, value)


def _is_named(name: object) -> None:
    if not isinstance(name, str):
        raise broken(
            LAW,
            f"metrics() has the name {shown(name)}",
            "numbers or objects are the keys",
            "give every metric a name that is a string",
        )


def _is_float(name: str, value: Any) -> None:
    if type(value) is not float:
        raise broken(
            LAW,
            f"metric {name!r} is {shown(value)}, a {type(value).__qualname__}",
            "a number of numpy or of a tensor library, a whole number or a text was passed on",
            "wrap it in float(...)",
        )


def _looking_is_harmless(subject: Subject, state: State, candidate: Candidate) -> None:
    unseen = _trained(subject, state, candidate, lambda trainer: None)
    methods = ["metrics", "get_state"]
    if subject.offers(ReadsBack):
        methods.append("hyperparameters")
    for method in methods:
        seen = _trained(subject, state, candidate, _calling_twice(method))
        place = line_difference(unseen, seen)
        refuse(LAW, place, f"calling {method}() changed what followed", CAUSE, WAY_OUT)


def _waiting_is_harmless(subject: Subject, state: State, candidate: Candidate) -> None:
    first = _trained(subject, state, candidate, lambda trainer: None)
    second = _trained(subject, state, candidate, lambda trainer: time.sleep(WAIT))
    refuse(
        LAW,
        line_difference(first, second),
        "waiting for a moment after each epoch changed what followed",
        "the clock decides something, or train_k returns while a thread still trains",
        "count epochs instead of seconds, and wait for threads at the end of train_k",
    )


def _calling_twice(method: str) -> Callable[[Trainer], None]:
    def call(trainer: Trainer) -> None:
        for _ in range(2):
            getattr(trainer, method)()

    return call


def _trained(
    subject: Subject, state: State, candidate: Candidate, after: Callable[[Trainer], None]
) -> Line:
    trainer = subject.fresh_at(state)
    for _ in range(subject.window):
        trainer.train_k(1, candidate)
        after(trainer)
    return seen_now(trainer)
