"""Values read back from a trainer: which count as the same, and that none may disappear."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dynhp import DynamicGridAdapter, lowest
from dynhp.errors import MetricError, ValueNotInForce
from dynhp.read_back import plain_metrics, read_metrics, same_value
from dynhp.testing import Quadratic
from tests.support.messages import raises


@pytest.mark.parametrize(
    ("value", "other"),
    [
        (0.1, 0.1),
        (0.1, 0.10000000149011612),  # as float32 holds it
        (0.1, float(np.float32(0.1))),
        (3e-4, float(np.float32(3e-4))),
        (-0.7, float(np.float32(-0.7))),
        (1e300, 1e300),
        (3, 3.0),
        (2**24 + 1, 2.0**24 + 1),
        (3, 3.0000000001),  # computed as a quotient
        (0.3, 0.1 + 0.2),
        (True, True),
        ("a", "a"),
        (None, None),
    ],
)
def test_equal_or_nearly_as_float32_rounds_is_the_same(value: Any, other: Any) -> None:
    assert same_value(value, other)
    assert same_value(other, value)


@pytest.mark.parametrize(
    ("value", "other"),
    [
        (10_000_000, 10_000_001),
        (10_000_000, 10_000_005.0),
        (10_000_000_000, 10_000_000_005.0),  # nearer than 1 in 1e9
        (10_000_000.0, 10_000_005.0),
        (3, 3.1),
        (3, 3.000001),
        (2**24 + 1, 2.0**24),  # what float32 makes of a whole number is another one
        (0.1, 0.1000005),
        (1e300, float("inf")),
        (1e300, 1e299),
        (0.1, -0.1),
        ("a", 0.1),
        (None, 0.0),
        (0.1, None),
    ],
)
def test_nothing_else_is(value: Any, other: Any) -> None:
    assert not same_value(value, other)
    assert not same_value(other, value)


class Forgets(Quadratic):
    """Stops to report its value after some epochs."""

    def __init__(self, after: int, left: Mapping[str, Any]) -> None:
        super().__init__()
        self.after, self.left, self.epochs, self.lr = after, left, 0, 0.1

    def get_state(self) -> Any:
        return self.x, self.epochs

    def set_state(self, state: Any) -> None:
        self.x, self.epochs = state

    def train_k(self, k: int, hyperparameters: Mapping[str, Any]) -> None:
        self.lr = hyperparameters["lr"]
        self.epochs += k
        super().train_k(k, hyperparameters)

    def hyperparameters(self) -> Any:
        return {"lr": self.lr} if self.epochs < self.after else self.left


def adapter_of(trainer: Any) -> DynamicGridAdapter:
    return DynamicGridAdapter(
        trainer, {"lr": [0.1, 0.5]}, criterion=lowest("loss"), adapt_every=4, try_for=1
    )


@pytest.mark.parametrize("left", [{}, {"momentum": 0.9}])
def test_a_name_that_stops_being_read_back_is_noticed(left: Any) -> None:
    adapter = adapter_of(Forgets(6, left))
    adapter.step()
    with raises(ValueNotInForce):
        adapter.step()
    assert adapter.trainer.get_state()[1] == 4  # back at the origin of the round


def test_a_name_that_was_never_read_back_is_not_missed() -> None:
    class ReadsOneName(Quadratic):
        def hyperparameters(self) -> dict[str, Any]:
            return {"lr": self.lr}

        lr = 0.1

        def train_k(self, k: int, hyperparameters: Mapping[str, Any]) -> None:
            self.lr = hyperparameters["lr"]
            super().train_k(k, {"lr": self.lr + hyperparameters["wd"]})

    adapter = DynamicGridAdapter(
        ReadsOneName(),
        {"lr": [0.1, 0.5], "wd": [0.0, 0.01]},
        criterion=lowest("loss"),
        adapt_every=4,
        try_for=1,
    )
    assert len(adapter.run(8)) == 2


@pytest.mark.parametrize("left", [None, [("lr", 0.1)]])
def test_what_is_no_mapping_any_more_is_an_error_of_ours(left: Any) -> None:
    with raises(Exception) as caught:
        adapter_of(Forgets(2, left)).run(8)
    assert type(caught.value).__name__ == "ContractError"


class ManyNumbers:
    """As a tensor of many elements answers."""

    def __float__(self) -> float:
        raise RuntimeError("a Tensor with 3 elements cannot be converted to Scalar")

    def __repr__(self) -> str:
        return "tensor(" + "0.5, " * 1000 + ")"


@pytest.mark.parametrize("value", [ManyNumbers(), [1.0] * 999, np.ones(999), "0.5", None])
def test_a_metric_that_is_no_number_is_named_in_a_few_words(value: object) -> None:
    with raises(MetricError) as error:
        plain_metrics({"loss": value})
    assert len(str(error.value)) < 200


@pytest.mark.parametrize(
    ("length", "text"),
    [(80, "x" * 79 + ">"), (81, "x" * 40 + "... (81 characters)")],
)
def test_a_metric_is_shown_in_80_characters_on_one_line(length: int, text: str) -> None:
    class Long:
        def __repr__(self) -> str:
            return "x" * (length - 1) + ">"

    class Lines:
        def __repr__(self) -> str:
            return "tensor([1.,\n        2.])"

    with pytest.raises(MetricError) as error:
        plain_metrics({"loss": Long()})
    assert f"must be a number, got {text}; give" in str(error.value)
    with raises(MetricError):
        plain_metrics({"loss": Lines()})


def test_a_name_that_is_no_string_is_shown() -> None:
    with raises(MetricError):
        plain_metrics({7: 0.5})  # type: ignore[dict-item]


def test_a_trainer_without_a_hash_is_read_back_too() -> None:
    class Unhashable(Forgets):
        __hash__ = None  # type: ignore[assignment]

    assert len(adapter_of(Unhashable(1000, {})).run(8)) == 2


class MetricName(str):
    """A name that knows more than its letters, as an enumeration's do."""


def test_a_name_may_be_of_a_kind_of_string() -> None:
    assert plain_metrics({MetricName("loss"): 0.5}) == {"loss": 0.5}


def test_metrics_may_be_any_mapping() -> None:
    trainer: Any = SimpleNamespace(metrics=lambda: MappingProxyType({"loss": 0.5}))
    assert read_metrics(trainer) == {"loss": 0.5}
