"""Composition: ``train_k(a)`` then ``train_k(b)`` is ``train_k(a+b)``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dynhp.records import Candidate
from dynhp.testing.laws.probe import (
    Subject,
    Trace,
    apart,
    broken,
    corners,
    fresh_at,
    look,
    starts,
    usable,
)
from dynhp.trainer import State

LAW = "composition"


def check(subject: Subject) -> tuple[str, ...]:
    """Train the same epochs in one call and in several."""
    candidates = usable(subject, LAW, corners(subject.space))
    epochs = subject.epochs + 1  # at least two, to be parted
    for state, candidate in starts(subject, candidates):
        whole = _trained(subject, state, candidate, [epochs])
        if apart(whole, _trained(subject, state, candidate, [epochs])):
            return ("not judged: the same call gives another result each time, see restore",)
        for parts in _splits(epochs):
            _same(whole, _trained(subject, state, candidate, parts), parts)
    return ()


def _splits(epochs: int) -> Iterator[list[int]]:
    yield [1] * epochs
    if epochs > 2:
        yield [1, epochs - 1]


def _trained(subject: Subject, state: State, candidate: Candidate, parts: Sequence[int]) -> Trace:
    trainer = fresh_at(subject, state)
    for k in parts:
        trainer.train_k(k, candidate)
    return look(trainer, candidate, 1)


def _same(whole: Trace, parted: Trace, parts: Sequence[int]) -> None:
    place = apart(whole, parted)
    if place is not None:
        calls = ", ".join(f"train_k({k})" for k in parts)
        raise broken(
            LAW,
            f"train_k({sum(parts)}) and {calls} differ: {place}",
            "train_k makes something anew in each call (an optimiser, a shuffled loader, a "
            "schedule over its k epochs), or a metric averages over the epochs of a call",
        )
