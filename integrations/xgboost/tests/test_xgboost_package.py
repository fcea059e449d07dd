"""The package as a whole: a helpful import, no other framework, an example for every name."""

from __future__ import annotations

from typing import Any

import pytest
import xgboost as xgb

import dynhp_xgboost
from dynhp import attribute
from tests.support.packages import check_examples, check_says_what_to_install, frameworks_of


def test_without_xgboost_the_import_says_what_to_install() -> None:
    line = "dynhp_xgboost needs XGBoost: pip install 'dynhp[xgboost]'"
    check_says_what_to_install("dynhp_xgboost", "xgboost", line)


def test_no_other_framework_is_imported() -> None:
    assert frameworks_of("dynhp_xgboost", after="import xgboost") == {"dynhp_xgboost"}


def test_every_public_name_has_an_example() -> None:
    check_examples(dynhp_xgboost)


@pytest.mark.parametrize(
    ("model", "name", "kind"),
    [
        (xgb.XGBRegressor(learning_rate=0.1), "learning_rate", "shrinkage"),
        (xgb.XGBRegressor(max_depth=3), "max_depth", "max_depth"),
    ],
)
def test_what_an_attribute_of_a_model_is(model: Any, name: str, kind: str) -> None:
    assert attribute(model, name).kind == kind  # type: ignore[attr-defined]
