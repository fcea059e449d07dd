"""Isolation: training changes neither a state handed out before nor a state handed in."""

from __future__ import annotations

from dynhp.records import Candidate
from dynhp.selfcheck.difference import difference
from dynhp.testing.laws.experiments import (
    Subject,
    can_be_copied,
    copy_of,
    float_arrays,
    follow,
    line_difference,
    refuse,
)
from dynhp.trainer import State

LAW = "isolation"
HANDED_OUT = "a state handed out by get_state changed while the trainer trained on"
HANDED_IN = "training wrote into a state that set_state was handed"


def check(subject: Subject) -> tuple[str, ...]:
    """Train on after handing out and after handing in, and look whether the state changed."""
    candidates = subject.candidates(LAW)
    if not can_be_copied(subject.plain(LAW).states[0]):
        return ("not judged: the state can be neither deep-copied nor pickled",)
    _trainers_are_apart(subject, candidates[0])
    _handed_out(subject, candidates[-1])
    for candidate in candidates:
        _handed_in(subject, candidate)
    return ()


def _trainers_are_apart(subject: Subject, candidate: Candidate) -> None:
    first = subject.fresh()
    before = float_arrays(copy_of(first.get_state()))
    subject.fresh().train_k(1, candidate)
    refuse(
        LAW,
        difference(before, float_arrays(first.get_state())),
        "training one trainer changed another one that make() had built",
        "they share a model, or arrays that belong to the class or to a default argument",
        "build the model and all arrays anew in __init__ or in make",
    )


def _handed_out(subject: Subject, candidate: Candidate) -> None:
    plain = subject.plain(LAW)
    trainer = subject.fresh_at(plain.states[0])
    trainer.train_k(1, plain.candidate)
    trainer.metrics()  # as the plain line does
    state = trainer.get_state()
    before = copy_of(state)
    trainer.train_k(subject.window, candidate)
    trainer.set_state(copy_of(plain.states[3]))  # which may write as well
    trainer.train_k(1, plain.candidate)
    _unchanged(subject, plain.candidate, before, state, HANDED_OUT, "get_state")


def _handed_in(subject: Subject, candidate: Candidate) -> None:
    origin = subject.plain(LAW).states[1]
    state, before = copy_of(origin), copy_of(origin)
    trainer = subject.fresh()
    trainer.set_state(state)
    follow(trainer, candidate, subject.window)
    _unchanged(subject, candidate, before, state, HANDED_IN, "set_state")


def _unchanged(
    subject: Subject, candidate: Candidate, before: State, after: State, seen: str, method: str
) -> None:
    refuse(
        LAW,
        difference(before, after) or _by_behaviour(subject, candidate, after),
        seen,
        f"{method} passes on the trainer's own arrays, tensors or lists instead of copies",
        f"copy them in {method}; copy.deepcopy always helps",
    )


def _by_behaviour(subject: Subject, candidate: Candidate, after: State) -> str | None:
    """For states that cannot be compared: does training from it still give the same?"""
    # If even the same state gives two results, restore reports that.
    if not subject.repeatable() or candidate != subject.plain(LAW).candidate:
        return None
    return line_difference(subject.line(1, candidate), subject.follow(after, candidate))
