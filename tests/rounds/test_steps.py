"""A stretch of the main line: what it takes in and passes on, and which failures it survives."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from dynhp.errors import ContractError
from dynhp.records import Candidate, Metrics, Round, Try
from dynhp.rounds.steps import TrainStretch, stretch_left


class RescuingWatch:
    """Looks at nothing, and rescues or does not."""

    needs_metrics = False

    def __init__(self, *, rescues: bool = True, ends_at: int | None = None) -> None:
        self.is_rescuing, self.ends_at = rescues, ends_at

    def until(self) -> int | None:
        return None

    def look(self, epoch: int, metrics: Metrics | None) -> bool:
        return epoch == self.ends_at

    def rescues(self) -> bool:
        return self.is_rescuing


def round_of(**changes: Any) -> Round:
    """A round of three epochs after the fourth, without tries."""
    whole: dict[str, Any] = {
        "index": 1, "start": 4, "epochs": 3, "previous": Candidate({"x": 1}), "tries": (),
        "chosen": -1, "reason": "", "metrics": {"loss": 3.0},
    }  # fmt: skip
    return Round(**{**whole, **changes})


def stretch_of(**settings: Any) -> TrainStretch:
    return TrainStretch(Candidate({"x": 1}), 0, lambda stretch: round_of(), **settings)


def test_each_look_is_passed_on_with_the_epochs_so_far_and_their_metrics() -> None:
    beats: list[Any] = []
    stretch = stretch_of(
        start=4, watch=RescuingWatch(ends_at=9), beat=lambda *given: beats.append(given)
    )
    assert not stretch.take(2, {"loss": 2.0})
    assert not stretch.take(1, None)
    assert stretch.take(2, {"loss": 1.0})
    assert beats == [(2, {"loss": 2.0}), (3, None), (5, {"loss": 1.0})]
    assert stretch.measured == [(5, {"loss": 2.0}), (8, {"loss": 1.0})]
    assert (stretch.epochs, stretch.metrics) == (5, {"loss": 1.0})


@pytest.mark.parametrize(
    ("watch", "failure", "rescued"),
    [
        (None, ArithmeticError("too large"), False),
        (RescuingWatch(rescues=False), ArithmeticError("too large"), False),
        (RescuingWatch(), ContractError("a law is broken"), False),
        (RescuingWatch(rescues=False), ContractError("a law is broken"), False),
        (RescuingWatch(), ArithmeticError("too large"), True),
    ],
)
def test_a_failure_is_rescued_where_that_is_wanted_and_it_is_not_our_own(
    watch: RescuingWatch | None,
    failure: Exception,
    rescued: bool,
    caplog: pytest.LogCaptureFixture,
) -> None:
    stretch = stretch_of(watch=watch)
    with caplog.at_level(logging.INFO, logger="dynhp"):
        assert stretch.fail(failure) is rescued
    assert stretch.failure == ("ArithmeticError: too large" if rescued else None)
    said = [(each.name, each.levelname, each.getMessage()) for each in caplog.records]
    assert said == [("dynhp", "INFO", "the main line failed")] * rescued
    # With the traceback, which nothing else shows once the run has gone on.
    assert [each.exc_info and each.exc_info[1] for each in caplog.records] == [failure] * rescued


def test_a_round_that_was_left_goes_on_with_what_it_had_measured() -> None:
    tried = Try(candidate=Candidate({"x": 2}), series=({"loss": 4.0},), epochs=1, score=-4.0)
    begun = round_of(tries=(tried,), chosen=0, stretch=((5, {"loss": 3.5}),))
    assert begun.measured == ((4, {"loss": 4.0}), (5, {"loss": 3.5}), (6, {"loss": 3.0}))
    stretch = stretch_left(begun, 6)
    assert (stretch.candidate, stretch.epochs, stretch.start) == ({"x": 2}, 3, 7)
    assert stretch.measured == [(5, {"loss": 3.5}), (6, {"loss": 3.0})]
    stretch.epochs = 0
    stretch.take(2, {"loss": 2.0})
    stretch.failure = "ArithmeticError: too large"
    longer = stretch.record()
    assert (longer.epochs, longer.metrics) == (5, {"loss": 2.0})
    assert longer.stretch == ((5, {"loss": 3.5}), (6, {"loss": 3.0}))
    assert longer.failure == "ArithmeticError: too large"


def test_a_round_that_was_left_is_the_same_where_nothing_is_trained() -> None:
    begun = round_of(stretch=((4, {"loss": 5.0}),))
    stretch = stretch_left(begun, 3)
    assert stretch.epochs == 0
    assert stretch.record() == begun
