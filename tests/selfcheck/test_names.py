"""Which names the code around a loop sees: those of whoever runs it, and no library's."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from dynhp.frameworks import Integration
from dynhp.selfcheck.reach import loop_names

OF_THE_MODULE = np.random.default_rng(0)
_private = 3
_i = _12 = _ = __ = "of a notebook"


def test_the_names_are_those_of_the_code_around_and_of_its_module() -> None:
    local = object()
    names = loop_names()
    assert names["local"] is local
    assert names["OF_THE_MODULE"] is OF_THE_MODULE
    assert names["_private"] == 3
    assert not {"_", "__", "_i", "_12", "__name__", "__builtins__"} & set(names)


def test_a_variable_hides_that_of_the_module() -> None:
    OF_THE_MODULE = 3
    assert loop_names()["OF_THE_MODULE"] == OF_THE_MODULE


def test_at_the_top_of_a_module_its_variables_are_all() -> None:
    space: dict[str, Any] = {"__name__": "script", "loop_names": loop_names}
    exec("steps = 3\nnames = loop_names()", space)
    assert space["names"]["steps"] == 3
    assert "space" not in space["names"]


def epochs() -> Iterator[dict[str, Any]]:
    inner = 5  # noqa: F841
    yield loop_names()


def test_a_generator_around_the_loop_is_looked_through() -> None:
    outer = 4  # noqa: F841
    for names in epochs():
        assert (names["inner"], names["outer"]) == (5, 4)


def test_a_wrapper_of_a_library_is_looked_through_without_its_names() -> None:
    mine = 4  # noqa: F841
    text = "def bar():\n    hidden = 1\n    yield loop_names()"
    library: dict[str, Any] = {"__name__": "tqdm", "loop_names": loop_names}
    exec(compile(text, "/usr/lib/site-packages/tqdm.py", "exec"), library)
    for names in library["bar"]():
        assert names["mine"] == 4
        assert "hidden" not in names


@pytest.mark.parametrize(
    ("module", "file"),
    [("acme.fit", "/usr/lib/site-packages/acme/fit.py"), ("dynhp_acme.loop", "loop.py")],
)
def test_frameworks_and_code_of_integrations_are_passed_over(
    registry: Callable[[Integration], None], module: str, file: str
) -> None:
    registry(Integration(package="dynhp_acme", loop_owners=("acme",)))
    mine = 4  # noqa: F841
    text = "def fit():\n    hidden = 1\n    return loop_names()"
    library: dict[str, Any] = {"__name__": module, "loop_names": loop_names}
    exec(compile(text, file, "exec"), library)
    names = library["fit"]()
    assert names["mine"] == 4
    assert "hidden" not in names


def test_a_module_that_only_has_such_a_name_is_its_users() -> None:
    text = "def fit():\n    mine = 1\n    return loop_names()"
    library: dict[str, Any] = {"__name__": "dynhp_of_mine", "loop_names": loop_names}
    exec(compile(text, "dynhp_of_mine.py", "exec"), library)
    assert library["fit"]()["mine"] == 1


INSTALLED = """
def fit(loop_names):
    own = 1
    return loop_names()

def epochs(loop_names):
    around = 2
    yield loop_names()

def fit_in_a_generator(loop_names):
    own = 1
    return next(names for names in epochs(loop_names))
"""


@pytest.mark.parametrize("name", ["fit", "fit_in_a_generator"])
def test_the_code_that_runs_the_loop_may_be_an_installed_package(name: str) -> None:
    of_the_caller = 3  # noqa: F841
    package: dict[str, Any] = {"__name__": "training.main", "seen": 4}
    exec(compile(INSTALLED, "/usr/lib/site-packages/training/main.py", "exec"), package)
    names = package[name](loop_names)
    assert (names["own"], names["seen"]) == (1, 4)
    assert ("around" in names) == (name == "fit_in_a_generator")
    assert "of_the_caller" not in names


def test_nobody_around_gives_no_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "_getframe", lambda depth: None)
    assert loop_names() == {}


def test_what_the_code_drops_is_not_kept_by_having_been_looked_at() -> None:
    dropped: Any = np.zeros(1)
    reference = weakref.ref(dropped)
    assert loop_names()["dropped"] is dropped
    dropped = None
    assert reference() is None


def test_a_dictionary_of_locals_that_the_code_has_stays_as_it_is() -> None:
    width = 3
    config = locals()
    assert loop_names()["width"] == 3
    assert config["width"] == width
