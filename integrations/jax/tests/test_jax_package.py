"""The package as a whole: a helpful import, no other framework, an example for every name."""

from __future__ import annotations

import doctest
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import dynhp
import dynhp_jax
from dynhp.loops import LoopOptions

PATHS = [str(Path(module.__file__ or "").parent.parent) for module in (dynhp, dynhp_jax)]


def python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[:0] = {PATHS!r}; {code}"],
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize("missing", ["jax", "optax"])
def test_without_its_libraries_the_import_says_what_to_install(missing: str) -> None:
    done = python(f"sys.modules[{missing!r}] = None; import dynhp_jax")
    assert done.returncode == 1
    assert "ImportError: dynhp_jax needs JAX and optax: pip install 'dynhp[jax]'" in done.stderr


def test_it_imports_no_other_framework() -> None:
    others = ("torch", "keras", "tensorflow", "lightning", "transformers", "ray", "flax")
    done = python(f"import dynhp_jax; print([n for n in {others!r} if n in sys.modules])")
    assert done.stdout.strip() == "[]", done.stderr


def test_the_options_of_adapt_are_taken() -> None:
    parameters = inspect.signature(dynhp_jax.adapt_pytree).parameters
    assert set(LoopOptions.__annotations__) <= set(parameters)


def test_every_public_name_has_an_example() -> None:
    finder = doctest.DocTestFinder(recurse=False)
    for name in dynhp_jax.__all__:
        thing = getattr(dynhp_jax, name)
        assert any(test.examples for test in finder.find(thing, name)), name
