"""The package as a whole: a helpful import, no other framework, an example for every name."""

from __future__ import annotations

import doctest
import subprocess
import sys

import dynhp_sklearn


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)


def test_without_scikit_learn_the_import_says_what_to_install() -> None:
    done = run("import sys; sys.modules['sklearn'] = None; import dynhp_sklearn")
    assert done.returncode == 1
    assert (
        "ImportError: dynhp_sklearn needs scikit-learn: pip install 'dynhp[sklearn]'" in done.stderr
    )


def test_no_other_framework_is_imported() -> None:
    done = run("import sys, dynhp_sklearn; print([m for m in sys.modules if '.' not in m])")
    for other in ("torch", "lightgbm", "xgboost", "ray", "optuna", "keras", "jax", "dynhp_torch"):
        assert f"'{other}'" not in done.stdout, other
    assert "'dynhp_sklearn'" in done.stdout


def test_every_public_name_has_an_example() -> None:
    finder = doctest.DocTestFinder(recurse=False)
    for name in dynhp_sklearn.__all__:
        thing = getattr(dynhp_sklearn, name)
        assert any(test.examples for test in finder.find(thing, name)), name
