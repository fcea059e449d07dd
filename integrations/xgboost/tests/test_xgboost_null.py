"""A dry run tries everything and ends as xgboost.train ends, to the last bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import xgboost as xgb

from dynhp import Placebo
from dynhp.errors import NotRepeatable, SettingsError
from dynhp_xgboost import adapted_train, xgboost_trainer
from dynhp_xgboost.boosters import DrawingBooster, LoadedBooster, RetrainedBooster
from tests.support.messages import raises

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 6))
Y = (X[:, 0] * X[:, 1] + 0.5 * RNG.normal(size=200) > 0).astype(float)
TRAIN, VAL = xgb.DMatrix(X[:150], Y[:150]), xgb.DMatrix(X[150:], Y[150:])
PARAMS = {"objective": "binary:logistic", "max_depth": 3, "nthread": 1}
RUN: dict[str, Any] = {
    "space": {"max_depth": [1, 3, 6], "eta": [0.05, 0.3, 1.0]},
    "evals": [(VAL, "val")],
    "adapt_every": 4,
    "try_for": 2,
}


def trees(booster: xgb.Booster) -> bytes:
    return bytes(booster.save_raw("json"))


KINDS: list[dict[str, Any]] = [
    {},
    {"tree_method": "exact"},
    {"tree_method": "approx", "max_bin": 16},
    {"eval_metric": ["auc", "logloss"]},
    {"objective": "multi:softprob", "num_class": 2},
    {"objective": "reg:absoluteerror"},
    {"subsample": 0.5},
    {"colsample_bytree": 0.5, "colsample_bynode": 0.5, "seed": 7},
    {"booster": "dart", "rate_drop": 0.3},
    {"monotone_constraints": (1, 0, 0, 0, 0, 0)},
]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_trees_and_configuration_are_those_of_xgboost_train(kind: dict[str, Any]) -> None:
    params = {**PARAMS, **kind}
    plain = xgb.train(params, TRAIN, 10)
    booster, history = adapted_train(
        params, TRAIN, 10, criterion=lambda *_: 0.0, dry_run=True, **RUN
    )
    assert trees(booster) == trees(plain)
    assert booster.save_config() == plain.save_config()
    assert sum(len(round_.tries) for round_ in history) == 27


def test_the_same_with_an_objective_and_a_metric_of_ones_own() -> None:
    def squared(predt: Any, data: xgb.DMatrix) -> Any:
        return predt - data.get_label(), np.ones_like(predt)

    def error(predt: Any, data: xgb.DMatrix) -> tuple[str, float]:
        return "error_of_mine", float(np.mean((predt - data.get_label()) ** 2))

    own: dict[str, Any] = {"obj": squared, "custom_metric": error}
    params = {"max_depth": 3, "nthread": 1, "base_score": 0.5}
    plain = xgb.train(params, TRAIN, 8, **own)
    booster, history = adapted_train(
        params, TRAIN, 8, minimize="val-error_of_mine", dry_run=True, **own, **RUN
    )
    assert trees(booster) == trees(plain)
    assert 0 < history[-1].metrics["val-error_of_mine"] < 1


def test_by_number_of_the_round_tries_leave_no_trace() -> None:
    """With ``seed_per_iteration`` the line without tries is that of the same trainer."""
    params = {**PARAMS, "subsample": 0.5, "colsample_bytree": 0.5, "seed_per_iteration": True}
    alone = xgboost_trainer(params, TRAIN, space=RUN["space"], evals=RUN["evals"])
    assert isinstance(alone, DrawingBooster)
    alone.train_k(10, {"max_depth": 3, "eta": 0.3})
    booster, _ = adapted_train(params, TRAIN, 10, minimize="val-logloss", dry_run=True, **RUN)
    assert trees(booster) == trees(alone.booster)
    assert len(set(booster.get_dump())) == 10  # not the same rows and columns in every round


def test_a_loaded_booster_draws_once_more_than_one_that_goes_on() -> None:
    """The trap: without a new booster in every round, rounds after a restore draw other rows."""
    params = {**PARAMS, "subsample": 0.5, "seed_per_iteration": True}
    sound = xgboost_trainer(params, TRAIN, space=RUN["space"], evals=RUN["evals"])
    assert isinstance(sound, DrawingBooster)
    values = {"max_depth": 3, "eta": 0.3}
    dumps = []
    for trainer in (LoadedBooster(sound.task), sound):
        trainer.train_k(3, values)
        state: Any = trainer.get_state()
        trainer.train_k(1, values)
        on = trainer.booster.get_dump()[3]
        trainer.set_state(state)
        trainer.train_k(1, values)
        dumps.append(trainer.booster.get_dump()[3] == on)
    assert dumps == [False, True]


def test_a_placebo_has_random_numbers_of_its_own() -> None:
    params = {**PARAMS, "subsample": 0.5, "seed_per_iteration": True}
    run = {**RUN, "proposer": Placebo(3), "space": {"max_depth": [1, 3, 6]}}
    _, history = adapted_train(params, TRAIN, 8, minimize="val-logloss", **run)
    for round_ in history:
        assert len({try_.series[-1]["val-logloss"] for try_ in round_.tries}) == 3
    with raises(SettingsError):
        adapted_train(PARAMS, TRAIN, 8, minimize="val-logloss", **run)


def test_a_line_that_cannot_be_trained_again_stops_the_run() -> None:
    """Rows that are drawn anew from outside, as a data iterator or threads may do it."""
    params = {**PARAMS, "subsample": 0.5}
    trainer = xgboost_trainer(params, TRAIN, space=RUN["space"], evals=RUN["evals"])
    assert isinstance(trainer, RetrainedBooster)
    trainer.train_k(2, {"max_depth": 3, "eta": 0.3})
    state = trainer.get_state()
    trainer.train_k(1, {"max_depth": 1, "eta": 0.3})
    other = xgboost_trainer({**params, "seed": 9}, TRAIN, space=RUN["space"], evals=RUN["evals"])
    with raises(NotRepeatable):
        other.set_state(state)
    trainer.set_state(state)
    assert trainer.get_state() == state


def test_measuring_before_the_first_round_changes_nothing() -> None:
    trainer = xgboost_trainer(PARAMS, TRAIN, space=RUN["space"], evals=RUN["evals"])
    assert list(trainer.metrics()) == ["val-logloss"]
    trainer.train_k(1, {"max_depth": 3, "eta": 0.3})
    assert trees(trainer.booster) == trees(xgb.train(PARAMS, TRAIN, 1))
