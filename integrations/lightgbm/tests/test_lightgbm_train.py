"""adapted_train: an ordinary booster, a schedule that holds, and mistakes with their names."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import lightgbm as lgb
import numpy as np
import pytest

from dynhp import errors, plan, plateau, rescue, schedule_of, spent
from dynhp.errors import Hint, MetricError, SettingsError, ValueNotUsed
from dynhp.testing import check_trainer
from dynhp_lightgbm import adapted_train, lightgbm_trainer
from dynhp_lightgbm.example import example
from dynhp_lightgbm.parameters import ADAPTABLE
from tests.support.messages import raises

RNG = np.random.default_rng(1)
X = RNG.normal(size=(240, 5))
X[:, 4] = RNG.integers(0, 8, 240)
Y = (X[:, 0] * X[:, 1] + 0.3 * (X[:, 4] % 2) > 0).astype(float)
PARAMS: dict[str, Any] = {
    "objective": "binary",
    "num_leaves": 7,
    "min_data_in_leaf": 5,
    "num_threads": 1,
    "force_col_wise": True,
    "verbosity": -1,
}
RUN: dict[str, Any] = {
    "space": {"num_leaves": [3, 7, 15]},
    "minimize": "valid_0-binary_logloss",
    "adapt_every": 4,
    "try_for": 2,
}


def train(params: dict[str, Any] = PARAMS, rounds: int = 12, **changed: Any) -> Any:
    """A run on data of its own; ``valid_sets`` and ``data`` are made of them."""
    data = lgb.Dataset(X[:180], Y[:180], categorical_feature=[4])
    val = lgb.Dataset(X[180:], Y[180:], reference=data)
    given = {**RUN, "valid_sets": lambda data, val: [val], **changed}
    given["valid_sets"] = given["valid_sets"](data, val)
    chosen = given.pop("data", lambda data: data)(data)
    return adapted_train(params, chosen, rounds, **given)


def test_the_example_obeys_all_laws() -> None:
    make, space = example()
    check_trainer(make, space, epochs=1)


def test_a_line_that_is_trained_again_obeys_all_laws() -> None:
    def make() -> Any:
        data = lgb.Dataset(X[:180], Y[:180])
        params = {**PARAMS, "bagging_fraction": 0.5, "bagging_freq": 2}
        return lightgbm_trainer(params, data, space=RUN["space"], valid_sets=[data])

    check_trainer(make, {"num_leaves": [3, 15]}, epochs=1, another_process=False)


def test_the_booster_is_an_ordinary_one_with_all_trees() -> None:
    booster, history = train()
    assert type(booster) is lgb.Booster
    assert booster.num_trees() == 12
    again = lgb.Booster(model_str=booster.model_to_string())
    assert np.array_equal(again.predict(X), booster.predict(X))
    assert np.array_equal(pickle.loads(pickle.dumps(booster)).predict(X), booster.predict(X))
    p = np.asarray(booster.predict(X[180:]))
    loss = -np.mean(np.log(np.where(Y[180:] == 1, p, 1 - p)))
    assert loss == pytest.approx(history[-1].metrics["valid_0-binary_logloss"])
    assert spent(history).total == plan(epochs=12, adapt_every=4, try_for=2, candidates=3).total


@pytest.mark.parametrize("more", [{}, {"feature_fraction": 0.5}])
def test_the_schedule_trains_the_same_trees_without_dynhp(more: dict[str, Any]) -> None:
    scores = iter([1.0, 2.0, 0.0, 0.0, 1.0, 2.0, 0.0, 2.0, 1.0])  # a choice that changes
    params = {**PARAMS, **more}
    booster, history = train(params, criterion=lambda *_: next(scores), minimize=None, check="off")
    values = [value["num_leaves"] for n, value in schedule_of(history).as_list() for _ in range(n)]
    assert len(set(values)) > 1
    plain = lgb.Booster(params, lgb.Dataset(X[:180], Y[:180], categorical_feature=[4]))
    for before, value in zip([7, *values], values, strict=False):
        if value != before:
            plain.reset_parameter({"num_leaves": value})
        plain.update()
    trees = booster.model_to_string().partition("\nparameters:")[0]
    assert plain.model_to_string().startswith(trees)


def test_the_best_round_is_delivered_where_that_is_asked_for() -> None:
    params = {**PARAMS, "learning_rate": 1.0, "num_leaves": 15}
    run: dict[str, Any] = {"space": {"num_leaves": [15, 16]}}
    best, _ = train(params, 30, keep_best=True, **run)
    last, _ = train(params, 30, **run)
    assert best.num_trees() < last.num_trees()


def test_data_that_were_freed_cost_time_and_nothing_else() -> None:
    data = lgb.Dataset(X[:180], Y[:180])
    val = lgb.Dataset(X[180:], Y[180:], reference=data)
    lgb.train(PARAMS, data, 1, valid_sets=[val])
    freed, _ = adapted_train(PARAMS, data, 12, valid_sets=[val], **RUN)
    data = lgb.Dataset(X[:180], Y[:180])
    val = lgb.Dataset(X[180:], Y[180:], reference=data)
    kept, _ = adapted_train(PARAMS, data, 12, valid_sets=[val], **RUN)
    assert freed.model_to_string() == kept.model_to_string()


VALUES: dict[str, tuple[Any, Any]] = {
    **dict.fromkeys(ADAPTABLE, (0.1, 3.0)),
    **{name: (0.3, 0.9) for name in ADAPTABLE if "fraction" in name or "rate" in name},
    **{name: (2, 40) for name in ("num_leaves", "max_depth", "min_data_in_leaf", "max_drop")},
    **{name: (1, 30) for name in ADAPTABLE if name.startswith("max_cat")},
    **{"min_data_per_group": (5, 100), "cat_smooth": (1.0, 99.0), "cat_l2": (1.0, 99.0)},
    **{"extra_trees": (False, True), "cegb_penalty_split": (0.0, 0.1), "max_delta_step": (0, 0.1)},
}


@pytest.mark.parametrize("name", ADAPTABLE)
def test_everything_that_may_be_adapted_has_an_effect(name: str) -> None:
    """By LightGBM itself, on the way; what has none would be adapted in vain."""
    params = {**PARAMS, "feature_pre_filter": False, "bagging_freq": 1, "max_cat_to_onehot": 1}
    if "drop" in name:
        params |= {"boosting": "dart", "drop_rate": 0.9, "skip_drop": 0.0}
    data, models = lgb.Dataset(X, Y, categorical_feature=[4], params=params), []
    for value in VALUES[name]:
        booster = lgb.Booster(params, data)
        booster.update()
        booster.reset_parameter({name: value})
        for _ in range(8):
            booster.update()
        models.append(booster.model_to_string().partition("\nparameters:")[0])
    assert models[0] != models[1]


def test_what_lightgbm_shows_as_in_force_may_have_no_effect() -> None:
    """Why there is a list: the read-back alone would believe it."""
    data = lgb.Dataset(X, Y)
    booster, other = lgb.Booster(PARAMS, data), lgb.Booster(PARAMS, data)
    booster.reset_parameter({"scale_pos_weight": 9.0})
    for each in (booster, other):
        each.update()
    models = [each.model_to_string() for each in (booster, other)]
    assert "[scale_pos_weight: 9]" in models[0]
    assert len({model.partition("\nparameters:")[0] for model in models}) == 1


def hints_of(params: dict[str, Any], **run: Any) -> list[str]:
    errors._given.clear()  # each hint comes once per process
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", Hint)
        train(params, 4, **run)
    return [str(warning.message) for warning in caught if warning.category is Hint]


def test_a_shrinkage_gets_a_hint() -> None:
    hints = hints_of(PARAMS, space={"learning_rate": [0.1, 0.3]})
    assert [hint for hint in hints if "learning_rate: short tries prefer large steps" in hint]
    assert not [hint for hint in hints if "too small a learning rate" in hint]


def test_hidden_generators_and_training_data_as_judges_get_a_hint() -> None:
    assert "feature_fraction: LightGBM draws" in hints_of({**PARAMS, "feature_fraction": 0.5})[0]
    hints = hints_of(
        PARAMS, valid_sets=lambda data, val: [data], minimize="training-binary_logloss"
    )
    assert "rewards overfitting" in hints[0]


MISTAKES: list[dict[str, Any]] = [
    {"space": {"num_leafs": [3, 7]}},
    {"space": {"eta": [0.1, 0.2]}},
    {"space": {"max_bin": [15, 255]}},
    {"space": {"scale_pos_weight": [1.0, 9.0]}},
    {"space": {"bagging_fraction": [0.5, 0.9]}},
    {"space": {"min_data_in_leaf": [2, 40]}},
    {"space": {"num_leaves": [1, 7]}},
    {"params": {**PARAMS, "data_sample_strategy": "goss"}},
    {"params": 3},
    {"data": lambda data: X},
    {"valid_sets": lambda data, val: []},
    {"valid_sets": lambda data, val: None},
    {"minimize": None},
    {"steps": 4},
]


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_named_before_anything_is_trained(mistake: dict[str, Any]) -> None:
    with raises(SettingsError):
        train(**mistake)


def test_a_wrong_metric_and_a_value_without_effect_stop_the_run() -> None:
    with raises(MetricError):
        train(minimize="binary_logloss")
    with raises(ValueNotUsed):
        train(space={"max_depth": [60, 63]})


@pytest.mark.filterwarnings("ignore::dynhp.errors.Hint")
def test_presets_with_a_way_back_work() -> None:
    loss = "valid_0-binary_logloss"
    params = {**PARAMS, "learning_rate": 1.0}
    changed: Any = dict.fromkeys(RUN)  # what the policy says
    lower = plateau("learning_rate", default=1.0, loss=loss, patience=2)
    booster, history = train(params, 20, **changed, policy=lower)
    assert booster.num_trees() == history.epochs == 20
    assert any(round_.abandoned for round_ in history)
    saved = rescue("learning_rate", default=1.0, loss=loss, spike=1.01, window=3)
    booster, history = train(params, 20, **changed, policy=saved)
    assert booster.num_trees() == history.epochs == 20
    assert history[-1].candidate["learning_rate"] < 1.0
