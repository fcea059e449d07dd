"""Restore: the same state, value and k give the same state and metrics, in any trainer."""

from __future__ import annotations

import math
from typing import Any

from dynhp.records import Candidate, Metrics
from dynhp.selfcheck.difference import difference
from dynhp.testing.laws.experiments import (
    ORIGINS,
    Line,
    PlainLine,
    Subject,
    broken,
    copy_of,
    different,
    float_arrays,
    follow,
    line_difference,
    metrics_of,
    refuse,
    values_of,
)
from dynhp.testing.laws.other_process import OtherProcessFailed, follow_in_other_process
from dynhp.trainer import Reseeds

LAW = "restore"
ALL_IN_STATE = "hand out all that decides the future in get_state, and set all of it in set_state"


def check(subject: Subject) -> tuple[str, ...]:
    """Set back again and again, in the same trainer, a new one, and one in another process."""
    candidates = subject.candidates(LAW)
    plain = subject.plain(LAW)
    _again_and_again(subject, plain)
    for candidate in subject.categories(LAW):
        _twice(subject, plain, candidate)
    _never_left(subject, plain)
    _metrics_belong_to_the_state(subject, plain, candidates[-1])
    if subject.offers(Reseeds):
        _reseeded(subject, plain)
    return _in_another_process(subject, plain, candidates)


def _again_and_again(subject: Subject, plain: PlainLine) -> None:
    """One trainer goes back and forth among the origins, which lie an odd number apart."""
    values = values_of(plain.candidate)
    trainer = subject.fresh()
    lines: dict[int, Line] = {}
    for epoch in (1, *reversed(ORIGINS)):
        trainer.set_state(copy_of(plain.states[epoch]))
        line = follow(trainer, plain.candidate, subject.window)
        _same_again(lines.setdefault(epoch, line), line, plain.candidate)
    new = [(subject.line(epoch, plain.candidate), line) for epoch, line in lines.items()]
    for expected, line in (*new, (subject.second_line(), lines[1])):
        _same(
            expected,
            line,
            f"a new trainer set to the same state and trained with {values} gave another result",
            "something that decides the future is made when the trainer is made and is not in the "
            "state, or a global random generator is used",
        )


def _twice(subject: Subject, plain: PlainLine, candidate: Candidate) -> None:
    """The same trainer is set back and trained with this candidate again."""
    trainer = subject.fresh()
    lines = []
    for _ in range(2):
        trainer.set_state(copy_of(plain.states[1]))
        lines.append(follow(trainer, candidate, subject.window))
    _same_again(lines[0], lines[1], candidate)


def _never_left(subject: Subject, plain: PlainLine) -> None:
    """Going back to a state is the same as never having left it: a try leaves no trace."""
    for epoch in ORIGINS:
        end = epoch + subject.window
        line = subject.line(epoch, plain.candidate)
        refuse(
            LAW,
            different(plain.states[end], line.state, plain.series[epoch:end], line.series),
            f"training on with {values_of(plain.candidate)} after epoch {epoch} and training on "
            "from the state handed out just then differ",
            "set_state starts something again instead of taking it from the state (the optimiser, "
            "a schedule, an iterator, gradients that are half accumulated), or get_state leaves "
            "it out",
            ALL_IN_STATE,
        )


def _metrics_belong_to_the_state(subject: Subject, plain: PlainLine, candidate: Candidate) -> None:
    """Metrics that a new trainer computes from a state alone must not be those of before."""
    fresh = [_measured(subject, plain, epoch) for epoch in (1, 3)]
    names = [name for name in fresh[0] if fresh[0][name] != fresh[1].get(name, fresh[0][name])]
    seen = []
    for epoch, looks in ((3, 1), (0, 0)):  # with the same value, as metrics may depend on that
        trainer = subject.fresh_at(plain.states[epoch])
        trainer.train_k(1, candidate)
        for _ in range(looks):
            trainer.metrics()
        trainer.set_state(copy_of(plain.states[1]))
        metrics = metrics_of(trainer) if names else {}
        seen.append({name: metrics.get(name) for name in names})
    refuse(
        LAW,
        difference(seen[0], seen[1], "metrics()"),
        "right after set_state, the metrics() of two trainers that came from different epochs "
        "differ",
        "metrics are kept until the next epoch, and set_state does not drop them",
        "forget in set_state what was measured before",
    )


def _measured(subject: Subject, plain: PlainLine, epoch: int) -> Metrics:
    """The finite metrics of a new trainer that was only set to a state, if it can measure then."""
    trainer = subject.fresh_at(plain.states[epoch])
    try:
        metrics = metrics_of(trainer)
        return {name: value for name, value in metrics.items() if math.isfinite(value)}
    except Exception:  # nothing to measure before an epoch was trained, or no numbers
        return {}


def _reseeded(subject: Subject, plain: PlainLine) -> None:
    def seeded(*seeds: int) -> Line:
        trainer: Any = subject.fresh_at(plain.states[1])
        for seed in seeds:
            trainer.reseed(seed)
        return follow(trainer, plain.candidate, subject.window)

    trainer: Any = subject.fresh_at(plain.states[1])
    trainer.reseed(1)
    refuse(
        LAW,
        difference(float_arrays(plain.states[1]), float_arrays(trainer.get_state())),
        "reseed(1) changed more than generators",
        "reseed builds the model or the trainer anew",
        "seed the generators in reseed, and nothing else",
    )
    first = seeded(1)
    cause = "reseed forgets one of the generators that training uses, or does not start them anew"
    way_out = "make every generator anew from the seed alone: self.rng = default_rng(seed)"
    _same(first, seeded(2, 1), "reseed(1) gave another result after reseed(2)", cause, way_out)
    trainer = subject.fresh_at(plain.states[1])
    trainer.reseed(3)
    third = follow(trainer, plain.candidate, subject.window)
    trainer.set_state(copy_of(plain.states[1]))
    trainer.reseed(1)
    state = copy_of(trainer.get_state())
    again = follow(trainer, plain.candidate, subject.window)
    seen = "the same state after the same reseed(1) gave another result"
    _same(first, again, seen, cause, way_out)
    seen = "what followed reseed(1) and what followed the state handed out after it differ"
    _same(first, subject.follow(state, plain.candidate), seen, cause, ALL_IN_STATE)
    if line_difference(first, third) is None and line_difference(first, seeded(2)) is None:
        raise broken(
            LAW,
            "reseed(1), reseed(2) and reseed(3) led to the same state and the same metrics",
            "reseed seeds another generator than the one that training uses",
            "seed the generators of the state; leave reseed out where nothing is random",
        )


def _in_another_process(
    subject: Subject, plain: PlainLine, candidates: list[Candidate]
) -> tuple[str, ...]:
    if not subject.another_process:
        return ("not tried in another process: not asked for",)
    starts = [(0, plain.candidate), *((1, candidate) for candidate in candidates)]
    try:
        answers = follow_in_other_process(
            subject, [(plain.states[epoch], candidate) for epoch, candidate in starts]
        )
    except OtherProcessFailed as reason:
        return (f"not tried in another process: {reason}",)
    cause = (
        "something is kept in the process (a module's variable, a cache, hash() of a string, the "
        "process' number), the clock decides something, or the other process uses another number "
        "of threads"
    )
    for (epoch, candidate), there in zip(starts, answers, strict=True):
        if isinstance(there, str):
            seen = f"a new trainer in another process raised {there}"
            raise broken(LAW, seen, cause, ALL_IN_STATE)
        here = subject.line(epoch, candidate)
        _same(here, there, "a new trainer in another process gave another result", cause)
    return ()


def _same_again(expected: Line, got: Line, candidate: Candidate) -> None:
    _same(
        expected,
        got,
        f"set back to the same state and trained with {values_of(candidate)} again, the trainer "
        "gave another result",
        "something that decides the future is not in the state (a random generator, the "
        "optimiser's momentum, a counter, the data's position), or set_state does not set it",
    )


def _same(expected: Line, got: Line, seen: str, cause: str, way_out: str = ALL_IN_STATE) -> None:
    refuse(LAW, line_difference(expected, got), seen, cause, way_out)
