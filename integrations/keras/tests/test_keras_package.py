"""The package as a whole: a helpful import, no other framework, an example for every name."""

from __future__ import annotations

import inspect
from typing import Any

import dynhp
import dynhp_keras
from dynhp.loops import LoopOptions
from tests.support.messages import raises
from tests.support.packages import check_examples, frameworks_of, run_python

BACKEND = {"KERAS_BACKEND": "jax"}


def test_without_keras_the_import_says_what_to_install() -> None:
    done = run_python("sys.modules['keras'] = None; import dynhp_keras", **BACKEND)
    assert done.returncode == 1
    assert "pip install 'dynhp[keras]', one of the two, and set KERAS_BACKEND" in done.stderr


def test_another_backend_is_refused() -> None:
    done = run_python("import dynhp_keras", KERAS_BACKEND="tensorflow")
    assert done.returncode == 1
    assert "dynhp_keras needs Keras 3 on torch or jax" in done.stderr


def test_on_jax_it_imports_no_other_framework() -> None:
    brought = frameworks_of("dynhp_keras", **BACKEND) - {"sklearn"}  # which Keras itself brings
    assert brought == {"dynhp_keras", "keras", "jax"}


def test_the_options_of_adapt_are_taken() -> None:
    parameters = inspect.signature(dynhp.adapt).parameters
    names = set(LoopOptions.__annotations__) - {"minimize", "adapt_every", "try_for"}
    options: Any = {name: parameters[name].default for name in names}
    space = {"learning_rate": [0.1, 0.2]}
    dynhp_keras.Adapt(space, adapt_every=2, try_for=1, minimize="loss", **options)
    wrong: Any = {"minimise": "loss"}
    with raises(TypeError):
        dynhp_keras.Adapt(space, adapt_every=2, try_for=1, **wrong)


def test_every_public_name_has_an_example() -> None:
    check_examples(dynhp_keras)
