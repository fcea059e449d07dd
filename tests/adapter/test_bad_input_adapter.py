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
        get_state=toy.get_state,
        set_state=toy.set_state,
        train_k=toy.train_k,
        metrics=toy.metrics,
    )


class Measures(Toy):
    """Measures whatever it is given."""

    def __init__(self, measured: Any) -> None:
        super().__init__()
        self.measured = measured

    def metrics(self) -> Any:
        return self.measured


CONSTRUCTION: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"trainer": None}, SettingsError, "None lacks get_state, set_state, train_k, metrics"),
    ({"trainer": Toy}, SettingsError, "a trainer, not its class, is needed, got <class"),
    ({"trainer": "toy"}, SettingsError, "'toy' lacks get_state"),
    ({"space": 3}, SettingsError, "a space is a mapping .*, got 3; write {'name'"),
    ({"space": {}}, SettingsError, "at least one hyperparameter, got an empty mapping"),
    ({"space": {"lr": 0.1}}, SettingsError, "lr: an axis must be .*, got 0.1"),
    ({"space": {"lr": []}}, SettingsError, "lr: Ordered: at least one value is needed"),
    ({"space": {"lr": [0.1, 0.1]}}, SettingsError, "lr: .* values must differ, got 0.1 twice"),
    ({"space": {"lr": [math.nan]}}, SettingsError, "lr: .* values must be finite, got nan"),
    ({"space": {3: [0.1]}}, SettingsError, "name must be a non-empty string, got 3"),
    ({"criterion": "loss"}, SettingsError, "a criterion must be a callable .*, got 'loss'; for"),
    ({"criterion": None}, SettingsError, "must be said once, as minimize=.*, got none of them"),
    ({"criterion": lowest("los")}, MetricError, "no metric 'los'; did you mean 'loss'. Known"),
    ({"criterion": smallest_gap("loss", "val")}, MetricError, "no metric 'val'; Known: 'loss'"),
    ({"criterion": phased(lowest("loss"), lowest("x"))}, MetricError, "no metric 'x'"),
    ({"adapt_every": 0}, SettingsError, "adapt_every must be a whole number above 0, got 0"),
    ({"adapt_every": 2.0}, SettingsError, "adapt_every must be a whole number above 0, got 2.0"),
    ({"adapt_every": "4"}, SettingsError, "adapt_every must be .* above 0, got '4'"),
    ({"adapt_every": True, "try_for": 1}, SettingsError, "adapt_every must be .*, got True"),
    ({"try_for": 0}, SettingsError, "try_for must be a whole number above 0, or .* got 0"),
    ({"try_for": -1}, SettingsError, "try_for must be a whole number above 0, or .* got -1"),
    ({"try_for": None}, SettingsError, "try_for must be a whole number above 0, or .* got None"),
    ({"try_for": 5}, SettingsError, "at most adapt_every, got try_for=5, adapt_every=4"),
    ({"epochs": 0}, SettingsError, "epochs must be a whole number above 0, got 0"),
    ({"epochs": 1.5}, SettingsError, "epochs must be a whole number above 0, got 1.5"),
    ({"proposer": "full"}, SettingsError, "proposer must be a Proposer such as FullGrid.., got 'f"),
    ({"proposer": FullGrid}, SettingsError, "proposer must be a Proposer .*, got <class"),
    ({"selection": 3}, SettingsError, "selection must be a Selection such as Best.., got 3"),
    ({"selection": Best}, SettingsError, "selection must be a Selection .*, got <class"),
    ({"executor": 8}, SettingsError, "executor must be an Executor such as Serial.., got 8"),
    ({"executor": Serial}, SettingsError, "executor must be an Executor .*, got <class"),
    ({"keep": "both"}, SettingsError, "keep must be 'winner' or 'value', got 'both'"),
    ({"keep": None}, SettingsError, "keep must be 'winner' or 'value', got None"),
    ({"randomness": "rare"}, SettingsError, "must be 'common' or 'independent', got 'rare'"),
    (
        {"proposer": Placebo(2), "randomness": "common"},
        SettingsError,
        "Placebo.k=2. makes sense only with randomness='independent', got 'common'; leave",
    ),
    (
        {"trainer": bare(), "randomness": "independent"},
        SettingsError,
        "randomness='independent' needs a trainer with reseed.seed., got trainer_from.get_state",
    ),
    ({"trainer": bare(), "proposer": Placebo(2)}, SettingsError, "needs a trainer with reseed"),
    ({"initial": 0.1}, SettingsError, "must be a mapping from names to values, got 0.1"),
    ({"initial": {}}, SettingsError, "no value for hyperparameter 'lr'; it lies in Ordered"),
    ({"initial": {"lr": 3.0}}, SettingsError, "lr must lie in Ordered.0.01, 0.1., got 3.0"),
    ({"initial": {"lr": "0.1"}}, SettingsError, "lr must lie in .*, got '0.1'"),
    ({"initial": {"lr": 0.1, "wd": 0}}, SettingsError, "unknown hyperparameter 'wd'"),
    ({"initial": {"lr": 0.05}}, SettingsError, "initial value {'lr': 0.05} is not on the grid"),
    ({"seed": -1}, SettingsError, "seed must be a whole number of 0 or more, got -1"),
    ({"seed": None}, SettingsError, "seed must be a whole number of 0 or more, got None"),
    ({"seed": 1.0}, SettingsError, "seed must be a whole number of 0 or more, got 1.0"),
    ({"seed": True}, SettingsError, "seed must be a whole number of 0 or more, got True"),
    ({"callbacks": [print, 3]}, SettingsError, "callbacks must be a list .*, got .*, 3]"),
    ({"callbacks": None}, SettingsError, "callbacks must be a list of functions .*, got None"),
    ({"trainer": Measures(0.5)}, MetricError, "metrics.. must return a mapping .*, got 0.5"),
    ({"trainer": Measures({"loss": "1"})}, MetricError, "'loss' must be a number, got '1'"),
    ({"trainer": Measures({"loss": np.ones(2)})}, MetricError, "'loss' must be a number, got arr"),
    (
        {"space": {"lr": ["a", "b"]}, "proposer": Interpolation()},
        SettingsError,
        "Interpolation: lr must be a range or a rising or falling list .*; use Neighbors",
    ),
]


@pytest.mark.parametrize(("changes", "kind", "message"), CONSTRUCTION)
def test_what_cannot_work_is_refused_before_anything_is_trained(
    changes: dict[str, Any], kind: type[Exception], message: str
) -> None:
    trainer = changes.get("trainer", Toy())
    before = bits(trainer.get_state()) if isinstance(trainer, Toy) else None
    with pytest.raises(kind, match=message) as caught:
        make(**({"trainer": trainer} | changes))
    assert isinstance(caught.value, DynhpError)
    assert before is None or bits(trainer.get_state()) == before
    assert getattr(trainer, "trained", 0) == 0


def test_an_empty_word_is_no_word() -> None:
    with pytest.raises(SettingsError, match="keep must be 'winner' or 'value', got ''"):
        make(Toy(), keep="")


def test_arguments_after_the_second_have_names() -> None:
    with pytest.raises(TypeError, match="positional"):
        DynamicGridAdapter(Toy(), {"lr": [0.1]}, lowest("loss"), 4, 2)  # type: ignore[call-arg,misc]


CALLS: list[tuple[Callable[[Any], Any], type[Exception], str]] = [
    (lambda adapter: adapter.run(0), SettingsError, "epochs must be a whole number above 0, got 0"),
    (lambda adapter: adapter.run(None), SettingsError, "epochs must be .*, got None"),
    (lambda adapter: adapter.run(10.0), SettingsError, "epochs must be .*, got 10.0"),
    (lambda adapter: next(adapter.rounds(-3)), SettingsError, "epochs must be .*, got -3"),
    (lambda adapter: adapter.run(4) and adapter.step(), SettingsError, "has its 4 planned epochs"),
    (lambda adapter: plan_for(adapter, 0), SettingsError, "epochs must be .*, got 0"),
    (
        lambda adapter: plan(epochs=8, adapt_every=2, try_for=3, candidates=3),
        SettingsError,
        "try_for must be at most adapt_every, got try_for=3, adapt_every=2",
    ),
    (
        lambda adapter: replay("{}", adapter.trainer),
        SettingsError,
        "a Schedule is needed, got '{}'",
    ),
    (lambda adapter: replay([(1, {})], adapter.trainer), SettingsError, "Schedule.from_json.text."),
    (lambda adapter: replay(Schedule(()), None), SettingsError, "None lacks get_state"),
    (
        lambda adapter: replay(
            Schedule((Segment(epochs=1, values=Candidate({"x": 0}), seed=1),)), Diary({0: 1})
        ),
        SettingsError,
        "needs a trainer with reseed",
    ),
    (lambda adapter: Schedule.from_json("nothing"), SettingsError, "a schedule must be JSON"),
    (lambda adapter: OneAxis(FullGrid), SettingsError, "along must be a proposer"),
    (lambda adapter: Racing(keep=1), SettingsError, "keep must lie between 0 and 1, got 1"),
]


@pytest.mark.parametrize(("call", "kind", "message"), CALLS)
def test_a_bad_call_is_refused_and_harms_nothing(
    call: Any, kind: type[Exception], message: str
) -> None:
    trainer = Toy()
    adapter = make(trainer)
    adapter.run(4)
    before, state = adapter.state_dict(), bits(trainer.get_state())
    with pytest.raises(kind, match=message):
        call(adapter)
    assert adapter.state_dict() == before
    assert bits(trainer.get_state()) == state


def test_a_trainer_that_refuses_a_name_ends_the_run() -> None:
    class Strict(Toy):
        def train_k(self, k: int, values: Any) -> None:
            raise SettingsError("unknown hyperparameter 'lr'")

    trainer = Strict()
    before = bits(trainer.get_state())
    with pytest.raises(SettingsError, match="unknown hyperparameter 'lr'"):
        make(trainer).run(4)
    assert bits(trainer.get_state()) == before


def test_metrics_that_turn_into_something_else_end_the_run() -> None:
    trainer = Diary({0: 1, 1: 2})
    adapter = make(trainer, space={"x": [0, 1]})
    trainer.metrics = lambda: {"loss": "low"}  # type: ignore[method-assign,assignment,return-value]
    with pytest.raises(MetricError, match="metric 'loss' must be a number, got 'low'"):
        adapter.step()
    assert trainer.diary == ()


def test_contract_errors_are_not_settings_errors() -> None:
    assert not issubclass(ContractError, SettingsError)
    assert issubclass(SettingsError, ValueError)
