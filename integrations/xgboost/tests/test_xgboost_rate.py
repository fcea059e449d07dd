"""The preset for a learning rate as one argument."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import xgboost as xgb

from dynhp import DynamicGridAdapter, plan_for, recommended, spent
from dynhp.planning import rate_search
from dynhp_xgboost import adapted_train, xgboost_trainer

pytestmark = pytest.mark.filterwarnings("ignore::dynhp.errors.Hint")  # leave a shrinkage alone

RNG = np.random.default_rng(1)
X = RNG.normal(size=(240, 4))
Y = X[:, 0] * X[:, 1] + X[:, 2] + 0.3 * RNG.normal(size=240)
TRAIN, VAL = xgb.DMatrix(X[:180], Y[:180]), xgb.DMatrix(X[180:], Y[180:])
EVALS = [(TRAIN, "train"), (VAL, "val")]
PARAMS: dict[str, Any] = {"max_depth": 3, "nthread": 1}
ROUNDS, OF_A_TRY = 60, 3


def loss(booster: xgb.Booster) -> float:
    return float(booster.eval(VAL).rsplit(":", 1)[1])


@pytest.mark.parametrize("name", ["eta", "learning_rate"])
@pytest.mark.parametrize("start", [1 / 300, 3.0])
def test_the_preset_finds_a_rate_and_the_run_goes_on_with_it(name: str, start: float) -> None:
    params = {**PARAMS, "eta": start}
    preset = recommended("learning_rate", name=name, loss="train-rmse")
    booster, history = adapted_train(params, TRAIN, ROUNDS, evals=EVALS, policy=preset)
    search = rate_search(history)
    assert search.start == pytest.approx(start, rel=1e-6)
    assert 0.1 < search.rate < 1
    assert booster.num_boosted_rounds() == history.epochs == ROUNDS
    assert history[-1].candidate[name] == search.rate
    tree = json.loads(booster.save_config())["learner"]["gradient_booster"]["tree_train_param"]
    assert float(tree["learning_rate"]) == pytest.approx(search.rate, rel=1e-6)
    assert loss(booster) < loss(xgb.train(params, TRAIN, ROUNDS))


def test_the_preset_costs_what_was_planned() -> None:
    preset = recommended("learning_rate", name="eta", loss="train-rmse")
    trainer = xgboost_trainer({**PARAMS, "eta": 0.01}, TRAIN, space=preset.space, evals=EVALS)
    adapter = DynamicGridAdapter(trainer, epochs=ROUNDS, policy=preset)
    plan = plan_for(adapter)
    cost, tries = spent(adapter.run(ROUNDS)), len(adapter.history[0].tries)
    assert plan.least.total <= cost.total <= plan.most.total
    assert cost.overhead == (tries + 2) * OF_A_TRY  # of which one is carried out twice more
    assert trainer.booster.num_boosted_rounds() == cost.main_line == ROUNDS
