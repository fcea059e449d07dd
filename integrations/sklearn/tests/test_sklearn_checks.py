"""scikit-learn's own checks of estimators, all of them."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.linear_model import SGDClassifier, SGDRegressor
from sklearn.naive_bayes import MultinomialNB
from sklearn.utils.estimator_checks import parametrize_with_checks

from dynhp_sklearn import AdaptiveClassifier, AdaptiveRegressor

ESTIMATORS = [
    AdaptiveClassifier(
        SGDClassifier(learning_rate="constant", eta0=0.1),
        {"eta0": [0.01, 0.1]},
        epochs=3,
        adapt_every=3,
    ),
    AdaptiveRegressor(SGDRegressor(), {"alpha": [1e-5, 1e-4]}, epochs=3, adapt_every=3),
]


def expected(estimator: Any) -> dict[str, str]:
    """What SGDClassifier and SGDRegressor do not promise either (see scikit-learn's own list)."""
    reason = (
        "a row that is there twice is met at two moments of stochastic gradient descent, and may "
        "be held out; https://github.com/scikit-learn/scikit-learn/issues/16298"
    )
    return {
        "check_sample_weight_equivalence_on_dense_data": reason,
        "check_sample_weight_equivalence_on_sparse_data": reason,
    }


@pytest.mark.filterwarnings("ignore")  # of too few epochs, and of what the checks themselves do
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected)
def test_the_checks_of_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)


def test_sparse_input_is_taken_where_the_estimator_takes_it() -> None:
    both = ((SGDClassifier(), {"eta0": [0.1, 1]}), (MultinomialNB(), {"alpha": [0.1, 1.0]}))
    for estimator, space in both:
        tags = AdaptiveClassifier(estimator, space).__sklearn_tags__().input_tags
        assert tags.sparse == estimator.__sklearn_tags__().input_tags.sparse
    assert tags.sparse  # of MultinomialNB; that of SGDClassifier says so from scikit-learn 1.7 on
