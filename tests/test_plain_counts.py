"""Counts: whole numbers of numpy are taken as ints, what is none is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dynhp import (
    DynamicGridAdapter,
    Float,
    Int,
    Neighbors,
    Placebo,
    Racing,
    Shadow,
    complete_search,
    fixed,
    lowest,
    plan_for,
    random_search,
    smoothed,
)
from dynhp._checks import require_count, require_seed, require_trainer, require_whole
from dynhp.errors import SettingsError
from dynhp.testing import NoisyQuadratic, Quadratic
from tests.support.messages import raises

SPACE = {"lr": [0.1, 0.2]}


@pytest.mark.parametrize("kind", [np.int64, np.int32, np.uint8, int])
def test_whole_numbers_of_numpy_are_taken_as_ints(kind: Any) -> None:
    for made in (
        require_count("n", kind(3)),
        require_whole("n", kind(3), least=0, most=3),
        require_seed("n", kind(3)),
        Racing(every=kind(3)).every,
        Neighbors(kind(3)).radius,
        Placebo(kind(3)).k,
        Float(0, 1, points=kind(3)).points,
        Int(0, 9, points=kind(3)).points,
    ):
        assert type(made) is int
        assert made == 3
    assert repr(smoothed(lowest("loss"), kind(3))) == "smoothed(lowest('loss'), 3)"


@pytest.mark.parametrize("kind", [np.int64, int])
def test_a_run_is_the_same_whoever_made_its_counts(kind: Any) -> None:
    adapter = DynamicGridAdapter(
        NoisyQuadratic(),
        SPACE,
        criterion=lowest("loss"),
        adapt_every=kind(4),
        try_for=kind(2),
        epochs=kind(8),
        seed=kind(7),
    )
    policy = adapter.policy
    for count in (policy.adapt_every, policy.try_for, adapter.epochs, policy.seed):
        assert type(count) is int
    assert type(plan_for(adapter, kind(8)).most.total) is int
    history = adapter.run(kind(8))
    assert {type(round_.epochs) for round_ in history} == {int}
    assert "int64" not in repr(adapter.state_dict())


def test_baselines_and_wrappers_take_them_too() -> None:
    eight = np.int64(8)
    criterion = lowest("loss")
    assert (
        type(complete_search(Quadratic(), SPACE, criterion=criterion, epochs=eight).epochs) is int
    )
    assert type(random_search(Quadratic(), SPACE, epochs=eight, seed=np.int64(1)).epochs) is int
    assert type(fixed(Quadratic(), {"lr": 0.1}, epochs=eight).epochs) is int
    adapter = DynamicGridAdapter(Quadratic(), SPACE, criterion=criterion, adapt_every=2, try_for=1)
    assert type(Shadow(adapter, criterion=criterion).run(eight).cost.total) is int


@pytest.mark.parametrize("value", [True, np.True_, 3.0, np.float64(3), "3", None, 0, np.int64(0)])
def test_other_things_are_no_counts(value: Any) -> None:
    with raises(SettingsError):
        require_count("n", value)


@pytest.mark.parametrize(
    "name",
    ["get_state", "set_state", "train_k", "metrics", "hyperparameters", "reseed", "try_batch"],
)
def test_a_method_that_is_an_attribute_is_named(name: str) -> None:
    trainer: Any = Quadratic()
    setattr(trainer, name, {"lr": 0.1})
    message = f"{name} of a trainer must be a method, got {{'lr': 0.1}}; write def {name}"
    for make in (require_trainer, lambda broken: fixed(broken, {"lr": 0.1}, epochs=1)):
        with pytest.raises(SettingsError) as caught:
            make(trainer)
        assert str(caught.value).startswith(message)


def test_an_optional_method_may_be_none() -> None:
    trainer: Any = Quadratic()
    trainer.reseed = trainer.hyperparameters = None
    require_trainer(trainer)
