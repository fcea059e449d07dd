"""Order: tries from one origin give the same results in any order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dynhp.records import Candidate
from dynhp.testing.difference import difference
from dynhp.testing.laws.probe import (
    Subject,
    Trace,
    broken,
    copy_of,
    follow,
    refuse,
    trace_difference,
)
from dynhp.trainer import State, TriesBatches

LAW = "order"


def check(subject: Subject) -> tuple[str, ...]:
    """Carry out the same tries forwards and backwards, as an adapter would, and in one pass."""
    candidates = subject.candidates(LAW)
    if len(candidates) < 2:
        return ("not judged: there is only one candidate to put in order",)
    for origin in subject.origins(candidates[0]):
        forwards = _tries(subject, origin, candidates)
        backwards = _tries(subject, origin, candidates[::-1])
        for candidate in candidates:
            refuse(
                LAW,
                trace_difference(forwards[candidate], backwards[candidate]),
                f"the try of {dict(candidate)!r} came out differently with the others before it "
                "than with them after it",
                "a try leaves something behind in the trainer that is not in the state (a value, "
                "a cache, momentum, a generator), or writes into the origin",
            )
        if isinstance(subject.fresh(), TriesBatches):
            _in_one_pass(subject, origin, candidates)
    return ()


def _tries(
    subject: Subject, origin: State, candidates: Sequence[Candidate]
) -> dict[Candidate, Trace]:
    """All tries on one trainer from one origin, which is handed in as it is each time."""
    trainer = subject.fresh()
    traces = {}
    for candidate in candidates:
        trainer.set_state(origin)
        traces[candidate] = follow(trainer, candidate, subject.epochs)
    return traces


def _in_one_pass(subject: Subject, origin: State, candidates: Sequence[Candidate]) -> None:
    trainer = subject.fresh()
    assert isinstance(trainer, TriesBatches)
    for k in (1, 2):
        batch = trainer.try_batch(copy_of(origin), candidates, k)
        for candidate, (series, state) in zip(candidates, batch, strict=True):
            if len(series) != k:
                raise broken(
                    LAW,
                    f"try_batch gave {len(series)} epochs where {k} were asked for",
                    "it must give the metrics after each of the k epochs",
                )
            _same_as_alone(subject, origin, candidate, list(map(dict, series)), state)


def _same_as_alone(
    subject: Subject, origin: State, candidate: Candidate, series: list[Any], state: State
) -> None:
    trainer = subject.fresh_at(origin)
    alone: list[Any] = []
    for _ in series:
        trainer.train_k(1, candidate)
        alone.append(dict(trainer.metrics()))
    refuse(
        LAW,
        difference(trainer.get_state(), state) or difference(alone, series, "metrics()"),
        f"the try of {dict(candidate)!r} came out differently in try_batch than alone",
        "the batched computation shares random numbers among the tries, or rounds differently; "
        "leave try_batch out where that cannot be avoided",
    )
