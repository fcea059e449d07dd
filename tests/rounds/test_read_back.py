"""Values read back from a trainer: which count as the same."""

from __future__ import annotations

import numpy as np
import pytest

from dynhp.errors import MetricError
from dynhp.rounds.read_back import plain_metrics, same_value


def test_large_whole_numbers_are_never_nearly_equal() -> None:
    assert not same_value(10_000_000, 10_000_001)
    assert same_value(0.1, 0.10000000149011612)
    assert not same_value("a", 0.1)


def test_a_whole_number_and_a_float_may_be_nearly_equal() -> None:
    assert same_value(3, 3.0000000001)
    assert same_value(3.0000000001, 3)
    assert not same_value(3, 3.1)


class ManyNumbers:
    """As a tensor of many elements answers."""

    def __float__(self) -> float:
        raise RuntimeError("a Tensor with 3 elements cannot be converted to Scalar")

    def __repr__(self) -> str:
        return "tensor(" + "0.5, " * 1000 + ")"


@pytest.mark.parametrize("value", [ManyNumbers(), [1.0] * 999, np.ones(999), "0.5", None])
def test_a_metric_that_is_no_number_is_named_in_a_few_words(value: object) -> None:
    pattern = r"metric 'loss' must be a number, got .*; give one number"
    with pytest.raises(MetricError, match=pattern) as error:
        plain_metrics({"loss": value})
    assert len(str(error.value)) < 200
