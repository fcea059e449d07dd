"""What a try reports: nothing where it has no epochs, and to the logger where it failed."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from dynhp import trainer_from
from dynhp.records import Candidate
from dynhp.rounds.attempt import attempt
from dynhp.rounds.jobs import Job
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


class Wordless(Exception):
    """Cannot say what it is."""

    def __str__(self) -> str:
        raise LookupError


@pytest.mark.parametrize(
    ("failure", "error"),
    [
        (ValueError("x" * 1900), "ValueError: " + "x" * 1900),
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
