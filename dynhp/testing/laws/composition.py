"""Composition: ``train_k(a)`` then ``train_k(b)`` is ``train_k(a+b)``."""

from __future__ import annotations

from collections.abc import Sequence

from dynhp.records import Candidate
from dynhp.testing.laws.lines import Line, line_difference, seen_now
from dynhp.testing.laws.probe import SEE_RESTORE, Subject, refuse, values_of
from dynhp.trainer import State

LAW = "composition"
CAUSE = (
    "train_k makes something new in each call (an optimiser, a shuffled loader, a schedule over "
    "its k epochs), ignores k, or a metric averages over the epochs of a call"
)
WAY_OUT = (
    "train k times what train_k(1) trains, and keep what lasts longer than a call in the state"
)


def check(subject: Subject) -> tuple[str, ...]:
    """Train the same epochs in one call and in several."""
    candidates = subject.candidates(LAW)
    if not subject.repeatable():
        return (SEE_RESTORE,)
    states = subject.plain(LAW).states
    long = 2 * subject.epochs + 1
    _compose(
        subject,
        states[0],
        candidates[0],
        [[long], [1] * long, [subject.epochs, long - subject.epochs]],
    )
    short = subject.window
    for candidate in candidates:
        _compose(subject, states[1], candidate, [[short], [1] * short, [1, short - 1]])
    return ()


def _compose(
    subject: Subject, state: State, candidate: Candidate, splits: Sequence[Sequence[int]]
) -> None:
    whole, *lines = (_trained(subject, state, candidate, parts) for parts in splits)
    for parts, line in zip(splits[1:], lines, strict=True):
        refuse(
            LAW,
            line_difference(whole, line),
            f"train_k({splits[0][0]}) and {', '.join(f'train_k({k})' for k in parts)} with "
            f"{values_of(candidate)} differ",
            CAUSE,
            WAY_OUT,
        )


def _trained(subject: Subject, state: State, candidate: Candidate, parts: Sequence[int]) -> Line:
    """Nobody looks before the end: looking is the law of purity."""
    trainer = subject.fresh_at(state)
    for k in parts:
        trainer.train_k(k, candidate)
    return seen_now(trainer)
