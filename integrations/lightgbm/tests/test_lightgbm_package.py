"""The package as a whole: a helpful import, no other framework, an example for every name."""

from __future__ import annotations

from typing import Any

import lightgbm as lgb
import pytest

import dynhp_lightgbm
from dynhp import attribute
from tests.support.packages import check_examples, check_says_what_to_install, frameworks_of


def test_without_lightgbm_the_import_says_what_to_install() -> None:
    line = "dynhp_lightgbm needs LightGBM: pip install 'dynhp[lightgbm]'"
    check_says_what_to_install("dynhp_lightgbm", "lightgbm", line)


def test_no_other_framework_is_imported() -> None:
    assert frameworks_of("dynhp_lightgbm", after="import lightgbm") == {"dynhp_lightgbm"}


def test_every_public_name_has_an_example() -> None:
    check_examples(dynhp_lightgbm)


@pytest.mark.parametrize(
    ("model", "name", "kind"),
    [
        (lgb.LGBMRegressor(), "learning_rate", "shrinkage"),
        (lgb.LGBMRegressor(), "num_leaves", "num_leaves"),
    ],
)
def test_what_an_attribute_of_a_model_is(model: Any, name: str, kind: str) -> None:
    assert attribute(model, name).kind == kind  # type: ignore[attr-defined]
