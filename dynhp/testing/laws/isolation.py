"""Isolation: training changes neither a state handed out before nor a state handed in."""

from __future__ import annotations

from dynhp.records import Candidate
from dynhp.testing.difference import difference
from dynhp.testing.laws.probe import (
    Subject,
    can_be_copied,
    copy_of,
    follow,
    refuse,
    trace_difference,
)
from dynhp.trainer import State

LAW = "isolation"
HANDED_OUT = "a state handed out by get_state changed while the trainer trained on"
HANDED_IN = "training wrote into a state that set_state was handed"


def check(subject: Subject) -> tuple[str, ...]:
    """Train on after handing out and after handing in, and look whether the state changed."""
    candidates = subject.candidates(LAW)
    if not can_be_copied(subject.fresh().get_state()):
        return ("not judged: the state can be neither deep-copied nor pickled",)
    _handed_out(subject, candidates[-1])
    for state, candidate in subject.starts(candidates):
        _handed_in(subject, state, candidate)
    return ()


def _handed_out(subject: Subject, candidate: Candidate) -> None:
    trainer = subject.fresh()
    trainer.train_k(1, candidate)
    state = trainer.get_state()
    before = copy_of(state)
    follow(trainer, candidate, subject.epochs)
    _unchanged(subject, candidate, before, state, HANDED_OUT, "get_state")


def _handed_in(subject: Subject, origin: State, candidate: Candidate) -> None:
    state, before = copy_of(origin), copy_of(origin)
    trainer = subject.fresh()
    trainer.set_state(state)
    follow(trainer, candidate, subject.epochs)
    _unchanged(subject, candidate, before, state, HANDED_IN, "set_state")


def _unchanged(
    subject: Subject, candidate: Candidate, before: State, after: State, seen: str, method: str
) -> None:
    refuse(
        LAW,
        difference(before, after) or _by_behaviour(subject, candidate, before, after),
        seen,
        f"{method} passes on the trainer's own arrays, tensors or lists instead of copies; "
        "copy.deepcopy in it always helps",
    )


def _by_behaviour(
    subject: Subject, candidate: Candidate, before: State, after: State
) -> str | None:
    """For states that cannot be compared: does training from both give the same?"""
    first, control, second = (subject.follow(state, candidate) for state in (before, before, after))
    # If even the same state gives two results, restore reports that.
    return trace_difference(first, second) if trace_difference(first, control) is None else None
