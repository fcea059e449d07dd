"""The package as a whole: a helpful import, no other framework, an example for every name."""

from __future__ import annotations

import dynhp_sklearn
from tests.support.packages import check_examples, check_says_what_to_install, frameworks_of


def test_without_scikit_learn_the_import_says_what_to_install() -> None:
    line = "dynhp_sklearn needs scikit-learn: pip install 'dynhp[sklearn]'"
    check_says_what_to_install("dynhp_sklearn", "sklearn", line)


def test_no_other_framework_is_imported() -> None:
    assert frameworks_of("dynhp_sklearn", after="import sklearn") == {"dynhp_sklearn"}


def test_every_public_name_has_an_example() -> None:
    check_examples(dynhp_sklearn)
