"""Composition: ``train_k(a)`` then ``train_k(b)`` is ``train_k(a+b)``."""

from __future__ import annotations

from collections.abc import Sequence

from dynhp.records import Candidate
from dynhp.testing.laws.experiments import (
    SEE_RESTORE,
    Subject,
    line_difference,
    refuse,
    values_of,
)
from dynhp.trainer import ReadsBack, State

LAW = "composition"


def check(subject: Subject) -> tuple[str, ...]:
    """Train the same epochs in one call and in several."""
    candidates = subject.candidates(LAW)
    if not subject.repeatable():
        return (SEE_RESTORE,)
    states = subject.plain(LAW).states
    long, half = 2 * subject.epochs + 1, subject.epochs
    _compose(subject, states[0], candidates[0], [[1] * long, [half, long - half]])
    short = subject.window
    splits = [[1] * short, [1, short - 1]]
    if subject.offers(ReadsBack):  # a run calls it where a value is to be in force, and read back
        splits.append([0, short])
    for candidate in candidates:
        _compose(subject, states[1], candidate, splits)
    return ()


def _compose(
    subject: Subject, state: State, candidate: Candidate, splits: Sequence[Sequence[int]]
) -> None:
    epochs = sum(splits[0])
    whole = subject.trained(state, candidate, [epochs])
    for calls in splits:
        refuse(
            LAW,
            line_difference(whole, subject.trained(state, candidate, calls)),
            f"train_k({epochs}) and {', '.join(f'train_k({k})' for k in calls)} with "
            f"{values_of(candidate)} differ",
            "train_k makes something new in each call (an optimiser, a shuffled loader, a "
            "schedule over its k epochs), ignores k, also where it is 0, or a metric averages over "
            "the epochs of a call",
            "train k times what train_k(1) trains, and keep what lasts longer than a call in the "
            "state",
        )
