"""Natural mistakes, each with its name; and which parameters estimators read only once."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import LogisticRegression, SGDClassifier, SGDRegressor
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dynhp import DynamicGridAdapter, errors
from dynhp.errors import Hint, SettingsError, ValueNotUsed
from dynhp.testing import check_trainer
from dynhp_sklearn import AdaptiveClassifier, AdaptiveRegressor, trainer_from_estimator
from dynhp_sklearn.example import example
from dynhp_sklearn.refusals import _READ_ONCE
from tests.support.messages import raises

X, Y = load_digits(return_X_y=True)
X, Y = X[:200] / 16, Y[:200]
RATE = {"eta0": [0.01, 0.1]}
LINEAR = SGDClassifier(learning_rate="constant", eta0=0.1)


def test_the_example_obeys_all_laws() -> None:
    make, space = example()
    check_trainer(make, space, epochs=1)


MISTAKES: list[tuple[Any, Any, dict[str, Any]]] = [
    (LogisticRegression(), {"C": [1, 2]}, {}),
    (KNeighborsClassifier(), {"n_neighbors": [1, 2]}, {}),
    (GradientBoostingClassifier(), {"learning_rate": [0.1, 1]}, {}),
    (make_pipeline(StandardScaler(), LINEAR), RATE, {}),
    (SGDClassifier, RATE, {}),
    (LINEAR, {"eta": [0.1, 1]}, {}),
    (SGDClassifier(), RATE, {}),
    (MLPClassifier(), {"learning_rate_init": [1e-3, 1e-2]}, {}),
    (LINEAR, {"eta0": []}, {}),
    (LINEAR, RATE, {"validation_fraction": 0.0}),
    (LINEAR, RATE, {"validation_fraction": 20}),
    (LINEAR, RATE, {"options": ["dry_run"]}),
    (LINEAR, RATE, {"options": {"steps": 3}}),
    (LINEAR, RATE, {"epochs": 0}),
    (LINEAR, RATE, {"try_for": 9}),
]


@pytest.mark.parametrize(("estimator", "space", "more"), MISTAKES)
def test_a_mistake_is_named(estimator: Any, space: Any, more: Any) -> None:
    with raises(SettingsError):
        AdaptiveClassifier(estimator, space, **more).fit(X, Y)


def test_weights_that_nobody_takes_and_too_few_rows_are_refused() -> None:
    with raises(SettingsError):
        AdaptiveRegressor(SGDRegressor(), {"alpha": [1, 2]}).fit(X[:2], Y[:2])

    class Unweighted(SGDClassifier):  # type: ignore[misc]
        def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Any:
            return super().partial_fit(X, y, classes)

    model = AdaptiveClassifier(Unweighted(learning_rate="constant", eta0=0.1), RATE)
    with raises(SettingsError):
        model.fit(X, Y, sample_weight=np.ones(200))


def test_an_option_that_adapt_does_not_know_is_refused_by_its_name() -> None:
    with raises(TypeError):
        AdaptiveClassifier(LINEAR, RATE, options={"minimise": "x"}).fit(X, Y)


@pytest.mark.parametrize(
    ("estimator", "space", "name"),
    [
        (LINEAR, {**RATE, "n_iter_no_change": [5, 9]}, "n_iter_no_change"),
        (LINEAR, {**RATE, "power_t": [0.1, 0.9]}, "power_t"),
        (SGDClassifier(penalty=None), {"alpha": [1e-4, 1e-2]}, None),
        (LINEAR, {**RATE, "l1_ratio": [0.1, 0.9]}, "l1_ratio"),
        (LINEAR, {**RATE, "epsilon": [0.1, 0.9]}, "epsilon"),
    ],
)
def test_a_value_without_effect_is_caught_also_beside_one_that_has_one(
    estimator: Any, space: Any, name: str | None
) -> None:
    model = AdaptiveClassifier(estimator, space, random_state=0, epochs=2, adapt_every=1)
    if name is None:  # it has one, in the schedule "optimal"
        model.fit(X, Y)
        return
    with raises(ValueNotUsed):
        model.fit(X, Y)
    model.set_params(options={"check": "off"}).fit(X, Y)


@pytest.mark.parametrize("kind", [MLPClassifier, MLPRegressor])
@pytest.mark.parametrize("name", ["learning_rate_init", "beta_1", "beta_2", "epsilon", "momentum"])
def test_a_network_reads_its_rate_only_once(kind: Any, name: str) -> None:
    """By scikit-learn itself, so that the refusal is not kept longer than it is true."""
    assert name in _READ_ONCE["BaseMultilayerPerceptron"]
    solver = "sgd" if name == "momentum" else "adam"
    ends = []
    for value in (0.01, 0.9):
        given = {"hidden_layer_sizes": (4,), "random_state": 0, "batch_size": 50}
        network = kind(solver=solver, **given)
        network.partial_fit(X, Y, **({"classes": np.unique(Y)} if kind is MLPClassifier else {}))
        network.set_params(**{name: value}).partial_fit(X, Y)
        ends.append(network.coefs_[0])
    assert np.array_equal(*ends)


def test_the_function_for_those_who_drive_the_adapter_themselves() -> None:
    trainer = trainer_from_estimator(
        SGDClassifier(learning_rate="constant", eta0=0.1),
        X[:150],
        Y[:150],
        space=RATE,
        validation=(X[150:], Y[150:]),
        sample_weight=np.ones(150),
        batch_size=30,
    )
    adapter = DynamicGridAdapter(
        trainer, RATE, maximize="val_score", adapt_every=2, try_for=1, randomness="independent"
    )
    assert adapter.run(4).epochs == 4
    assert trainer.estimator.score(X[150:], Y[150:]) == trainer.metrics()["val_score"]
    with raises(SettingsError):
        trainer_from_estimator(LINEAR, X, Y, space=RATE, validation=None)  # type: ignore[arg-type]
    with raises(SettingsError):
        trainer.train_k(1, {"eta": 0.1})


def test_a_learning_rate_gets_its_hint_whatever_it_is_called() -> None:
    errors._given.clear()  # each hint comes once per process
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", Hint)
        AdaptiveClassifier(LINEAR, RATE, epochs=2, adapt_every=1).fit(X, Y)
    assert any("too small a learning rate" in str(each.message) for each in caught)
