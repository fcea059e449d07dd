"""Purity: looking changes nothing that follows, and metrics are finite-or-nan floats."""

from __future__ import annotations

import math
from collections.abc import Mapping

from dynhp.records import Candidate
from dynhp.testing.difference import difference
from dynhp.testing.laws.probe import Subject, Trace, broken, look, refuse, trace_difference
from dynhp.trainer import ReadsBack, State

LAW = "purity"
CAUSE = (
    "it draws random numbers, moves an iterator, leaves a model in evaluation mode or updates "
    "running averages; put back what it moves"
)


def check(subject: Subject) -> tuple[str, ...]:
    """Look often and look rarely: the training must give the same."""
    candidates = subject.candidates(LAW)
    for candidate in candidates:
        _metrics_are_floats(subject, candidate)
    for state, candidate in subject.starts(candidates):
        if not _looking_is_harmless(subject, state, candidate):
            return ("not judged: training gives another result each time, see restore",)
    return ()


def _metrics_are_floats(subject: Subject, candidate: Candidate) -> None:
    trainer = subject.fresh()
    trainer.train_k(1, candidate)
    metrics = trainer.metrics()
    if not isinstance(metrics, Mapping):
        raise broken(LAW, f"metrics() gave {metrics!r}", "it should give a dict of names to floats")
    for name, value in metrics.items():
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
    place = difference(dict(metrics), dict(trainer.metrics()), "metrics()")
    refuse(LAW, place, "two calls of metrics() in a row differ", CAUSE)


def _looking_is_harmless(subject: Subject, state: State, candidate: Candidate) -> bool:
    def trained(*methods: str) -> Trace:
        trainer = subject.fresh_at(state)
        for _ in range(subject.epochs):
            trainer.train_k(1, candidate)
            for method in methods:
                getattr(trainer, method)()
        return look(trainer, candidate, 1)

    unseen = trained()
    if trace_difference(unseen, trained()) is not None:
        return False
    methods = ["metrics", "get_state"]
    if isinstance(subject.fresh(), ReadsBack):
        methods.append("hyperparameters")
    for method in methods:
        place = trace_difference(unseen, trained(method, method))
        refuse(LAW, place, f"calling {method}() changed what followed", CAUSE)
    return True
