"""The package as a whole: a helpful import, no other framework, an example for every name."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.ensemble import GradientBoostingRegressor, HistGradientBoostingClassifier
from sklearn.linear_model import SGDRegressor
from sklearn.neural_network import MLPRegressor

import dynhp_sklearn
from dynhp import attribute
from tests.support.packages import check_examples, check_says_what_to_install, frameworks_of


def test_without_scikit_learn_the_import_says_what_to_install() -> None:
    line = "dynhp_sklearn needs scikit-learn: pip install 'dynhp[sklearn]'"
    check_says_what_to_install("dynhp_sklearn", "sklearn", line)


def test_no_other_framework_is_imported() -> None:
    assert frameworks_of("dynhp_sklearn", after="import sklearn") == {"dynhp_sklearn"}


def test_every_public_name_has_an_example() -> None:
    check_examples(dynhp_sklearn)


@pytest.mark.parametrize(
    ("model", "name", "kind"),
    [
        (SGDRegressor(), "eta0", "learning_rate"),
        (SGDRegressor(), "alpha", "alpha"),
        (MLPRegressor(), "learning_rate_init", "learning_rate"),
        (GradientBoostingRegressor(), "learning_rate", "shrinkage"),
        (HistGradientBoostingClassifier(), "learning_rate", "shrinkage"),
        (GradientBoostingRegressor(), "alpha", "alpha"),
    ],
)
def test_what_an_attribute_of_a_model_is(model: Any, name: str, kind: str) -> None:
    assert attribute(model, name).kind == kind  # type: ignore[attr-defined]
