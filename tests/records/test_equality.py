"""Records that say the same are equal, nan or not, and nothing in them can be written to."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import pytest

from dynhp import DynamicGridAdapter, History, lowest
from dynhp.records import Candidate, Metrics, Round, Try
from dynhp.testing import Quadratic
from tests.support.messages import raises


class Diverging(Quadratic):
    """Fails with large rates, so that the scores of these tries are nan."""

    def train_k(self, k: int, hyperparameters: Any) -> None:
        if hyperparameters["lr"] > 0.5:
            raise FloatingPointError("diverged")
        super().train_k(k, hyperparameters)

    def metrics(self) -> dict[str, float]:
        return {**super().metrics(), "norm": float("nan")}


def a_run() -> History:
    adapter = DynamicGridAdapter(
        Diverging(), {"lr": [0.1, 0.3, 0.9]}, criterion=lowest("loss"), adapt_every=3, try_for=1
    )
    return adapter.run(6)


def a_try(**changes: Any) -> Try:
    known: dict[str, Any] = {
        "candidate": Candidate({"lr": 0.1}),
        "series": ({"loss": float("nan"), "norm": 1.0}, {"loss": 2.0, "norm": 1.0}),
        "epochs": 2,
        "score": float("nan"),
    }
    return Try(**(known | changes))


def a_round(**changes: Any) -> Round:
    known: dict[str, Any] = {
        "index": 0,
        "start": 0,
        "epochs": 5,
        "previous": Candidate({"lr": 0.1}),
        "tries": (a_try(),),
        "chosen": 0,
        "reason": "",
        "metrics": {"loss": float("nan")},
    }
    return Round(**(known | changes))


COPIES: dict[str, Callable[[Any], Any]] = {
    "pickled": lambda record: pickle.loads(pickle.dumps(record)),
    "deep copy": copy.deepcopy,
    "replaced": replace,
}


@pytest.mark.parametrize("way", COPIES)
@pytest.mark.parametrize("record", [a_try(), a_round(), History((a_round(),))])
def test_a_copy_equals_its_record_though_it_holds_a_nan(record: Any, way: str) -> None:
    other = COPIES[way](record)
    assert other == record
    assert (other != record) is False
    for field in fields(record):
        if field.name != "score":  # a bare float, which no record can make equal to another nan
            assert getattr(other, field.name) == getattr(record, field.name)


def test_the_same_run_twice_is_equal_though_a_metric_is_nan() -> None:
    first, again = a_run(), a_run()
    assert first == again
    for round_, other in zip(first, again, strict=True):
        assert round_.tries == other.tries
        assert round_.metrics == other.metrics


@pytest.mark.parametrize(
    "changes",
    [
        {"score": 0.0},
        {"candidate": Candidate({"lr": 0.2})},
        {"series": ({"loss": 1.0, "norm": 1.0}, {"loss": 2.0, "norm": 1.0})},
        {"series": ({"loss": float("nan")}, {"loss": 2.0, "norm": 1.0})},
        {"series": ({"loss": float("nan"), "form": 1.0}, {"loss": 2.0, "norm": 1.0})},
        {"series": ()},
        {"epochs": 3},
        {"error": "E: failed"},
        {"seed": 1},
        {"reported": (2,)},
    ],
)
def test_tries_that_differ_are_unequal(changes: dict[str, Any]) -> None:
    assert a_try(**changes) != a_try()
    assert a_round(tries=(a_try(**changes),)) != a_round()
    assert a_try(**changes) == a_try(**changes)


@pytest.mark.parametrize("field", [field.name for field in fields(Round) if field.compare])
def test_rounds_that_differ_in_one_field_are_unequal(field: str) -> None:
    other = {"tries": (), "metrics": {"loss": 1.0}, "previous": Candidate({}), "reason": "?"}
    other |= {"stretch": ((1, {"loss": 1.0}),)}
    assert a_round(**{field: other.get(field, 7)}) != a_round()


def test_a_record_is_no_equal_of_anything_else() -> None:
    assert a_try() != 1
    assert a_round() != (1,)
    assert a_round().metrics != Candidate({})
    plain = {"loss": 0.5}
    assert plain == a_round(metrics=plain).metrics
    assert (plain != a_round(metrics=plain).metrics) is False


WRITES: dict[str, Callable[[Any], object]] = {
    "item": lambda metrics: metrics.__setitem__("loss", 0.0),
    "deleted": lambda metrics: metrics.__delitem__("loss"),
    "update": lambda metrics: metrics.update(loss=0.0),
    "or": lambda metrics: metrics.__ior__({"loss": 0.0}),
    "setdefault": lambda metrics: metrics.setdefault("new", 0.0),
    "pop": lambda metrics: metrics.pop("loss"),
    "popitem": lambda metrics: metrics.popitem(),
    "clear": lambda metrics: metrics.clear(),
}


@pytest.mark.parametrize("way", WRITES)
@pytest.mark.parametrize("where", ["series", "metrics"])
def test_metrics_of_a_record_cannot_be_written_to(where: str, way: str) -> None:
    given = {"loss": 0.5}
    record = a_round(metrics=given, tries=(a_try(series=(given,)),))
    metrics: Metrics = record.metrics if where == "metrics" else record.tries[0].series[0]
    with raises(TypeError):
        WRITES[way](metrics)
    given["loss"] = 9.0  # what the record was made of is not what it holds
    assert metrics == {"loss": 0.5}


def test_metrics_of_a_record_are_read_as_any_dictionary() -> None:
    metrics = a_round(metrics={"loss": 0.5, "norm": 1.0}).metrics
    assert json.loads(json.dumps(metrics)) == {"loss": 0.5, "norm": 1.0}
    assert repr(metrics) == "{'loss': 0.5, 'norm': 1.0}"
    assert {**metrics, "loss": 1.0} == {"loss": 1.0, "norm": 1.0}
    changed = dict(metrics)
    changed["loss"] = 2.0
    assert metrics["loss"] == 0.5
    for copied in (COPIES["pickled"], copy.deepcopy, copy.copy):
        other = copied(metrics)
        assert other == metrics
        with pytest.raises(TypeError):
            other["loss"] = 1.0
