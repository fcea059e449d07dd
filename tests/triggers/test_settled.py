"""When a run has settled: the time of the best, what counts as measured, and what is refused."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest

from dynhp.errors import MetricError, SettingsError
from dynhp.triggers import LineSoFar, Settled


def line(losses: Sequence[float | None], planned: int = 1000) -> LineSoFar:
    """The line on which these were measured; None: in that epoch the loss was not."""
    measured = [
        (number, {"other": 1.0} if loss is None else {"loss": loss})
        for number, loss in enumerate(losses)
    ]
    return LineSoFar(measured, epoch=len(losses), planned=planned)


def ended_after(rule: Settled, losses: Sequence[float | None]) -> int | None:
    """The first epoch after which the rule ends such a run."""
    for epochs in range(len(losses) + 1):
        if rule(line(losses[:epochs])) is not None:
            return epochs
    return None


FALLING = [1 / n for n in range(1, 11)]  # the best after 10


def test_it_ends_after_twice_the_time_of_the_best() -> None:
    assert ended_after(Settled("loss"), [*FALLING, *[1.0] * 20]) == 20
    assert ended_after(Settled("loss", factor=1.5), [*FALLING, *[1.0] * 20]) == 15
    assert ended_after(Settled("loss", factor=1.01, least=3), [*FALLING, *[1.0] * 20]) == 13


def test_a_better_value_puts_the_end_off_and_an_equal_one_does_not() -> None:
    assert ended_after(Settled("loss"), [*FALLING, *[1.0] * 5, 0.01, *[1.0] * 30]) == 32
    assert ended_after(Settled("loss"), [*FALLING, *[1.0] * 5, 0.1, *[1.0] * 30]) == 20


def test_at_least_so_many_measurements_follow_the_best() -> None:
    assert ended_after(Settled("loss"), [1.0] * 9) == 6
    assert ended_after(Settled("loss", least=2), [1.0] * 9) == 3
    assert Settled("loss", least=2).least_epochs == 2
    assert ended_after(Settled("loss", least=2), [math.nan] * 9) == 2


def test_more_may_be_better() -> None:
    values = [*(-loss for loss in FALLING), *[-1.0] * 20]
    assert ended_after(Settled("loss", better="higher"), values) == 20
    assert Settled("loss").criterion([{"loss": 2.0}], None) == -2.0  # type: ignore[arg-type]
    higher = Settled("loss", better="higher")
    assert higher.criterion([{"loss": 2.0}], None) == 2.0  # type: ignore[arg-type]


def test_what_is_measured_every_few_epochs_is_waited_for() -> None:
    every_third = [loss for each in [*FALLING, *[1.0] * 9] for loss in (None, None, each)]
    assert ended_after(Settled("loss"), every_third) is None  # best after 30, 57 have passed
    assert ended_after(Settled("loss"), [*every_third, None, None, 1.0]) == 60
    assert Settled("loss").ends_after(line(every_third)) == 60


def test_when_it_would_end_is_known_beforehand() -> None:
    rule = Settled("loss")
    assert rule.ends_after(line([])) is None
    assert rule.ends_after(line([None, None])) is None
    assert rule.ends_after(line(FALLING)) == 20
    assert rule.ends_after(line([0.5, 0.7, 0.7])) == 6


def test_what_is_not_finite_is_never_the_best() -> None:
    assert ended_after(Settled("loss"), [0.5, math.nan, *[math.inf] * 6]) == 6
    never = line([math.nan] * 5)
    assert Settled("loss")(line([math.nan] * 4)) is None
    due = Settled("loss")(never)
    assert due is not None
    assert due.because == "loss was never finite"
    assert Settled("loss").ends_after(never) is None


def test_a_metric_that_never_comes_is_an_error_and_not_a_run_to_the_limit() -> None:
    early = [None] * 100
    assert Settled("loss")(line(early)) is None
    with pytest.raises(MetricError, match="nothing of that name was reported in the first 101"):
        Settled("loss")(line([*early, None]))
    assert Settled("loss")(line([None] * 10, planned=20)) is None
    with pytest.raises(MetricError):
        Settled("loss")(line([None] * 11, planned=20))
    assert Settled("loss")(line([0.5, *[None] * 500])) is None  # it has been there


@pytest.mark.parametrize(
    "given",
    [{"factor": 1}, {"factor": math.inf}, {"factor": "2"}, {"least": 0}, {"least": 1.5},
     {"better": "less"}, {"metric": ""}, {"metric": 3}],
)  # fmt: skip
def test_bad_settings_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(SettingsError):
        Settled(**{"metric": "loss", **given})
