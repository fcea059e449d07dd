"""The main line as triggers see it, made from the records of its rounds."""

from __future__ import annotations

from typing import Any

import pytest

from dynhp import DynamicGridAdapter, lowest
from dynhp.engine.line import line_of
from dynhp.records import Candidate, Round, Try
from dynhp.testing import Quadratic
from dynhp.triggers import At, LineSoFar, OnPlateau

VALUES = Candidate({"lr": 0.1})
TRY = Try(candidate=VALUES, series=({"loss": 2.0}, {"loss": 1.0}), epochs=2, score=-1.0)


def round_of(**changes: Any) -> Round:
    """A round with one try of two epochs, which was kept, and one epoch after it."""
    whole: dict[str, Any] = {
        "index": 0, "start": 0, "epochs": 3, "previous": VALUES, "tries": (TRY,), "chosen": 0,
        "reason": "", "metrics": {"loss": 0.5},
    }  # fmt: skip
    return Round(**{**whole, **changes})


def line_after(*rounds: Round, planned: int | None = None, **changes: Any) -> LineSoFar:
    settings: dict[str, Any] = {"when": OnPlateau("loss", patience=2), "try_for": 2}
    adapter = DynamicGridAdapter(
        Quadratic(), {"lr": [0.1, 0.5]}, criterion=lowest("loss"), **(settings | changes)
    )
    last = rounds[-1]
    return line_of(adapter.policy, rounds, last.start + last.epochs, planned)


def test_a_trigger_sees_what_was_measured_unless_it_goes_by_epochs() -> None:
    measured = [(0, {"loss": 2.0}), (1, {"loss": 1.0}), (2, {"loss": 0.5})]
    assert list(line_after(round_of()).measured) == measured
    assert list(line_after(round_of(), when=At([0])).measured) == []


def test_a_trigger_sees_all_rounds() -> None:
    rounds = (round_of(), round_of(index=1, start=3))
    assert line_after(*rounds).rounds == rounds


def test_a_round_became_due_after_the_epochs_that_it_abandoned() -> None:
    rounds = (round_of(epochs=5), round_of(index=1, start=3, abandoned=2))
    assert list(line_after(*rounds).fired) == [0, 5]


@pytest.mark.parametrize(("restarted", "since"), [(False, 5), (True, 3)])
def test_the_epochs_after_the_tries_begin_where_the_main_line_goes_on(
    restarted: bool, since: int
) -> None:
    line = line_after(round_of(), round_of(index=1, start=3, restarted=restarted))
    assert (line.began, line.since) == (3, since)


@pytest.mark.parametrize(
    ("epochs", "tries", "settings", "stopped"),
    [
        (3, (), {"record_every": 4}, True),
        (4, (), {"record_every": 4}, False),
        (4, (TRY,), {"record_every": 4}, False),
        (5, (TRY,), {"record_every": 4, "try_for": 6}, True),
        (6, (TRY,), {"record_every": 4, "try_for": 6}, False),
        (5, (), {"record_every": 4, "try_for": 6}, False),
        (4, (), {"planned": 100}, True),  # a 20th of the run
        (5, (), {"planned": 100}, False),
        (9, (), {}, True),
        (10, (), {}, False),
    ],
)
def test_a_round_was_stopped_if_it_is_shorter_than_it_might_be(
    epochs: int, tries: tuple[Try, ...], settings: dict[str, Any], stopped: bool
) -> None:
    round_ = round_of(epochs=epochs, tries=tries, chosen=0 if tries else -1)
    assert line_after(round_, **settings).stopped is stopped
