"""The preset for a learning rate is refused; and values of which LightGBM shows six digits."""

from __future__ import annotations

from typing import Any

import lightgbm as lgb
import numpy as np
import pytest

from dynhp import DynamicGridAdapter, find_rate, recommended
from dynhp.errors import LeaveItAlone, ValueNotInForce
from dynhp_lightgbm import adapted_fit, adapted_train, lightgbm_trainer
from dynhp_lightgbm.boosters import BoosterModel
from dynhp_lightgbm.trainer import LightGBMTrainer
from tests.support.messages import raises

pytestmark = pytest.mark.filterwarnings("ignore::dynhp.errors.Hint")  # leave a shrinkage alone

RNG = np.random.default_rng(1)
X = RNG.normal(size=(240, 4))
Y = X[:, 0] * X[:, 1] + X[:, 2] + 0.3 * RNG.normal(size=240)
PARAMS: dict[str, Any] = {
    "num_leaves": 7,
    "min_data_in_leaf": 5,
    "num_threads": 1,
    "force_col_wise": True,
    "verbosity": -1,
}
ROUNDS = 60
PRESET = recommended("learning_rate", loss="train-l2")


def datasets() -> dict[str, Any]:
    data = lgb.Dataset(X[:180], Y[:180])
    val = lgb.Dataset(X[180:], Y[180:], reference=data)
    return {"train_set": data, "valid_sets": [data, val], "valid_names": ["train", "val"]}


def trainer_for(space: Any, **params: Any) -> LightGBMTrainer:
    return lightgbm_trainer({**PARAMS, **params}, space=space, **datasets())


def test_the_preset_for_learning_rates_is_refused_and_nothing_was_trained() -> None:
    with raises(LeaveItAlone):
        adapted_train({**PARAMS, "eta": 0.1}, num_boost_round=ROUNDS, **datasets(), policy=PRESET)
    trainer = trainer_for(PRESET.space, learning_rate=0.1)
    with raises(LeaveItAlone):
        DynamicGridAdapter(trainer, policy=PRESET)
    with raises(LeaveItAlone):
        find_rate(trainer, epochs=ROUNDS, name="learning_rate", loss="train-l2")
    assert trainer.booster.num_trees() == 0
    with raises(LeaveItAlone):
        adapted_fit(
            lgb.LGBMRegressor(n_estimators=ROUNDS, verbosity=-1), X[:180], Y[:180],
            eval_X=X[180:], eval_y=Y[180:],
            policy=recommended("learning_rate", loss="valid_0-l2"),
        )  # fmt: skip


def test_what_the_refusal_names_works() -> None:
    params = {**PARAMS, "learning_rate": 0.1}
    cautious = recommended(
        "shrinkage", name="learning_rate", epochs=16, default=0.1, loss="val-l2", force=True
    )
    booster, history = adapted_train(params, num_boost_round=16, **datasets(), policy=cautious)
    assert booster.num_trees() == history.epochs == 16
    assert {len(round_.tries) for round_ in history} <= {2, 3}


HALVES = [0.4743415, 2.7669949999999996, 0.09371154999999999, 1.422915e-05, 7.497945e-05]
"""Of these LightGBM shows the digit above in one case, and the one below in another."""


@pytest.mark.parametrize("value", [1 / 12, 2 / 3, 1 / 30000, 0.1, 1.0, 1e-7, *HALVES])
def test_a_value_with_many_digits_is_read_back_as_it_was_set(value: float) -> None:
    trainer = trainer_for({"learning_rate": [value, 0.5]})
    trainer.train_k(1, {"learning_rate": value})
    assert trainer.hyperparameters() == {"learning_rate": value}


def test_numbers_that_are_shown_in_other_ways_are_read_back_too() -> None:
    values = {"lambda_l2": 123456.7, "min_sum_hessian_in_leaf": 12345678, "extra_trees": True}
    trainer = trainer_for({name: [value] for name, value in values.items()})
    trainer.train_k(1, values)
    assert trainer.hyperparameters() == values


@pytest.mark.parametrize("other", [0.5, 0.0833334, 0.0833332])
def test_a_rate_that_something_else_changes_is_an_error(
    other: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    def update(self: BoosterModel) -> None:
        self.booster.update()
        self.booster.reset_parameter({"learning_rate": other})

    space = {"learning_rate": [1 / 12, 0.3]}
    trainer = trainer_for(space, bagging_fraction=0.9, bagging_freq=1)
    adapter = DynamicGridAdapter(
        trainer, space, minimize="val-l2", adapt_every=2, try_for=1, initial={"learning_rate": 0.3}
    )
    monkeypatch.setattr(BoosterModel, "_update", update)
    with raises(ValueNotInForce):
        adapter.run(4)


@pytest.mark.parametrize("name", ["learning_rate", "shrinkage_rate"])
def test_a_dry_run_from_a_rate_with_many_digits_is_lightgbm_train(name: str) -> None:
    params = {**PARAMS, name: 1 / 12}
    run: dict[str, Any] = {"minimize": "val-l2", "adapt_every": 4, "try_for": 2, "dry_run": True}
    space = {"learning_rate": [1 / 12, 0.3]}
    dry, history = adapted_train(params, num_boost_round=12, space=space, **datasets(), **run)
    assert {len(round_.tries) for round_ in history} == {2}
    plain = lgb.train(params, datasets()["train_set"], 12)
    trees = [each.model_to_string().partition("\nparameters:")[0] for each in (dry, plain)]
    assert trees[0] == trees[1]
