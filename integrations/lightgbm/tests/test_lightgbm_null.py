"""A dry run tries everything and ends as lightgbm.train ends, to the last bit."""

from __future__ import annotations

from typing import Any

import lightgbm as lgb
import numpy as np
import pytest

from dynhp.errors import NotRepeatable
from dynhp_lightgbm import adapted_train, lightgbm_trainer
from dynhp_lightgbm.boosters import BoosterModel, UndoableModel
from tests.support.messages import raises

RNG = np.random.default_rng(0)
X = RNG.normal(size=(240, 6)).round(1)  # so that some scores are equal
Y = (X[:, 0] * X[:, 1] + 0.5 * RNG.normal(size=240) > 0).astype(float)
W, I = RNG.random(240), RNG.normal(size=240)  # noqa: E741
PARAMS: dict[str, Any] = {
    "objective": "binary",
    "num_leaves": 7,
    "min_data_in_leaf": 5,
    "num_threads": 1,
    "force_col_wise": True,
    "verbosity": -1,
}
RUN: dict[str, Any] = {
    "space": {"num_leaves": [3, 7, 15], "learning_rate": [0.05, 0.1, 0.5]},
    "adapt_every": 5,
    "try_for": 2,
}


def data(**more: Any) -> tuple[lgb.Dataset, lgb.Dataset]:
    """Training and validation data; each run makes its own."""
    train = lgb.Dataset(X[:180], Y[:180], **{name: each[:180] for name, each in more.items()})
    others = {name: each[180:] for name, each in more.items()}
    return train, lgb.Dataset(X[180:], Y[180:], reference=train, **others)


KINDS: list[dict[str, Any]] = [
    {"metric": ["auc", "binary_logloss"]},
    {"objective": "multiclass", "num_class": 2},
    {"objective": "l2", "max_bin": 31},
    {"objective": "l1"},
    {"bagging_fraction": 0.5, "bagging_freq": 1},
    {"bagging_fraction": 0.5, "bagging_freq": 3, "feature_fraction": 0.5, "seed": 7},
    {"feature_fraction_bynode": 0.5},
    {"boosting": "dart"},
    {"extra_trees": True},
    {"boosting": "rf", "bagging_fraction": 0.5, "bagging_freq": 1},
    {"use_quantized_grad": True},
    {"min_gain_to_split": 3.0, "learning_rate": 0.5},  # it soon adds no trees any more
]


def ends(kind: dict[str, Any], **more: Any) -> tuple[lgb.Booster, lgb.Booster, dict[str, Any]]:
    """A plain booster, one of a dry run, and what the plain one measured."""
    params, measured = {**PARAMS, **kind}, {}
    train, val = data(**more)
    record = lgb.record_evaluation(measured)
    plain = lgb.train(params, train, 15, valid_sets=[val], callbacks=[record])
    train, val = data(**more)
    check: Any = "off" if kind.get("boosting") == "rf" else "first"  # a forest uses no rate
    booster, history = adapted_train(
        params,
        train,
        15,
        valid_sets=[val],
        criterion=lambda *_: 0.0,
        dry_run=True,
        check=check,
        **RUN,
    )
    assert sum(len(round_.tries) for round_ in history) == 27
    for name, series in measured["valid_0"].items():
        for round_ in history:
            assert round_.metrics[f"valid_0-{name}"] == series[round_.start + round_.epochs - 1]
    return plain, booster, measured


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_model_and_metrics_are_those_of_lightgbm_train(kind: dict[str, Any]) -> None:
    plain, booster, _ = ends(kind)
    assert booster.model_to_string() == plain.model_to_string()  # its parameters too
    assert booster.num_trees() == plain.num_trees()


def test_the_same_with_weights_and_scores_to_begin_with() -> None:
    plain, booster, _ = ends({"metric": ["auc", "binary_logloss"]}, weight=W, init_score=I)
    assert booster.model_to_string() == plain.model_to_string()


def trainer(**params: Any) -> Any:
    train, val = data()
    return lightgbm_trainer(
        {**PARAMS, "metric": "auc", **params}, train, space=RUN["space"], valid_sets=[val]
    )


def test_rounds_are_undone_where_that_is_exact_and_else_trained_again() -> None:
    values = {"num_leaves": 7, "learning_rate": 0.1}
    for params, kind, again in (({}, UndoableModel, 0), ({"boosting": "dart"}, BoosterModel, 6)):
        made = trainer(**params)
        assert type(made.model) is kind
        made.train_k(6, values)
        state = made.get_state()
        made.train_k(3, {**values, "learning_rate": 0.5})
        made.set_state(state)
        assert made.epochs_retrained == again


def test_what_lightgbm_subtracts_does_not_come_back_to_the_last_bit() -> None:
    """The trap: an AUC sees scores that were equal; ours are computed anew."""
    train, val = data()
    booster = lgb.Booster({**PARAMS, "metric": "auc"}, train)
    booster.add_valid(val, "val")
    sound, values = trainer(), {"num_leaves": 7, "learning_rate": 0.1}
    differed = []
    for _ in range(10):
        before, state = booster.eval_valid()[0][2], sound.get_state()
        metrics = sound.metrics()
        for rate in (0.5, 0.05, 0.3):
            booster.reset_parameter({"learning_rate": rate})
            booster.update()
            booster.rollback_one_iter()
            sound.train_k(1, {**values, "learning_rate": rate})
            sound.set_state(state)
        differed.append(booster.eval_valid()[0][2] != before)
        assert sound.metrics() == metrics
        booster.reset_parameter({"learning_rate": 0.1})
        booster.update()
        sound.train_k(1, values)
    assert any(differed)


def test_to_set_what_is_in_force_already_would_draw_other_columns() -> None:
    """The trap: reset_parameter draws columns, whatever it sets; so it is left alone."""
    train, _ = data()
    plain, disturbed = (lgb.Booster({**PARAMS, "feature_fraction": 0.5}, train) for _ in range(2))
    for _ in range(3):
        plain.update()
        disturbed.reset_parameter({"learning_rate": 0.1})
        disturbed.update()
    assert plain.model_to_string() != disturbed.model_to_string()
    sound = trainer(feature_fraction=0.5)
    for _ in range(3):
        sound.train_k(1, {"num_leaves": 7, "learning_rate": 0.1})
    trees = plain.model_to_string().partition("\nparameters:")[0]
    assert sound.booster.model_to_string().startswith(trees)


def test_a_first_tree_without_a_split_is_not_undone_but_trained_again() -> None:
    """The trap: LightGBM keeps such a tree when it is told to undo it."""
    train, val = data()
    params = {**PARAMS, "min_gain_to_split": 500.0}
    space = {"min_gain_to_split": [0.0, 500.0]}
    made = lightgbm_trainer(params, train, space=space, valid_sets=[val])
    start = made.get_state()
    made.train_k(2, {"min_gain_to_split": 500.0})
    made.train_k(2, {"min_gain_to_split": 0.0})
    state, metrics = made.get_state(), made.metrics()
    for _ in range(2):
        made.train_k(1, {"min_gain_to_split": 0.0})
        made.set_state(state)
        assert made.metrics() == metrics
    made.set_state(start)
    assert made.booster.current_iteration() == 0
    assert made.epochs_retrained == 8


def test_a_line_that_cannot_be_trained_again_stops_the_run() -> None:
    made, other = trainer(bagging_fraction=0.5, bagging_freq=1), trainer()
    made.train_k(2, {"num_leaves": 7, "learning_rate": 0.1})
    with raises(NotRepeatable):
        other.set_state(made.get_state())
