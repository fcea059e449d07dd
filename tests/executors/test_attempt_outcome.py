"""What a try reports: nothing where it has no epochs, and to the logger where it failed."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from dynhp import trainer_from
from dynhp.executors.attempt import TryLog, attempt
from dynhp.executors.contract import Job, TryStates
from dynhp.records import Candidate
from tests.support.reference import Diary


def test_a_job_without_epochs_trains_nothing_and_does_not_fail() -> None:
    trainer = Diary({0: 1.0})
    outcome = attempt(trainer, Job(origin=(), candidate=Candidate({"x": 0}), epochs=0))
    assert (outcome.series, outcome.epochs, outcome.error) == ((), 0, None)
    assert trainer.trained == 0


def test_the_logger_shows_where_a_failure_came_from(caplog: pytest.LogCaptureFixture) -> None:
    failure = ValueError("diverged")
    job = Job(origin=(), candidate=Candidate({"x": 0}), epochs=2)
    with caplog.at_level(logging.INFO, logger="dynhp"):
        outcome = attempt(Diary({0: failure}), job)
    assert (outcome.error, outcome.epochs) == ("ValueError: diverged", 1)
    (record,) = caplog.records
    assert (record.name, record.levelno) == ("dynhp", logging.INFO)
    assert record.getMessage() == "a try of {'x': 0} failed"
    assert record.exc_info is not None
    assert record.exc_info[1] is failure


def test_a_display_is_given_the_metrics_of_each_epoch() -> None:
    beats: list[Any] = []
    trainer, candidate = Diary({0: 1.0, 1: 2.0}), Candidate({"x": 0})
    tail = (Candidate({"x": 1}),)
    job = Job(
        origin=(), candidate=candidate, epochs=2, tail=tail, beat=lambda *now: beats.append(now)
    )
    attempt(trainer, job)
    assert beats == [(1, {"loss": 1.0}), (2, {"loss": 1.0}), (3, {"loss": 2.0})]


@pytest.mark.parametrize(
    ("wanted", "kept", "calls"),
    [
        ({"compared": True}, TryStates(kept=(0,), end=(0, 1, 1)), 2),
        ({}, TryStates(kept=(0,), end=(0,)), 1),
        ({"keeps": False}, (0, 1, 1), 1),
        ({"keeps": False, "compared": True}, (0, 1, 1), 1),
    ],
)
def test_of_a_try_with_a_tail_only_the_states_that_are_wanted_are_taken(
    wanted: dict[str, Any], kept: Any, calls: int
) -> None:
    trainer, candidate = Diary({0: 1.0, 1: 2.0}), Candidate({"x": 0})
    tail = (Candidate({"x": 1}),) * 2
    outcome = attempt(
        trainer, Job(origin=(), candidate=candidate, epochs=1, tail=tail, **wanted), at=()
    )
    assert outcome.keep() == kept
    assert outcome.in_place == (kept == (0, 1, 1))
    assert trainer.calls.count("get") == calls


@pytest.mark.parametrize(
    ("measured", "reported"),
    [
        ([3.0, 2.0, 1.0], ()),
        ([3.0, 2.0, None], ()),
        ([3.0, None, 1.0], (1, 3)),
        ([None, 2.0, None], (2,)),
        ([None, None], ()),
    ],
)
@pytest.mark.usefixtures("ticking")
def test_epochs_have_numbers_only_where_there_are_gaps(
    measured: list[float | None], reported: tuple[int, ...]
) -> None:
    losses = iter(measured)
    log = TryLog(Job(origin=0, candidate=Candidate({"x": 0}), epochs=len(measured)), lambda: 0)

    def measure() -> dict[str, float] | None:
        loss = next(losses)
        return None if loss is None else {"loss": loss}

    assert list(log.epochs(measure)) == list(range(1, len(measured) + 1))
    outcome = log.outcome()
    assert (outcome.reported, outcome.epochs) == (reported, len(measured))
    assert outcome.series == tuple({"loss": loss} for loss in measured if loss is not None)
    assert outcome.seconds == 1.0


class Wordless(Exception):
    """Cannot say what it is."""

    def __str__(self) -> str:
        raise LookupError


@pytest.mark.parametrize(
    ("failure", "error"),
    [
        (ValueError("x" * 1900), "ValueError: " + "x" * 1900),
        (ValueError("x" * 1988), "ValueError: " + "x" * 1988),
        (ValueError("x" * 1989), "ValueError: " + "x" * 1948 + "... (2001 characters)"),
        (ValueError("x" * 10**6), "ValueError: " + "x" * 1948 + "... (1000012 characters)"),
        (Wordless(), "Wordless, whose text raises LookupError"),
    ],
)
def test_what_a_try_raised_is_kept_up_to_a_length(failure: Exception, error: str) -> None:
    def train_k(k: int, hyperparameters: Any) -> None:
        raise failure

    trainer = trainer_from(
        get_state=lambda: 0,
        set_state=lambda state: None,
        train_k=train_k,
        metrics=lambda: {"loss": 0.5},
    )
    outcome = attempt(trainer, Job(origin=0, candidate=Candidate({"lr": 0.1}), epochs=2))
    assert outcome.error == error
    assert len(error) <= 2000
