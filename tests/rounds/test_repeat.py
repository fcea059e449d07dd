"""The words of a self-check: which part differs, and how metrics do."""

from __future__ import annotations

from typing import Any

import pytest

from dynhp.errors import NotRepeatable
from dynhp.records import Candidate
from dynhp.rounds.jobs import Job, Outcome
from dynhp.rounds.repeat import SelfCheck
from dynhp.selfcheck.watch import Watch

JOB = Job(origin=0, candidate=Candidate({"lr": 0.1}), epochs=2, watch=("loss",))


def outcome(state: Any, *losses: float) -> Outcome:
    series = tuple({"loss": loss} for loss in losses)
    return Outcome(series=series, epochs=2, keep=lambda: state)


def compared(first: Outcome, second: Outcome, **settings: Any) -> None:
    check = SelfCheck(
        round=3,
        tolerance=0.0,
        common=True,
        part_names=["model (Linear)", "optimizer (SGD)"],
        watch=Watch(dict, [], lambda thing: None),
        agree=None,
        gives_hints=True,
        **settings,
    )
    check.look_at(JOB, first)
    check.watch.back_at_origin()
    check.compare(second)


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        (outcome((1, 2), 0.5), outcome((1, 3), 0.5), "state differs in optimizer (SGD). So"),
        (outcome((1, 2), 0.5), outcome((0, 3), 0.5), "in model (Linear), optimizer (SGD). So"),
        (outcome((1, 2, 3), 0.5), outcome((1, 2, 4), 0.5), "the state differs in state[2]. So"),
        (outcome(1, 0.5), outcome(1, 0.5, 0.4), "it was measured 1 times and then 2 times, though"),
        (outcome(1, 0.5), outcome(1, 0.4), "loss was 0.5 and then 0.4 after epoch 1, though the"),
        (outcome(1, 0.5), outcome(2, 0.4), "after epoch 1, and the state differs in state. So"),
        (outcome(1, 0.5), outcome(1, float("nan")), "loss was 0.5 and then nan after epoch 1"),
        (
            outcome((0, {name: 1 for name in "abcde"}), 0.5),
            outcome((0, {name: 2 for name in "abcde"}), 0.5),
            "the state differs in optimizer (SGD). So",
        ),
    ],
)
def test_the_message(first: Outcome, second: Outcome, words: str) -> None:
    with pytest.raises(NotRepeatable) as caught:
        compared(first, second)
    assert words in str(caught.value)
    assert str(caught.value).startswith("the first try of round 3 (lr=0.1) was carried out again")


def test_what_is_the_same_is_the_same() -> None:
    compared(outcome(1, float("nan")), outcome(1, float("nan")))
