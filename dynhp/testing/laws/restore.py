"""Restore: the same state, value and k give the same state and metrics, in any trainer."""

from __future__ import annotations

from dynhp.records import Candidate
from dynhp.testing.laws.other_process import OtherProcessFailed, follow_in_other_process
from dynhp.testing.laws.probe import (
    Subject,
    Trace,
    broken,
    copy_of,
    follow,
    refuse,
    trace_difference,
)
from dynhp.trainer import Reseeds, State

LAW = "restore"


def check(subject: Subject) -> tuple[str, ...]:
    """Set back again and again, in the same trainer, a new one, and one in another process."""
    candidates = subject.candidates(LAW)
    starts = subject.starts(candidates)
    traces = [_again_and_again(subject, state, candidate) for state, candidate in starts]
    for candidate in candidates:
        _never_left(subject, candidate)
    if isinstance(subject.fresh(), Reseeds):
        _reseeded(subject, *starts[-1])
    return _in_another_process(subject, starts, traces)


def _again_and_again(subject: Subject, state: State, candidate: Candidate) -> Trace:
    trainer = subject.fresh_at(state)
    first = follow(trainer, candidate, subject.epochs)
    for _ in range(2):
        trainer.set_state(copy_of(state))
        _same(
            first,
            follow(trainer, candidate, subject.epochs),
            f"set back to the same state and trained with {dict(candidate)!r} again, the trainer "
            "gave another result",
            "something that decides the future is not in the state (a random generator, the "
            "optimiser's momentum, a counter, the data's position), or set_state does not set it",
        )
    _same(
        first,
        subject.follow(state, candidate),
        f"a new trainer set to the same state and trained with {dict(candidate)!r} gave another "
        "result",
        "something that decides the future is made when the trainer is made and is not in the "
        "state, or a global random generator is used",
    )
    return first


def _never_left(subject: Subject, candidate: Candidate) -> None:
    """Going back to a state is the same as never having left it: a try leaves no trace."""
    trainer = subject.fresh()
    trainer.train_k(2, candidate)
    state = copy_of(trainer.get_state())
    _same(
        follow(trainer, candidate, subject.epochs),
        subject.follow(state, candidate),
        f"training on with {dict(candidate)!r} and training on from the state handed out just "
        "before differ",
        "set_state starts something again instead of taking it from the state (the optimiser, a "
        "schedule, an iterator), or get_state leaves it out",
    )


def _reseeded(subject: Subject, state: State, candidate: Candidate) -> None:
    def seeded(seed: int) -> Trace:
        trainer = subject.fresh_at(state)
        assert isinstance(trainer, Reseeds)
        trainer.reseed(seed)
        return follow(trainer, candidate, subject.epochs)

    first = seeded(1)
    _same(
        first,
        seeded(1),
        "the same state after the same reseed(1) gave another result",
        "reseed forgets one of the generators that training uses",
    )
    if all(trace_difference(first, seeded(seed)) is None for seed in (2, 3)):
        raise broken(
            LAW,
            "reseed(1), reseed(2) and reseed(3) led to the same state and the same metrics",
            "reseed seeds another generator than the one that training uses; leave reseed out "
            "where nothing is random",
        )


def _in_another_process(
    subject: Subject, starts: list[tuple[State, Candidate]], traces: list[Trace]
) -> tuple[str, ...]:
    if not subject.another_process:
        return ("not tried in another process: not asked for",)
    try:
        answers = follow_in_other_process(subject, starts)
    except OtherProcessFailed as reason:
        return (f"not tried in another process: {reason}",)
    cause = (
        "something is kept in the process (a module's variable, hash() of a string, the process' "
        "number), or the other process uses another number of threads"
    )
    for here, there in zip(traces, answers, strict=True):
        if isinstance(there, str):
            raise broken(LAW, f"a new trainer in another process raised {there}", cause)
        _same(here, there, "a new trainer in another process gave another result", cause)
    return ()


def _same(expected: Trace, got: Trace, seen: str, cause: str) -> None:
    refuse(LAW, trace_difference(expected, got), seen, cause)
