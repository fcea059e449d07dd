"""The package as its users meet it: its names, its documentation, what importing it does."""

from __future__ import annotations

import ast
import doctest
import importlib
import importlib.util
import inspect
import os
import subprocess
import sys
import types
from pathlib import Path
from typing import Any, get_args

import pytest

import dynhp
from scripts.make_api_page import INTEGRATIONS, PAGE, is_definition, page, public_names
from tests.support.messages import raises

ROOT = Path(__file__).resolve().parents[2]


def is_usable(package: str) -> bool:
    """Whether an integration, and all that it needs, can be imported here."""
    try:
        public_names(package)
    except ImportError:
        return False
    return True


def public_things(package: str) -> dict[str, Any]:
    """The public names of a package, each by the shortest module that it is imported from."""
    return {
        name: getattr(importlib.import_module(module), name)
        for module, names in public_names(package).items()
        for name in names
    }


# Every public name of the core, and of each integration that is usable here (with its package, as
# some names are in several); the page docs/api.md lists the same.
PUBLIC = public_things("dynhp") | {
    f"{package}.{name}": thing
    for package in filter(is_usable, INTEGRATIONS)
    for name, thing in public_things(package).items()
}
CLASSES_AND_FUNCTIONS = {name: thing for name, thing in PUBLIC.items() if is_definition(thing)}


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run code in a fresh interpreter that sees this very package, in a folder of no interest."""
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONHASHSEED"}
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env={**clean, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        check=True,
    )


def is_error(thing: Any) -> bool:
    """Whether it is an error; a hint is a warning, which is none."""
    raised = isinstance(thing, type) and issubclass(thing, BaseException)
    return raised and not issubclass(thing, Warning)


def test_all_is_exactly_what_is_public() -> None:
    public = {
        name
        for name in dir(dynhp)
        if not name.startswith("_") and not isinstance(getattr(dynhp, name), types.ModuleType)
    }
    assert public == set(dynhp.__all__)
    assert len(dynhp.__all__) == len(set(dynhp.__all__))


@pytest.mark.parametrize("name", CLASSES_AND_FUNCTIONS)
def test_every_public_name_says_what_it_is(name: str) -> None:
    thing = PUBLIC[name]
    first = (vars(thing).get("__doc__") or thing.__doc__ or "").strip().splitlines()[0]
    assert first[0].isupper(), first
    assert not first.startswith(f"{thing.__name__}("), "a signature that dataclass has written"
    assert thing.__module__.partition(".")[0] in {"dynhp", name.partition(".")[0]}


@pytest.mark.parametrize("name", ["Event", "Value"])
def test_aliases_stand_for_types(name: str) -> None:
    assert all(isinstance(kind, type) for kind in get_args(PUBLIC[name]))
    assert len(get_args(PUBLIC[name])) > 1


@pytest.mark.parametrize("name", sorted(PUBLIC.keys() - CLASSES_AND_FUNCTIONS))
def test_aliases_and_constants_say_what_they_are(name: str) -> None:
    short = name.rpartition(".")[2]
    row = next(line for line in PAGE.read_text("utf-8").splitlines() if f"| `{short}` |" in line)
    assert len(row.split("|")[2].strip()) > 10, row


@pytest.mark.parametrize("name", CLASSES_AND_FUNCTIONS)
def test_what_users_make_or_call_has_an_example(name: str) -> None:
    """The examples themselves run with the doctests; errors are shown where they are raised."""
    docstring = inspect.getdoc(PUBLIC[name]) or ""
    if is_error(PUBLIC[name]) and name != "DynhpError":
        return
    assert doctest.DocTestParser().get_examples(docstring), docstring


@pytest.mark.skipif(not all(map(is_usable, INTEGRATIONS)), reason="needs every integration")
def test_the_page_of_the_api_is_up_to_date() -> None:
    assert PAGE.read_text("utf-8") == page(), "run python scripts/make_api_page.py"


def test_every_error_is_a_dynhp_error_in_the_tree_of_its_docstring() -> None:
    errors = [name for name in public_things("dynhp") if is_error(PUBLIC[name])]
    tree = inspect.getmodule(dynhp.DynhpError).__doc__ or ""  # type: ignore[union-attr]
    assert len(errors) > 5
    for name in errors:
        assert issubclass(PUBLIC[name], dynhp.DynhpError)
        assert f" {name}" in tree, name


def test_importing_needs_numpy_and_the_standard_library_only() -> None:
    code = """
import numpy, sys
before = set(sys.modules)
from dynhp import *
print(sorted({name.partition('.')[0] for name in set(sys.modules) - before}))
"""
    added = set(ast.literal_eval(run(code).stdout))
    assert "dynhp" in added
    # multiprocessing, which Processes needs, calls the main module by this name, too.
    assert added - {"dynhp", "__mp_main__"} <= sys.stdlib_module_names


def loaded_by(code: str) -> set[str]:
    """The modules of this package that code imports."""
    shown = "print([name for name in sys.modules if name.startswith('dynhp')])"
    return set(ast.literal_eval(run(f"{code}; import sys; {shown}").stdout))


def test_importing_imports_nothing_more_of_dynhp() -> None:
    assert loaded_by("import dynhp") == {"dynhp", "dynhp._lazy"}


@pytest.mark.parametrize("name", ["DynamicGridAdapter", "adapt"])
def test_importing_a_way_in_leaves_to_the_first_run_what_only_a_run_needs(name: str) -> None:
    loaded = loaded_by(f"from dynhp import {name}")
    late = {"_log", "criteria.combined", "drivers.states", "engine.commands", "executors.contract"}
    late |= {"loops.loop", "middleware.display", "saved", "selfcheck.watch", "storage"}
    late |= {"tails.averaging", "tails.schedules", "triggers.spike"}
    assert not {f"dynhp.{module}" for module in late} & loaded


def test_a_run_imports_no_more_of_dynhp_than_the_core() -> None:
    loaded = loaded_by("from dynhp import DynamicGridAdapter, lowest")
    assert not {"dynhp.cli.main", "dynhp.testing", "dynhp.report"} & loaded
    late = {"dynhp.executors.pool", "dynhp.loops", "dynhp.planning", "dynhp.wrappers"}
    assert not late & loaded


@pytest.mark.parametrize(
    "folder", ["executors.pool", "loops", "planning", "records", "triggers", "wrappers"]
)
def test_a_folder_that_is_imported_late_is_there_when_it_is_asked_for(folder: str) -> None:
    code = f"import dynhp; print(folder := dynhp.{folder}, folder.__all__)"
    assert f"module 'dynhp.{folder}'" in run(code).stdout


@pytest.mark.parametrize("path", ["dynhp.executors.pool", "dynhp.loops", "dynhp.planning"])
def test_a_folder_that_is_imported_late_is_the_module_of_its_name(path: str) -> None:
    """Asked for as Python does before the folder has been imported."""
    parent, _, folder = path.rpartition(".")
    assert importlib.import_module(parent).__getattr__(folder) is importlib.import_module(path)


def test_a_name_that_is_imported_late_is_the_one_of_its_folder_and_is_found_once() -> None:
    code = """
import dynhp
late = set(dynhp.__all__) - set(vars(dynhp))
assert late == set(dynhp.__all__) <= set(dir(dynhp)), late
assert dynhp.adapt is dynhp.loops.adapt is vars(dynhp)["adapt"]
"""
    run(code)


@pytest.mark.parametrize("folder", ["drivers", "engine"])
def test_all_names_of_a_folder_that_is_not_on_the_page_of_the_api_are_there(folder: str) -> None:
    package = importlib.import_module(f"dynhp.{folder}")
    assert set(package.__all__) <= set(dir(package))
    assert all(hasattr(package, name) for name in package.__all__)


@pytest.mark.parametrize("folder", ["loops", "middleware"])
def test_a_function_with_the_name_of_its_module_is_found_in_its_place(
    folder: str,
) -> None:
    package = importlib.import_module(f"dynhp.{folder}")
    modules = [name for name in package.__all__ if inspect.ismodule(getattr(package, name))]
    assert not modules


@pytest.mark.parametrize("module", ["dynhp", "dynhp.executors"])
def test_a_name_that_is_not_there_is_an_error_as_in_any_module(module: str) -> None:
    with raises(AttributeError):
        getattr(importlib.import_module(module), "adpat")  # noqa: B009


def test_importing_prints_nothing_and_writes_nothing(tmp_path: Path) -> None:
    code = f"""
import os, sys
os.chdir({str(tmp_path)!r})
import numpy
def hook(event, arguments):
    if event == "open" and isinstance(arguments[1], str) and set(arguments[1]) & set("wax+"):
        raise AssertionError(arguments)
    if event in ("os.mkdir", "os.rename", "os.remove", "socket.connect", "subprocess.Popen"):
        raise AssertionError(event)
sys.addaudithook(hook)
from dynhp import *
"""
    done = run(code, PYTHONDONTWRITEBYTECODE="1")
    assert (done.stdout, done.stderr) == ("", "")
    assert list(tmp_path.iterdir()) == []


def test_importing_leaves_generators_logging_and_warnings_as_they_are() -> None:
    code = """
import logging, random, warnings, numpy as np
def now():
    return (random.getstate(), np.random.get_state()[1].tolist(), np.geterr(), warnings.filters[:],
            logging.root.level, logging.root.handlers[:])
before = now()
from dynhp import *
assert now() == before
assert [type(h) for h in logging.getLogger("dynhp").handlers] == [logging.NullHandler]
"""
    assert run(code).returncode == 0


def test_the_version_is_that_of_the_project() -> None:
    lines = (ROOT / "pyproject.toml").read_text(encoding="utf-8").splitlines()
    assert f'version = "{dynhp.__version__}"' in lines


def test_the_type_marker_is_there() -> None:
    assert (ROOT / "dynhp" / "py.typed").exists()


SCHEDULE = """
import warnings
from dynhp.errors import Hint
warnings.simplefilter("ignore", Hint)
from dynhp import DynamicGridAdapter, Neighbors, lowest, schedule_of
from dynhp.testing.toys.quadratic import NoisyQuadratic
adapter = DynamicGridAdapter(
    NoisyQuadratic(noise=0.5, seed=3), {"lr": [0.01, 0.03, 0.1, 0.3]}, criterion=lowest("loss"),
    adapt_every=3, try_for=1, proposer=Neighbors(), randomness="independent", seed=11)
print(schedule_of(adapter.run(20)).to_json())
"""


def test_a_run_is_the_same_in_every_process() -> None:
    first, *others = (run(SCHEDULE, **extra).stdout for extra in ({}, {}, {"PYTHONHASHSEED": "7"}))
    assert others == [first, first]
    assert len(dynhp.planning.Schedule.from_json(first).segments) == 7
    assert (
        len({segment.values for segment in dynhp.planning.Schedule.from_json(first).segments}) > 1
    )
