"""The package as a whole: a helpful import that brings in no other framework."""

from __future__ import annotations

import dynhp_optuna
from tests.support.packages import check_examples, check_says_what_to_install, frameworks_of


def test_without_optuna_the_import_says_what_to_install() -> None:
    line = "dynhp_optuna needs Optuna: pip install 'dynhp[optuna]'"
    check_says_what_to_install("dynhp_optuna", "optuna", line)


def test_importing_it_imports_no_other_framework() -> None:
    assert frameworks_of("dynhp_optuna") == {"dynhp_optuna", "optuna"}


def test_every_public_name_has_an_example() -> None:
    check_examples(dynhp_optuna)
