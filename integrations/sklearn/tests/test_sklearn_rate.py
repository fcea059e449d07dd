"""Presets as one argument, above all the one for a learning rate; and the losses they read."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_digits
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.linear_model import SGDClassifier, SGDRegressor
from sklearn.metrics import log_loss
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dynhp import (
    DynamicGridAdapter,
    adapt,
    attribute,
    errors,
    lowest,
    plan_for,
    plateau,
    recommended,
    rescue,
)
from dynhp.errors import Hint, LeaveItAlone, MetricError, SettingsError
from dynhp.planning import paper, rate_search
from dynhp.triggers import OnPlateau
from dynhp_sklearn import AdaptiveClassifier, AdaptiveRegressor, trainer_from_estimator
from dynhp_sklearn.splitting import held_out_rows
from tests.support.messages import raises

pytestmark = pytest.mark.filterwarnings("ignore::dynhp.errors.Hint")  # of short runs

X, Y = load_digits(n_class=4, return_X_y=True)
# Some labels are wrong, so that no rate, however high, comes to a training loss of zero.
X, Y = X[:300, ::4] / 16, np.where(np.arange(300) % 6 == 0, 3, Y[:300])
PRESET = recommended("learning_rate", name="eta0")
OF_A_TRY = 3


def linear(**changed: Any) -> SGDClassifier:
    given = {"loss": "log_loss", "learning_rate": "constant", "eta0": 0.1, **changed}
    return SGDClassifier(**given)


def adaptive(estimator: Any = None, *space: Any, **changed: Any) -> AdaptiveClassifier:
    given = {"epochs": 20, "scoring": "neg_log_loss", "random_state": 0, "policy": PRESET}
    return AdaptiveClassifier(estimator or linear(), *space, **{**given, **changed})


def rates_of(model: Any) -> list[float]:
    """The rate of each epoch of the main line, or of each stretch of equal ones."""
    return [values["eta0"] for _, values in model.schedule_.as_list()]


@pytest.mark.parametrize("loss", ["train_loss", "val_loss"])
def test_a_start_far_too_low_and_one_far_too_high_come_to_the_very_same_model(loss: str) -> None:
    preset = recommended("learning_rate", name="eta0", loss=loss)
    low, high = (adaptive(linear(eta0=start), policy=preset).fit(X, Y) for start in (0.001, 10.0))
    assert [rate_search(each.history_).start for each in (low, high)] == [0.001, 10.0]
    found = rate_search(low.history_).rate
    assert 0.01 <= found == rate_search(high.history_).rate <= 1
    assert low.estimator_.coef_.tobytes() == high.estimator_.coef_.tobytes()
    assert low.history_.epochs == 20
    rates = rates_of(low)
    assert (max(rates), min(rates)) == (found, rates[-1])
    assert 0 < low.estimator_.eta0 == rates[-1] < found / 10, "it ends near zero"


def test_a_schedule_of_the_estimators_own_is_left_alone() -> None:
    model = adaptive(linear(learning_rate="invscaling", power_t=0.2, eta0=0.01)).fit(X, Y)
    found = rate_search(model.history_).rate
    assert set(rates_of(model)) == {found} == {model.estimator_.eta0}


def test_what_is_done_is_what_the_adapter_does_with_the_same_rows() -> None:
    model = adaptive(linear(random_state=3, eta0=0.01)).fit(X, Y)
    seed = np.random.RandomState(0).randint(2**31 - 1, size=2)[0]
    held_out = held_out_rows(Y, 0.1, np.unique(Y), seed=int(seed))
    trainer = trainer_from_estimator(
        linear(random_state=3, eta0=0.01),
        X[~held_out],
        Y[~held_out],
        space=PRESET.space,
        validation=(X[held_out], Y[held_out]),
        scoring="neg_log_loss",
        losses=["train_loss"],
    )
    adapter = DynamicGridAdapter(trainer, epochs=20, policy=PRESET)
    plan = plan_for(adapter)
    adapter.run(20)
    assert model.estimator_.coef_.tobytes() == trainer.estimator.coef_.tobytes()
    assert plan.least.total <= model.cost_.total <= plan.most.total
    tries = len(model.history_[0].tries)
    assert model.cost_.overhead == (tries + 2) * OF_A_TRY  # one is carried out twice more


def test_a_regressor_finds_its_rate_too() -> None:
    inputs, targets = load_diabetes(return_X_y=True)
    rates = []
    for start in (0.001, 10.0):
        estimator = SGDRegressor(learning_rate="constant", eta0=start)
        model = AdaptiveRegressor(estimator, epochs=20, random_state=0, policy=PRESET)
        rates.append(model.fit(inputs, targets).estimator_.eta0)
        assert model.score(inputs, targets) > 0.4
    assert rates[0] == rates[1]


def test_the_shrinkage_of_boosted_trees_is_refused() -> None:
    model = GradientBoostingRegressor(warm_start=True, n_estimators=1)
    name = "learning_rate"
    bound = {name: attribute(model, name)}
    with raises(LeaveItAlone):
        adapt(60, state=[model], bind=bound, policy=recommended(name, loss="val_loss"))
    run: Any = {"space": {name: [0.1, 0.3]}, "minimize": "val_loss", "adapt_every": 20}
    grid = adapt(60, state=[model], bind=bound, **run, try_for=5)
    assert grid.adapter.current == {name: 0.1}


def test_the_value_in_a_preset_takes_the_place_of_the_estimators_own() -> None:
    preset = recommended("learning_rate", name="eta0", default=0.2)
    assert rate_search(adaptive(policy=preset).fit(X, Y).history_).start == 0.2


def test_it_is_an_estimator_like_any_other() -> None:
    model = adaptive(linear(eta0=0.001))
    copy = clone(model)
    assert copy.get_params()["policy"] == PRESET
    assert (copy.space, copy.adapt_every, copy.try_for) == (None, None, None)
    fitted = clone(copy.set_params(epochs=21)).fit(X, Y)
    again = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(again.predict(X), fitted.predict(X))
    assert again.history_ == fitted.history_
    assert cross_val_score(make_pipeline(StandardScaler(), model), X, Y, cv=2).mean() > 0.5
    assert "At(moments=(0,))" in repr(model)


def test_other_presets_are_one_argument_too() -> None:
    high = linear(eta0=10.0)
    lower = plateau("eta0", default=10.0, patience=2)
    assert adaptive(high, policy=lower).fit(X, Y).estimator_.eta0 < 10
    saved = rescue("eta0", default=10.0)
    assert adaptive(high, policy=saved).fit(X, Y).history_.epochs == 20
    given = paper({"eta0": [0.1, 1.0]}, 4, 2, validation="val_score")
    model = adaptive(linear(), policy=given).fit(X, Y)
    assert [(round_.epochs, round_.tries[0].epochs) for round_ in model.history_] == [(4, 2)] * 5


def test_arguments_beside_a_policy_take_the_place_of_its_fields() -> None:
    given = paper({"eta0": [0.1, 1.0]}, 4, 2, validation="val_score")
    model = adaptive(linear(), policy=given, adapt_every=5, options={"check": "off"}).fit(X, Y)
    assert [(round_.epochs, round_.tries[0].epochs) for round_ in model.history_] == [(5, 2)] * 4
    assert model.cost_.overhead == 4 * 2


def test_what_nobody_says_is_five_epochs_and_one() -> None:
    model = adaptive(linear(), {"eta0": [0.1, 1.0]}, policy=None).fit(X, Y)
    assert [(round_.epochs, round_.tries[0].epochs) for round_ in model.history_] == [(5, 1)] * 4


class CountingScorer:
    """A scorer that counts by the number of rows how often it is asked."""

    def __init__(self) -> None:
        self.rows: list[int] = []

    def __call__(self, estimator: Any, inputs: Any, targets: Any) -> float:
        self.rows.append(len(inputs))
        return -float(log_loss(targets, estimator.predict_proba(inputs), labels=np.unique(Y)))


READERS: list[tuple[dict[str, Any], set[str]]] = [
    ({}, set()),
    ({"minimize": "val_loss"}, {"val_loss"}),
    ({"minimize": "train_loss"}, {"train_loss"}),
    ({"criterion": lowest("train_loss")}, {"train_loss"}),
    ({"keep_best": lowest("train_loss")}, {"train_loss"}),
    ({"when": OnPlateau("val_loss", patience=2)}, {"val_loss"}),
]


@pytest.mark.parametrize(("options", "losses"), READERS)
def test_a_loss_is_measured_where_somebody_reads_it_and_nowhere_else(
    options: dict[str, Any], losses: set[str]
) -> None:
    scoring = CountingScorer()
    model = adaptive(linear(), {"eta0": [0.1, 1.0]}, policy=None, options=options)
    trainer = clone(model.set_params(scoring=scoring, epochs=10)).fit(X, Y)
    held_out = int(held_out_rows(Y, 0.1, np.unique(Y), seed=0).sum())
    asked = trainer.scoring.rows  # of the copy
    assert set(asked) == {held_out} | ({300 - held_out} if "train_loss" in losses else set())
    measured = trainer.history_[-1].metrics
    assert set(measured) - {"best_score"} == {"val_score", *losses}
    if "val_loss" in losses:
        assert measured["val_loss"] == -measured["val_score"]


def test_the_training_loss_is_minus_the_weighted_score_of_the_rows_that_are_trained_on() -> None:
    weight = np.linspace(0.1, 2.0, 200)
    trainer = trainer_from_estimator(
        linear(),
        X[:200],
        Y[:200],
        space=PRESET.space,
        validation=(X[200:], Y[200:]),
        scoring="neg_log_loss",
        sample_weight=weight,
        losses=("train_loss", "val_loss"),
    )
    assert trainer.metrics() == {}
    trainer.train_k(2, {"eta0": 0.1})
    given = log_loss(Y[:200], trainer.estimator.predict_proba(X[:200]), sample_weight=weight)
    assert trainer.metrics()["train_loss"] == pytest.approx(given)
    other = log_loss(Y[200:], trainer.estimator.predict_proba(X[200:]))
    assert trainer.metrics()["val_loss"] == pytest.approx(other)


def coarse_hints(**changed: Any) -> list[str]:
    errors._given.clear()  # each hint comes once per process
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", Hint)
        adaptive(**changed).fit(X, Y)
    return [str(each.message) for each in caught if "counts rows" in str(each.message)]


def test_accuracy_as_a_loss_gets_a_hint() -> None:
    assert "give scoring='neg_log_loss'" in coarse_hints(scoring=None)[0]
    assert "train_loss is minus the score" in coarse_hints(scoring="accuracy")[0]
    assert not coarse_hints(scoring="neg_log_loss")
    assert not coarse_hints(scoring=None, space={"alpha": [1e-4, 1e-2]}, policy=None)


SPACE = {"eta0": [0.1, 1.0]}
FIELDS: dict[str, Any] = {"policy": None, "options": {**PRESET}}  # one by one
MISTAKES: list[dict[str, Any]] = [
    {**FIELDS, "space": SPACE},
    {**FIELDS, "try_for": 2},
    {**FIELDS, "adapt_every": 2},
    {"adapt_every": 2, "space": SPACE, "options": {"adapt_every": 3}},
    {"options": {"policy": PRESET}},
    {"options": {"epochs": 9}},
    {"options": PRESET},
    {"space": PRESET},
    {"policy": {**PRESET}},
    {"policy": None},
    {"policy": recommended("lr", name="eta")},
    {"policy": recommended("learning_rate")},
    {"estimator": linear(eta0=0.0)},
]


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_named(mistake: dict[str, Any]) -> None:
    given = {"estimator": linear(), "policy": PRESET, **mistake}
    with raises(SettingsError):
        AdaptiveClassifier(**given).fit(X, Y)


def test_a_metric_that_is_not_there_is_named_with_those_that_are() -> None:
    preset = recommended("learning_rate", name="eta0", loss="training_loss")
    with raises(MetricError):
        adaptive(policy=preset).fit(X, Y)
    with raises(SettingsError):
        trainer_from_estimator(linear(), X, Y, space=SPACE, validation=(X, Y), losses=["train_los"])
