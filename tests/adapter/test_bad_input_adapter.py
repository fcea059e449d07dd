"""Bad input: each call, its exception and its words; the trainer and the run stay unharmed."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dynhp import (
    Best,
    DynamicGridAdapter,
    FullGrid,
    Interpolation,
    OneAxis,
    Placebo,
    Racing,
    Serial,
    lowest,
    phased,
    plan,
    plan_for,
    replay,
    smallest_gap,
    trainer_from,
)
from dynhp.errors import ContractError, DynhpError, MetricError, SettingsError
from dynhp.planning import Schedule
from dynhp.planning.schedule import Segment
from dynhp.records import Candidate
from tests.support.messages import raises
from tests.support.reference import Diary, Toy, bits


def make(trainer: Any, **changes: Any) -> Any:
    given: dict[str, Any] = {
        "space": {"lr": [0.01, 0.1]},
        "criterion": lowest("loss"),
        "adapt_every": 4,
        "try_for": 2,
    }
    return DynamicGridAdapter(trainer, **(given | changes))


def bare() -> Any:
    toy = Toy()
    return trainer_from(
        get_state=toy.get_state, set_state=toy.set_state, train_k=toy.train_k, metrics=toy.metrics
    )


class Measures(Toy):
    """Measures whatever it is given."""

    def __init__(self, measured: Any) -> None:
        super().__init__()
        self.measured = measured

    def metrics(self) -> Any:
        return self.measured


CONSTRUCTION: list[tuple[dict[str, Any], type[Exception]]] = [
    ({"trainer": None}, SettingsError),
    ({"trainer": Toy}, SettingsError),
    ({"trainer": "toy"}, SettingsError),
    ({"space": 3}, SettingsError),
    ({"space": {}}, SettingsError),
    ({"space": {"lr": 0.1}}, SettingsError),
    ({"space": {"lr": []}}, SettingsError),
    ({"space": {"lr": [0.1, 0.1]}}, SettingsError),
    ({"space": {"lr": [math.nan]}}, SettingsError),
    ({"space": {3: [0.1]}}, SettingsError),
    ({"criterion": "loss"}, SettingsError),
    ({"criterion": None}, SettingsError),
    ({"criterion": lowest("los")}, MetricError),
    ({"criterion": smallest_gap("loss", "val")}, MetricError),
    ({"criterion": phased(lowest("loss"), lowest("x"))}, MetricError),
    ({"adapt_every": 0}, SettingsError),
    ({"adapt_every": 2.0}, SettingsError),
    ({"adapt_every": "4"}, SettingsError),
    ({"adapt_every": True, "try_for": 1}, SettingsError),
    ({"try_for": 0}, SettingsError),
    ({"try_for": -1}, SettingsError),
    ({"try_for": 5}, SettingsError),
    ({"epochs": 0}, SettingsError),
    ({"epochs": 1.5}, SettingsError),
    ({"proposer": "full"}, SettingsError),
    ({"proposer": FullGrid}, SettingsError),
    ({"selection": 3}, SettingsError),
    ({"selection": Best}, SettingsError),
    ({"executor": 8}, SettingsError),
    ({"executor": Serial}, SettingsError),
    ({"keep": "both"}, SettingsError),
    ({"keep": ""}, SettingsError),
    ({"randomness": "rare"}, SettingsError),
    ({"proposer": Placebo(2), "randomness": "common"}, SettingsError),
    ({"trainer": bare(), "randomness": "independent"}, SettingsError),
    ({"trainer": bare(), "proposer": Placebo(2)}, SettingsError),
    ({"initial": 0.1}, SettingsError),
    ({"initial": {}}, SettingsError),
    ({"initial": {"lr": 3.0}}, SettingsError),
    ({"initial": {"lr": "0.1"}}, SettingsError),
    ({"initial": {"lr": 0.1, "wd": 0}}, SettingsError),
    ({"initial": {"lr": 0.05}}, SettingsError),
    ({"seed": -1}, SettingsError),
    ({"seed": 1.0}, SettingsError),
    ({"seed": True}, SettingsError),
    ({"callbacks": [print, 3]}, SettingsError),
    ({"callbacks": None}, SettingsError),
    ({"trainer": Measures(0.5)}, MetricError),
    ({"trainer": Measures({"loss": "1"})}, MetricError),
    ({"trainer": Measures({"loss": np.ones(2)})}, MetricError),
    ({"space": {"lr": ["a", "b"]}, "proposer": Interpolation()}, SettingsError),
]


@pytest.mark.parametrize(("changes", "error"), CONSTRUCTION)
def test_what_cannot_work_is_refused_before_anything_is_trained(
    changes: dict[str, Any], error: type[Exception]
) -> None:
    trainer = changes.get("trainer", Toy())
    before = bits(trainer.get_state()) if isinstance(trainer, Toy) else None
    with raises(error) as caught:
        make(**({"trainer": trainer} | changes))
    assert isinstance(caught.value, DynhpError)
    assert before is None or bits(trainer.get_state()) == before
    assert getattr(trainer, "trained", 0) == 0


def test_arguments_after_the_second_have_names() -> None:
    with pytest.raises(TypeError, match="positional"):
        DynamicGridAdapter(Toy(), {"lr": [0.1]}, lowest("loss"), 4, 2)  # type: ignore[call-arg,misc]


CALLS: list[tuple[Callable[[Any], Any], type[Exception]]] = [
    (lambda adapter: adapter.run(0), SettingsError),
    (lambda adapter: adapter.run(None), SettingsError),
    (lambda adapter: adapter.run(10.0), SettingsError),
    (lambda adapter: next(adapter.rounds(-3)), SettingsError),
    (lambda adapter: adapter.run(4) and adapter.step(), SettingsError),
    (lambda adapter: plan_for(adapter, 0), SettingsError),
    (lambda adapter: plan(epochs=8, adapt_every=2, try_for=3, candidates=3), SettingsError),
    (lambda adapter: replay("{}", adapter.trainer), SettingsError),
    (lambda adapter: replay([(1, {})], adapter.trainer), SettingsError),
    (lambda adapter: replay(Schedule(()), None), SettingsError),
    (
        lambda adapter: replay(
            Schedule((Segment(epochs=1, values=Candidate({"x": 0}), seed=1),)), Diary({0: 1})
        ),
        SettingsError,
    ),
    (lambda adapter: Schedule.from_json("nothing"), SettingsError),
    (lambda adapter: OneAxis(FullGrid), SettingsError),
    (lambda adapter: Racing(keep=1), SettingsError),
]


@pytest.mark.parametrize(("call", "error"), CALLS)
def test_a_bad_call_is_refused_and_harms_nothing(call: Any, error: type[Exception]) -> None:
    trainer = Toy()
    adapter = make(trainer)
    adapter.run(4)
    before, state = adapter.state_dict(), bits(trainer.get_state())
    with raises(error):
        call(adapter)
    assert adapter.state_dict() == before
    assert bits(trainer.get_state()) == state


def test_a_trainer_that_refuses_a_name_ends_the_run() -> None:
    class Strict(Toy):
        def train_k(self, k: int, values: Any) -> None:
            raise SettingsError("unknown hyperparameter 'lr'")

    trainer = Strict()
    before = bits(trainer.get_state())
    with raises(SettingsError):
        make(trainer).run(4)
    assert bits(trainer.get_state()) == before


def test_metrics_that_turn_into_something_else_end_the_run() -> None:
    trainer = Diary({0: 1, 1: 2})
    adapter = make(trainer, space={"x": [0, 1]})
    trainer.metrics = lambda: {"loss": "low"}  # type: ignore[method-assign,assignment,return-value]
    with raises(MetricError):
        adapter.step()
    assert trainer.diary == ()


def test_contract_errors_are_not_settings_errors() -> None:
    assert not issubclass(ContractError, SettingsError)
    assert issubclass(SettingsError, ValueError)
