"""Composition: ``train_k(a)`` then ``train_k(b)`` is ``train_k(a+b)``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dynhp.records import Candidate
from dynhp.testing.laws.probe import Subject, Trace, look, refuse, trace_difference
from dynhp.trainer import State

LAW = "composition"
CAUSE = (
    "train_k makes something new in each call (an optimiser, a shuffled loader, a schedule over "
    "its k epochs), or a metric averages over the epochs of a call"
)


def check(subject: Subject) -> tuple[str, ...]:
    """Train the same epochs in one call and in several."""
    epochs = subject.epochs + 1  # at least two, so that they can be split
    for state, candidate in subject.starts(subject.candidates(LAW)):
        whole = _trained(subject, state, candidate, [epochs])
        if trace_difference(whole, _trained(subject, state, candidate, [epochs])):
            return ("not judged: the same call gives another result each time, see restore",)
        for parts in _splits(epochs):
            place = trace_difference(whole, _trained(subject, state, candidate, parts))
            calls = ", ".join(f"train_k({k})" for k in parts)
            refuse(LAW, place, f"train_k({epochs}) and {calls} differ", CAUSE)
    return ()


def _splits(epochs: int) -> Iterator[list[int]]:
    yield [1] * epochs
    if epochs > 2:
        yield [1, epochs - 1]


def _trained(subject: Subject, state: State, candidate: Candidate, parts: Sequence[int]) -> Trace:
    trainer = subject.fresh_at(state)
    for k in parts:
        trainer.train_k(k, candidate)
    return look(trainer, candidate, 1)
