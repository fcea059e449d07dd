"""The package as a whole: a helpful import, no other framework, an example for every name."""

from __future__ import annotations

import inspect

import pytest

import dynhp_jax
from dynhp.loops import LoopOptions
from tests.support.packages import check_examples, check_says_what_to_install, frameworks_of


@pytest.mark.parametrize("missing", ["jax", "optax"])
def test_without_its_libraries_the_import_says_what_to_install(missing: str) -> None:
    line = "dynhp_jax needs JAX and optax: pip install 'dynhp[jax]'"
    check_says_what_to_install("dynhp_jax", missing, line)


def test_it_imports_no_other_framework() -> None:
    assert frameworks_of("dynhp_jax") == {"dynhp_jax", "jax", "optax"}


def test_the_options_of_adapt_are_taken() -> None:
    parameters = inspect.signature(dynhp_jax.adapt_pytree).parameters
    assert set(LoopOptions.__annotations__) <= set(parameters)


def test_every_public_name_has_an_example() -> None:
    check_examples(dynhp_jax)
