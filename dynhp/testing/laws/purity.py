"""Purity: looking changes nothing that follows, and metrics are finite-or-nan floats."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import Any

from dynhp.records import Candidate
from dynhp.selfcheck.contents import shown
from dynhp.selfcheck.difference import difference
from dynhp.testing.laws.experiments import (
    SEE_RESTORE,
    Subject,
    broken,
    line_difference,
    metrics_of,
    refuse,
    values_of,
)
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
        if not isinstance(name, str):
            raise broken(
                LAW,
                f"metrics() has the name {shown(name)}",
                "numbers or objects are the keys",
                "give every metric a name that is a string",
            )
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


def _is_float(name: str, value: Any) -> None:
    if type(value) is not float:
        raise broken(
            LAW,
            f"metric {name!r} is {shown(value)}, a {type(value).__qualname__}",
            "a number of numpy or of a tensor library, a whole number or a text was passed on",
            "wrap it in float(...)",
        )


def _looking_is_harmless(subject: Subject, state: State, candidate: Candidate) -> None:
    epochs = [1] * subject.window
    unseen = subject.trained(state, candidate, epochs)
    methods = ["metrics", "get_state"]
    if subject.offers(ReadsBack):
        methods.append("hyperparameters")
    for method in methods:

        def look_twice(trainer: Trainer, method: str = method) -> None:
            getattr(trainer, method)()
            getattr(trainer, method)()

        place = line_difference(unseen, subject.trained(state, candidate, epochs, look_twice))
        refuse(LAW, place, f"calling {method}() changed what followed", CAUSE, WAY_OUT)


def _waiting_is_harmless(subject: Subject, state: State, candidate: Candidate) -> None:
    epochs = [1] * subject.window
    first = subject.trained(state, candidate, epochs)
    second = subject.trained(state, candidate, epochs, lambda trainer: time.sleep(WAIT))
    refuse(
        LAW,
        line_difference(first, second),
        "waiting for a moment after each epoch changed what followed",
        "the clock decides something, or train_k returns while a thread still trains",
        "count epochs instead of seconds, and wait for threads at the end of train_k",
    )
