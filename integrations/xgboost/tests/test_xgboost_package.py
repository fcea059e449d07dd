"""The package as a whole: a helpful import, no other framework, an example for every name."""

from __future__ import annotations

import doctest
import subprocess
import sys

import dynhp_xgboost


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)


def test_without_xgboost_the_import_says_what_to_install() -> None:
    done = run("import sys; sys.modules['xgboost'] = None; import dynhp_xgboost")
    assert done.returncode == 1
    assert "ImportError: dynhp_xgboost needs XGBoost: pip install 'dynhp[xgboost]'" in done.stderr


def test_no_other_framework_is_imported() -> None:
    done = run("import sys, dynhp_xgboost; print([m for m in sys.modules if '.' not in m])")
    for other in ("torch", "lightgbm", "ray", "optuna", "keras", "jax", "dynhp_torch"):
        assert f"'{other}'" not in done.stdout, other
    assert "'dynhp_xgboost'" in done.stdout


def test_every_public_name_has_an_example() -> None:
    finder = doctest.DocTestFinder(recurse=False)
    for name in dynhp_xgboost.__all__:
        thing = getattr(dynhp_xgboost, name)
        assert any(test.examples for test in finder.find(thing, name)), name
