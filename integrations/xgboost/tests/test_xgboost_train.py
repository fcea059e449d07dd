"""adapted_train: an ordinary booster, a schedule that holds, and mistakes with their names."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xgboost as xgb

from dynhp import errors, plan, plateau, rescue, schedule_of, spent
from dynhp.errors import Hint, MetricError, SettingsError, ValueNotUsed
from dynhp.testing import check_trainer
from dynhp_xgboost import adapted_train, xgboost_trainer
from dynhp_xgboost.example import example
from tests.support.messages import raises

RNG = np.random.default_rng(1)
X = RNG.normal(size=(200, 4))
Y = (X[:, 0] * X[:, 1] > 0).astype(float)
TRAIN, VAL = xgb.DMatrix(X[:150], Y[:150]), xgb.DMatrix(X[150:], Y[150:])
PARAMS = {"objective": "binary:logistic", "max_depth": 3, "nthread": 1}
RUN: dict[str, Any] = {
    "space": {"max_depth": [1, 3, 6]},
    "evals": [(VAL, "val")],
    "minimize": "val-logloss",
    "adapt_every": 4,
    "try_for": 2,
}


def test_the_example_obeys_all_laws() -> None:
    make, space = example()
    check_trainer(make, space, epochs=1)


def test_a_line_that_is_trained_again_obeys_all_laws() -> None:
    def make() -> Any:
        params = {**PARAMS, "subsample": 0.5, "colsample_bytree": 0.5}
        return xgboost_trainer(params, TRAIN, space=RUN["space"], evals=RUN["evals"])

    check_trainer(make, {"max_depth": [1, 6]}, epochs=1, another_process=False)


def test_the_booster_is_an_ordinary_one_with_all_trees(tmp_path: Path) -> None:
    booster, history = adapted_train(PARAMS, TRAIN, 12, **RUN)
    assert type(booster) is xgb.Booster
    assert booster.num_boosted_rounds() == 12
    booster.save_model(tmp_path / "model.json")
    again = xgb.Booster(model_file=tmp_path / "model.json")
    assert np.array_equal(again.predict(VAL), booster.predict(VAL))
    assert np.array_equal(pickle.loads(pickle.dumps(booster)).predict(VAL), booster.predict(VAL))
    measured = float(booster.eval(VAL, "val").rsplit(":", 1)[1])
    assert measured == pytest.approx(history[-1].metrics["val-logloss"])
    assert spent(history).total == plan(epochs=12, adapt_every=4, try_for=2, candidates=3).total


def test_the_schedule_trains_the_same_trees_without_dynhp() -> None:
    scores = iter([1.0, 2.0, 0.0, 0.0, 1.0, 2.0, 0.0, 2.0, 1.0])  # a choice that changes
    run = {**RUN, "criterion": lambda *_: next(scores), "minimize": None, "check": "off"}
    booster, history = adapted_train(PARAMS, TRAIN, 12, **run)
    assert len({round_.candidate["max_depth"] for round_ in history}) > 1
    plain = xgb.Booster(PARAMS, [TRAIN])
    for rounds, values in schedule_of(history).as_list():
        plain.set_param(values)
        for _ in range(rounds):
            plain.update(TRAIN, plain.num_boosted_rounds())
    assert plain.get_dump() == booster.get_dump()


def test_the_best_round_is_delivered_where_that_is_asked_for() -> None:
    noise = np.random.default_rng(2).random(150) < 0.3
    train = xgb.DMatrix(X[:150], np.where(noise, 1 - Y[:150], Y[:150]))
    run = {**RUN, "space": {"max_depth": [5, 6]}}
    params = {**PARAMS, "eta": 1.0, "max_depth": 6}
    best, _ = adapted_train(params, train, 20, keep_best=True, **run)
    last, _ = adapted_train(params, train, 20, **run)
    assert best.num_boosted_rounds() < 20
    assert float(best.eval(VAL).rsplit(":", 1)[1]) < float(last.eval(VAL).rsplit(":", 1)[1])


def test_what_is_said_under_another_name_is_in_force_at_the_start() -> None:
    trainer: Any = xgboost_trainer(
        {**PARAMS, "eta": 0.07, "lambda": 4},
        TRAIN,
        space={"learning_rate": [0.1, 0.2], "reg_lambda": [1.0, 2.0]},
        evals=RUN["evals"],
    )
    assert trainer.hyperparameters() == {"learning_rate": 0.07, "reg_lambda": 4}
    trainer.train_k(1, {"learning_rate": 0.2, "reg_lambda": 2.0})
    assert trainer.hyperparameters() == {"learning_rate": 0.2, "reg_lambda": 2}


def hints_of(params: dict[str, Any], **run: Any) -> list[str]:
    errors._given.clear()  # each hint comes once per process
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", Hint)
        adapted_train(params, TRAIN, 4, **{**RUN, **run})
    return [str(warning.message) for warning in caught if warning.category is Hint]


@pytest.mark.parametrize("name", ["eta", "learning_rate"])
def test_a_shrinkage_gets_a_hint(name: str) -> None:
    hints = hints_of(PARAMS, space={name: [0.1, 0.3]})
    assert [hint for hint in hints if f"{name}: short tries prefer large steps" in hint]
    assert not [hint for hint in hints if "too small a learning rate" in hint]


def test_hidden_generators_and_training_data_as_judges_get_a_hint() -> None:
    assert "subsample: XGBoost draws from a generator" in hints_of({**PARAMS, "subsample": 0.5})[0]
    assert not hints_of({**PARAMS, "subsample": 0.5, "seed_per_iteration": True})
    hints = hints_of(PARAMS, evals=[(TRAIN, "train")], minimize="train-logloss")
    assert "rewards overfitting" in hints[0]


def quantiles() -> xgb.DMatrix:
    return xgb.QuantileDMatrix(X[:150], Y[:150])


MISTAKES: list[dict[str, Any]] = [
    {"space": {"max_dept": [1, 2]}},
    {"space": {"num_class": [2, 3]}},
    {"space": {"num_parallel_tree": [1, 3]}},
    {"space": {"rate_drop": [0.1, 0.5]}},
    {"dtrain": quantiles, "space": {"max_bin": [16, 256]}},
    {"dtrain": lambda: X},
    {"evals": []},
    {"evals": VAL},
    {"evals": None},
    {"params": ["eta"]},
    {"minimize": None},
    {"steps": 4},
    {"try_for": 9},
    {"num_boost_round": 0},
]


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_named_before_anything_is_trained(mistake: dict[str, Any]) -> None:
    given = {**RUN, **mistake}
    params, rounds = given.pop("params", PARAMS), given.pop("num_boost_round", 8)
    data = given.pop("dtrain", lambda: TRAIN)()
    with raises(SettingsError):
        adapted_train(params, data, rounds, **given)


def test_a_wrong_metric_and_a_value_without_effect_stop_the_run() -> None:
    with raises(MetricError):
        adapted_train(PARAMS, TRAIN, 8, **{**RUN, "minimize": "logloss"})
    unused = {**RUN, "space": {"max_cat_threshold": [8, 64]}}  # there are no categories
    with raises(ValueNotUsed):
        adapted_train(PARAMS, TRAIN, 8, **unused)


@pytest.mark.filterwarnings("ignore::dynhp.errors.Hint")
def test_presets_with_a_way_back_work() -> None:
    params = {**PARAMS, "learning_rate": 1.0}
    lower = plateau("learning_rate", default=1.0, loss="val-logloss", patience=2)
    booster, history = adapted_train(params, TRAIN, 20, evals=RUN["evals"], policy=lower)
    assert booster.num_boosted_rounds() == history.epochs == 20
    assert any(round_.abandoned for round_ in history)
    saved = rescue("learning_rate", default=1.0, loss="val-logloss", spike=1.01, window=3)
    booster, history = adapted_train(params, TRAIN, 20, evals=RUN["evals"], policy=saved)
    assert booster.num_boosted_rounds() == history.epochs == 20
    assert history[-1].candidate["learning_rate"] < 1.0
