"""Exceptions on their way from a worker: what cannot be pickled is replaced by what can."""

from __future__ import annotations

from dynhp.errors import ContractError, MetricError
from dynhp.executors.pool.transport import Raised


class Stubborn(Exception):
    """Cannot be made again from its arguments, as many exceptions of libraries."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)


def test_an_exception_that_cannot_travel_is_told_by_name() -> None:
    raised = Raised.of(Stubborn(3, "no way"))
    assert isinstance(raised.error, ContractError)
    assert str(raised.to_raise()) == "Stubborn: no way"


class StubbornMetric(MetricError):
    """One of dynhp's by descent, that cannot be made again from its arguments."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)


def test_one_of_ours_that_cannot_travel_is_told_as_the_nearest_that_can() -> None:
    class Local(StubbornMetric):
        pass

    for error in (StubbornMetric(3, "no way"), Local(3, "no way")):
        raised = Raised.of(error)
        assert type(raised.error) is MetricError
        assert str(raised.error) == f"{type(error).__name__}: no way"
