"""The package as a whole: a helpful import, no other framework, an example for every name."""

from __future__ import annotations

import doctest
import inspect
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import dynhp
import dynhp_keras
from dynhp.loops import LoopOptions

PATHS = [str(Path(module.__file__ or "").parent.parent) for module in (dynhp, dynhp_keras)]


def python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    rest = {name: value for name, value in os.environ.items() if name != "KERAS_BACKEND"}
    return subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[:0] = {PATHS!r}; {code}"],
        env={**rest, **environment},
        capture_output=True,
        text=True,
    )


def test_without_keras_the_import_says_what_to_install() -> None:
    done = python("sys.modules['keras'] = None; import dynhp_keras")
    assert done.returncode == 1
    assert "pip install 'dynhp[keras]', one of the two, and set KERAS_BACKEND" in done.stderr


def test_another_backend_is_refused() -> None:
    done = python("import dynhp_keras", KERAS_BACKEND="tensorflow")
    assert done.returncode == 1
    assert "dynhp_keras needs Keras 3 on torch or jax" in done.stderr


def test_on_jax_it_imports_no_other_framework() -> None:
    others = ("torch", "tensorflow", "dynhp_jax", "dynhp_torch", "lightning", "transformers", "ray")
    code = f"import dynhp_keras; print([name for name in {others!r} if name in sys.modules])"
    done = python(code, KERAS_BACKEND="jax")
    assert done.stdout.strip() == "[]", done.stderr


def test_the_options_of_adapt_are_taken() -> None:
    parameters = inspect.signature(dynhp.adapt).parameters
    names = set(LoopOptions.__annotations__) - {"minimize"}
    options: Any = {name: parameters[name].default for name in names}
    space = {"learning_rate": [0.1, 0.2]}
    dynhp_keras.Adapt(space, adapt_every=2, try_for=1, minimize="loss", **options)
    wrong: Any = {"minimise": "loss"}
    with pytest.raises(TypeError, match="minimise"):
        dynhp_keras.Adapt(space, adapt_every=2, try_for=1, **wrong)


def test_every_public_name_has_an_example() -> None:
    finder = doctest.DocTestFinder(recurse=False)
    for name in dynhp_keras.__all__:
        thing = getattr(dynhp_keras, name)
        assert any(test.examples for test in finder.find(thing, name)), name
