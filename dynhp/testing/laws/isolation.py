"""Isolation: training changes neither a state handed out before nor a state handed in."""

from __future__ import annotations

from dynhp.records import Candidate
from dynhp.testing.difference import difference
from dynhp.testing.laws.probe import (
    Subject,
    apart,
    broken,
    can_be_copied,
    copy_of,
    corners,
    follow,
    fresh,
    fresh_at,
    starts,
    usable,
)
from dynhp.trainer import State

LAW = "isolation"
HANDED_OUT = "a state handed out by get_state changed while the trainer trained on"
HANDED_IN = "training wrote into a state that set_state was handed"


def check(subject: Subject) -> tuple[str, ...]:
    """Train on after handing out and after handing in, and look whether the state changed."""
    candidates = usable(subject, LAW, corners(subject.space))
    if not can_be_copied(fresh(subject).get_state()):
        return ("not judged: the state can be neither deep-copied nor pickled",)
    _handed_out(subject, candidates[-1])
    for state, candidate in starts(subject, candidates):
        _handed_in(subject, state, candidate)
    return ()


def _handed_out(subject: Subject, candidate: Candidate) -> None:
    trainer = fresh(subject)
    trainer.train_k(1, candidate)
    state = trainer.get_state()
    before = copy_of(state)
    follow(trainer, candidate, subject.epochs)
    _unchanged(subject, candidate, before, state, HANDED_OUT, "get_state")


def _handed_in(subject: Subject, origin: State, candidate: Candidate) -> None:
    state, before = copy_of(origin), copy_of(origin)
    trainer = fresh(subject)
    trainer.set_state(state)
    follow(trainer, candidate, subject.epochs)
    _unchanged(subject, candidate, before, state, HANDED_IN, "set_state")


def _unchanged(
    subject: Subject, candidate: Candidate, before: State, after: State, seen: str, method: str
) -> None:
    place = difference(before, after) or _by_behaviour(subject, candidate, before, after)
    if place is not None:
        raise broken(
            LAW,
            f"{seen}: {place}",
            f"{method} passes on the trainer's own arrays, tensors or lists instead of copies; "
            "copy.deepcopy in it always helps",
        )


def _by_behaviour(
    subject: Subject, candidate: Candidate, before: State, after: State
) -> str | None:
    """For states that cannot be compared: do both lead the same way?"""
    one, control, other = (
        follow(fresh_at(subject, state), candidate, subject.epochs)
        for state in (before, before, after)
    )
    # Where not even the same state leads the same way, that is restore's to tell.
    return apart(one, other) if apart(one, control) is None else None
