"""Order: tries leave no trace, so that they give the same results in any order, or none at all."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from dynhp.records import Candidate
from dynhp.selfcheck.difference import difference
from dynhp.testing.laws.experiments import (
    SEE_RESTORE,
    Subject,
    broken,
    copy_of,
    different,
    follow,
    line_difference,
    metrics_of,
    refuse,
    values_of,
)
from dynhp.trainer import State, TriesBatches

LAW = "order"
TRIED = 8  # candidates, at most
CAUSE = (
    "a try leaves something behind in the trainer that is not in the state (a value, a cache, "
    "momentum, a generator), or writes into the origin"
)
WAY_OUT = (
    "keep nothing outside the state that training or metrics() read; clear caches in set_state"
)
DISTURBANCES = (1, 2, 1, 3)  # epochs of the tries before each epoch of a dry run, in turn


def check(subject: Subject) -> tuple[str, ...]:
    """Carry out tries as an adapter would: one after the other, in a dry run, and in one pass."""
    candidates = subject.every(LAW)[:TRIED]
    others = [*subject.failing()[:1], *candidates[1:]]
    if not others:
        return ("not judged: there is only one candidate to put in order",)
    if not subject.repeatable():
        return (SEE_RESTORE,)
    origin = copy_of(subject.plain(LAW).states[1])
    _one_after_the_other(subject, origin, candidates)
    _the_winner_goes_on(subject, origin, subject.candidates(LAW))
    _dry_run(subject, others)
    if subject.offers(TriesBatches):
        _in_one_pass(subject, origin, candidates)
    return ()


def _one_after_the_other(subject: Subject, origin: State, candidates: Sequence[Candidate]) -> None:
    """All tries on one trainer from one origin, which is handed in as it is each time."""
    trainer = subject.fresh()
    for candidate in (*candidates, candidates[0]):
        trainer.set_state(origin)
        refuse(
            LAW,
            line_difference(subject.line(1, candidate), follow(trainer, candidate, subject.window)),
            f"the try of {values_of(candidate)} came out differently with others before it than "
            "alone",
            CAUSE,
            WAY_OUT,
        )


def _the_winner_goes_on(subject: Subject, origin: State, candidates: Sequence[Candidate]) -> None:
    """After another try of the same length, the state of a try is taken back and trained on."""
    trainer = subject.fresh()
    for candidate, other in zip(candidates, [*candidates[1:], candidates[0]], strict=True):
        expected = subject.line(1, candidate)
        trainer.set_state(origin)
        follow(trainer, other, 1)
        trainer.set_state(copy_of(expected.early))
        line = follow(trainer, candidate, subject.epochs)
        refuse(
            LAW,
            different(expected.state, line.state, expected.series[1:], line.series),
            f"the state after a try of {values_of(candidate)}, taken back after a try of "
            f"{values_of(other)}, did not lead to where {values_of(candidate)} alone leads",
            "set_state skips some of its work, or all of it, if the counter of epochs is the same; "
            "or something of the other try stays",
            "let set_state set everything, whatever state the trainer is in",
        )


def _dry_run(subject: Subject, others: Sequence[Candidate]) -> None:
    """Before every epoch others are tried, and the trainer is set back: nothing may change."""
    plain = subject.plain(LAW)
    trainer = subject.fresh_at(plain.states[0])
    series = []
    for epoch in range(len(plain.series)):
        origin = trainer.get_state()
        with suppress(Exception):  # a try may fail: the trainer is set back all the same
            for _ in range(DISTURBANCES[epoch % len(DISTURBANCES)]):
                trainer.train_k(1, others[epoch % len(others)])
                trainer.metrics()
        trainer.set_state(origin)
        trainer.train_k(1, plain.candidate)
        series.append(metrics_of(trainer))
    state = plain.states[len(series)]
    refuse(
        LAW,
        different(state, trainer.get_state(), plain.series, tuple(series)),
        f"a dry run ({values_of(plain.candidate)} is kept, others are tried before each epoch) "
        "and the same training without tries differ",
        CAUSE,
        WAY_OUT,
    )


def _in_one_pass(subject: Subject, origin: State, candidates: Sequence[Candidate]) -> None:
    length = subject.window + 1
    alone = {candidate: _alone(subject, origin, candidate, length) for candidate in candidates}
    trainer = subject.fresh()
    assert isinstance(trainer, TriesBatches)
    # Longer ones first, so that what a short one leaves out cannot have been there before.
    batches = ((length, candidates), (1, candidates[::-1]), (length - 1, candidates[:2]))
    results = []
    for k, batch in batches:
        given = copy_of(origin)
        answers = trainer.try_batch(given, batch, k)
        _is_complete(answers, batch, k)
        results += [
            (candidate, k, answer) for candidate, answer in zip(batch, answers, strict=True)
        ]
        place = difference(origin, given, "origin")
        way_out = "copy the origin in try_batch"
        refuse(LAW, place, "try_batch wrote into its origin", "tries train in place", way_out)
    for candidate, k, (series, state) in results:  # after all batches: none may write into these
        refuse(
            LAW,
            difference(alone[candidate][k - 1], (list(map(dict, series)), state), "result"),
            f"the try of {values_of(candidate)} over {k} epochs came out differently in try_batch "
            "than alone",
            "the batched computation shares random numbers or arrays among the tries, or rounds "
            "differently",
            "give each try its own copies; leave try_batch out if it cannot help rounding "
            "differently",
        )


def _is_complete(answers: Any, batch: Sequence[Candidate], k: int) -> None:
    if len(answers) != len(batch) or any(len(series) != k for series, _ in answers):
        lengths = [len(series) for series, _ in answers]
        raise broken(
            LAW,
            f"try_batch gave tries of {lengths} epochs; {len(batch)} tries of {k} epochs were "
            "asked for",
            "it gives only what was measured last",
            "give the metrics after each of the k epochs, for each candidate",
        )


def _alone(
    subject: Subject, origin: State, candidate: Candidate, epochs: int
) -> list[tuple[list[Any], State]]:
    """What a try gives after one epoch, after two, and so on."""
    trainer = subject.fresh_at(origin)
    series: list[Any] = []
    results = []
    for _ in range(epochs):
        trainer.train_k(1, candidate)
        series = [*series, metrics_of(trainer)]
        results.append((series, copy_of(trainer.get_state())))
    return results
