"""The preset for a learning rate is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import xgboost as xgb

from dynhp import DynamicGridAdapter, find_rate, recommended
from dynhp.errors import LeaveItAlone
from dynhp_xgboost import adapted_train, xgboost_trainer
from tests.support.messages import raises

pytestmark = pytest.mark.filterwarnings("ignore::dynhp.errors.Hint")  # leave a shrinkage alone

RNG = np.random.default_rng(1)
X = RNG.normal(size=(240, 4))
Y = X[:, 0] * X[:, 1] + X[:, 2] + 0.3 * RNG.normal(size=240)
TRAIN, VAL = xgb.DMatrix(X[:180], Y[:180]), xgb.DMatrix(X[180:], Y[180:])
EVALS = [(TRAIN, "train"), (VAL, "val")]
PARAMS: dict[str, Any] = {"max_depth": 3, "nthread": 1}
ROUNDS = 60


@pytest.mark.parametrize("name", ["eta", "learning_rate"])
def test_the_preset_for_learning_rates_is_refused_and_nothing_was_trained(name: str) -> None:
    preset = recommended("learning_rate", name=name, loss="train-rmse")
    with raises(LeaveItAlone):
        adapted_train({**PARAMS, "eta": 0.1}, TRAIN, ROUNDS, evals=EVALS, policy=preset)
    trainer = xgboost_trainer({**PARAMS, "eta": 0.1}, TRAIN, space=preset.space, evals=EVALS)
    with raises(LeaveItAlone):
        DynamicGridAdapter(trainer, policy=preset)
    with raises(LeaveItAlone):
        find_rate(trainer, epochs=ROUNDS, name=name, loss="train-rmse")
    assert trainer.booster.num_boosted_rounds() == 0


def test_what_the_refusal_names_works() -> None:
    cautious = recommended(
        "shrinkage", name="eta", epochs=16, default=0.1, loss="val-rmse", force=True
    )
    params = {**PARAMS, "eta": 0.1}
    booster, history = adapted_train(params, TRAIN, 16, evals=EVALS, policy=cautious)
    assert booster.num_boosted_rounds() == history.epochs == 16
    assert {len(round_.tries) for round_ in history} <= {2, 3}
