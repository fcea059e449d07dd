"""AdaptiveClassifier and AdaptiveRegressor where people use them, and their dry run."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_digits
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Perceptron, SGDClassifier, SGDRegressor
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.naive_bayes import BernoulliNB, MultinomialNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dynhp import Neighbors, plan
from dynhp.planning import Schedule
from dynhp.triggers import OnPlateau
from dynhp_sklearn import AdaptiveClassifier, AdaptiveRegressor
from dynhp_sklearn.splitting import held_out_rows

X, Y = load_digits(n_class=4, return_X_y=True)
X, Y = X[:300] / 16, Y[:300]
SPACE = {"eta0": [0.01, 0.1, 1.0]}


def linear(**changed: Any) -> SGDClassifier:
    given = {"loss": "log_loss", "learning_rate": "constant", "eta0": 0.1, **changed}
    return SGDClassifier(**given)


def adaptive(**changed: Any) -> AdaptiveClassifier:
    given = {"epochs": 6, "adapt_every": 3, "random_state": 0, **changed}
    return AdaptiveClassifier(given.pop("estimator", linear()), given.pop("space", SPACE), **given)


def test_what_is_there_after_a_fit() -> None:
    model = adaptive(scoring="neg_log_loss").fit(X, Y)
    assert model.score(X, Y) > 0.9
    assert model.predict_proba(X).shape == model.decision_function(X).shape == (300, 4)
    assert np.allclose(np.exp(model.predict_log_proba(X)), model.predict_proba(X))
    assert np.array_equal(model.classes_, np.arange(4))
    assert (model.n_features_in_, len(model.history_)) == (64, 2)
    assert model.cost_.total == plan(epochs=6, adapt_every=3, try_for=1, candidates=3).total
    assert Schedule.from_json(model.schedule_.to_json()).epochs == 6
    assert model.estimator_.eta0 == model.history_[-1].candidate["eta0"]
    assert model.estimator.eta0 == 0.1  # what was given is left as it was
    assert not hasattr(model.estimator, "coef_")


def plain_fit(estimator: Any, *, rows: Any, epochs: int) -> Any:
    for _ in range(epochs):
        estimator.partial_fit(X[rows], Y[rows], classes=np.unique(Y))
    return estimator


@pytest.mark.parametrize(
    "estimator",
    [
        linear(random_state=3),
        linear(random_state=3, average=True),
        linear(random_state=np.random.RandomState(3)),
        linear(random_state=3, learning_rate="invscaling"),
    ],
)
def test_a_dry_run_is_partial_fit_by_hand_to_the_bit(estimator: Any) -> None:
    model = adaptive(estimator=estimator, options={"dry_run": True}).fit(X, Y)
    seed = np.random.RandomState(0).randint(2**31 - 1, size=2)[0]
    rows = np.flatnonzero(~held_out_rows(Y, 0.1, np.unique(Y), seed=int(seed)))
    plain = plain_fit(clone(estimator), rows=rows, epochs=6)
    assert model.estimator_.coef_.tobytes() == plain.coef_.tobytes()
    assert model.estimator_.intercept_.tobytes() == plain.intercept_.tobytes()
    assert model.estimator_.t_ == plain.t_
    assert sum(len(round_.tries) for round_ in model.history_) == 6


def test_a_dry_run_of_a_network_keeps_its_optimiser() -> None:
    network = MLPClassifier((8,), batch_size=50, random_state=1)
    model = adaptive(estimator=network, space={"alpha": [1e-4, 0.1]}, options={"dry_run": True})
    model.fit(X, Y)
    seed = np.random.RandomState(0).randint(2**31 - 1, size=2)[0]
    rows = np.flatnonzero(~held_out_rows(Y, 0.1, np.unique(Y), seed=int(seed)))
    plain = plain_fit(clone(network), rows=rows, epochs=6)
    for mine, its in zip(model.estimator_.coefs_, plain.coefs_, strict=True):
        assert mine.tobytes() == its.tobytes()
    assert model.estimator_._optimizer.t == plain._optimizer.t


@pytest.mark.parametrize(
    ("estimator", "space"),
    [
        (Perceptron(penalty="l2"), {"alpha": [1e-4, 1e-2]}),
        (MultinomialNB(), {"alpha": [0.1, 1.0]}),
        (BernoulliNB(binarize=0.5), {"alpha": [0.1, 1.0]}),
        (MLPClassifier((8,), batch_size=10), {"alpha": [1e-4, 0.1], "batch_size": [5, 10]}),
    ],
)
def test_other_estimators_work_too(estimator: Any, space: Any) -> None:
    model = adaptive(estimator=estimator, space=space, batch_size=50).fit(X, Y)
    assert model.score(X, Y) > 0.3


def test_the_same_seed_gives_the_same_model() -> None:
    first, second = (adaptive(batch_size=50).fit(X, Y) for _ in range(2))
    other = adaptive(batch_size=50, random_state=1).fit(X, Y)
    assert first.estimator_.coef_.tobytes() == second.estimator_.coef_.tobytes()
    assert other.estimator_.coef_.tobytes() != first.estimator_.coef_.tobytes()


def test_fitting_leaves_the_global_generator_alone() -> None:
    np.random.seed(5)
    expected = np.random.RandomState(5).random()
    adaptive(batch_size=50).fit(X, Y)
    assert np.random.random() == expected


def test_in_a_pipeline_under_cross_validation_and_search() -> None:
    pipeline = make_pipeline(StandardScaler(), adaptive())
    assert cross_val_score(pipeline, X, Y, cv=2).mean() > 0.7
    search = GridSearchCV(adaptive(), {"try_for": [1, 2], "estimator__alpha": [1e-4, 1e-2]}, cv=2)
    search.fit(X, Y)
    assert set(search.best_params_) == {"try_for", "estimator__alpha"}
    assert len(search.best_estimator_.history_) == 2


def test_copies_and_parameters() -> None:
    model = adaptive(options={"proposer": Neighbors(1)})
    copy = clone(model).set_params(estimator__alpha=0.5, adapt_every=2)
    assert (copy.estimator.alpha, copy.adapt_every, model.adapt_every) == (0.5, 2, 3)
    fitted = copy.fit(X, Y)
    again = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(again.predict(X), fitted.predict(X))
    assert again.history_ == fitted.history_
    assert "estimator=SGDClassifier(" in repr(model)


def test_weights_reach_training_and_validation() -> None:
    weight = np.where(Y == 3, 0.0, 1.0)
    model = adaptive().fit(X, Y, sample_weight=weight)
    assert not (model.predict(X) == 3).any()
    assert (adaptive().fit(X, Y).predict(X) == 3).any()
    pipeline = make_pipeline(StandardScaler(), adaptive())
    pipeline.fit(X, Y, adaptiveclassifier__sample_weight=weight)
    weighted = pipeline[-1].estimator_.coef_
    assert not np.array_equal(weighted, pipeline.fit(X, Y)[-1].estimator_.coef_)
    # The score of the tries is weighted too: where only threes count, it is theirs.
    threes = adaptive(space={"eta0": [0.01, 0.1]}).fit(
        X, Y, sample_weight=np.where(Y == 3, 1, 1e-9)
    )
    assert threes.history_[-1].metrics["val_score"] == pytest.approx(1.0)


def test_sparse_input_is_trained_on_as_it_is() -> None:
    thin = adaptive().fit(sparse.csr_matrix(X), Y)
    assert thin.score(sparse.csr_matrix(X), Y) > 0.9
    assert np.array_equal(thin.predict(sparse.csr_matrix(X)), thin.predict(X))


def test_classes_may_have_names_and_one_row() -> None:
    names = np.array(["no", "yes", "rare"])[np.where(np.arange(300) == 7, 2, Y % 2)]
    model = adaptive().fit(X, names)
    assert list(model.classes_) == ["no", "rare", "yes"]
    assert set(model.predict(X)) <= {"no", "yes", "rare"}


def test_each_class_is_held_out_in_the_same_part_and_none_completely() -> None:
    y = np.array([0] * 100 + [1] * 20 + [2] * 2 + [3])
    rows = held_out_rows(y, 0.2, np.unique(y), seed=0)
    assert [int(rows[y == each].sum()) for each in range(4)] == [20, 4, 1, 0]
    assert not np.array_equal(rows, held_out_rows(y, 0.2, np.unique(y), seed=1))


def test_regression() -> None:
    inputs, targets = load_diabetes(return_X_y=True)
    inputs = StandardScaler().fit_transform(inputs)
    space = {"eta0": [0.001, 0.01], "alpha": [1e-4, 1e-2]}
    model = AdaptiveRegressor(SGDRegressor(), space, epochs=10, random_state=0)
    model.fit(inputs, targets)
    assert model.score(inputs, targets) > 0.3
    assert not hasattr(model, "predict_proba")


def test_methods_are_there_where_the_estimator_has_them() -> None:
    hinge = adaptive(estimator=linear(loss="hinge"))
    assert not hasattr(hinge, "predict_proba")
    assert hasattr(hinge, "decision_function")
    with pytest.raises(NotFittedError):
        adaptive().predict(X)


@pytest.mark.filterwarnings("ignore::dynhp.errors.Hint")
def test_a_way_back_works() -> None:
    when = OnPlateau("val_score", patience=2, better="higher")
    options: Any = {"when": when, "start_from": "best", "max_rounds": 2}
    model = adaptive(epochs=12, adapt_every=None, options=options).fit(X, Y)
    assert model.history_.epochs == 12
    assert sum(round_.abandoned for round_ in model.history_) > 0
