"""ARCHITECTURE.md describes the tree as it is, and the tree keeps the rules of the house."""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
SOURCES = ["dynhp"] + [
    path.relative_to(ROOT).as_posix() for path in sorted(ROOT.glob("integrations/*/dynhp_*"))
]
TESTED = ["dynhp", "integrations", "tests", "benchmarks", "examples", "scripts"]
# The root of the core has a module for every noun of the design and a folder for every subject.
MOST_ENTRIES = {"dynhp": 25, "dynhp/executors/pool": 14, "dynhp/loops": 14, "dynhp/rounds": 14}


def python_files(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def packages() -> list[Path]:
    return [path.parent for path in python_files(*SOURCES) if path.name == "__init__.py"]


def rows() -> dict[str, list[str]]:
    """The rows of the tables of folders: a path, and the other cells."""
    cells = [
        [cell.strip() for cell in line.strip("| ").split(" | ")]
        for line in PAGE.splitlines()
        if line.startswith("| `")
    ]
    return {row[0].strip("`"): row[1:] for row in cells}


def entries(folder: Path) -> list[Path]:
    """The modules and folders in a folder."""
    named = (path for path in sorted(folder.iterdir()) if path.name[:2] != "__")
    return [path for path in named if path.is_dir() or path.suffix == ".py"]


def docstring(path: Path) -> str:
    path = path / "__init__.py" if path.is_dir() else path
    return ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""


def layers() -> dict[str, int]:
    """The layer of each module of the core, the lowest is 1."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]
    assert "ignore_imports" not in str(settings), "no import may be ignored"
    listed = settings["contracts"][0]["layers"]
    assert len(listed) == 10
    return {name.strip(): 10 - place for place, row in enumerate(listed) for name in row.split(":")}


def test_the_page_has_a_row_for_each_folder_and_each_module_of_the_core_and_no_other() -> None:
    folders = {f"{path.relative_to(ROOT).as_posix()}/" for path in packages()}
    modules = {
        path.relative_to(ROOT).as_posix()
        for path in entries(ROOT / "dynhp")
        if path.suffix == ".py"
    }
    listed = {row for row in rows() if row.startswith(tuple(SOURCES))}
    assert listed == folders - {f"{SOURCES[0]}/"} | modules


@pytest.mark.parametrize("row", [row for row in rows() if row.startswith(tuple(SOURCES))])
def test_a_row_says_what_the_folder_says_of_itself(row: str) -> None:
    assert rows()[row][0] == docstring(ROOT / row).split("\n")[0].rstrip(".").replace("``", "`")


def test_the_layers_on_the_page_are_those_that_are_checked() -> None:
    named = {
        row: int(cells[1])
        for row, cells in rows().items()
        if row.startswith("dynhp/") and row.count("/") - row.endswith("/") == 1
    }
    checked = layers()
    assert len(named) > 15
    for row, layer in named.items():
        module = row.removesuffix(".py").strip("/").replace("/", ".")
        assert layer == checked[module], f"{row} is in layer {checked[module]}"


def test_every_path_on_the_page_exists() -> None:
    paths = re.findall(r"`((?:dynhp|integrations|tests|docs|scripts)/[\w./*-]+)`", PAGE)
    assert len(paths) > 30
    for path in paths:
        assert list(ROOT.glob(path.rstrip("/"))), path


@pytest.mark.parametrize("package", packages(), ids=lambda path: str(path.relative_to(ROOT)))
def test_every_package_says_in_one_sentence_what_belongs_there(package: Path) -> None:
    first, *more = docstring(package).splitlines()
    assert first.endswith("."), package
    assert not more or package.name == "dynhp", "one sentence; the rest belongs to its modules"


@pytest.mark.parametrize("package", packages(), ids=lambda path: str(path.relative_to(ROOT)))
def test_no_folder_is_too_full(package: Path) -> None:
    name = package.relative_to(ROOT).as_posix()
    assert len(entries(package)) <= MOST_ENTRIES.get(name, 12), entries(package)


def test_only_the_checks_of_arguments_are_private() -> None:
    private = [path.name for path in python_files(*SOURCES) if re.match(r"_[^_]", path.name)]
    assert private == ["_checks.py"]


@pytest.mark.parametrize(("folders", "most"), [(SOURCES, 250), (["tests", "integrations"], 400)])
def test_no_file_is_too_long(folders: list[str], most: int) -> None:
    lengths = {path: len(path.read_text("utf-8").splitlines()) for path in python_files(*folders)}
    assert {str(path): length for path, length in lengths.items() if length > most} == {}


def test_tests_mirror_the_folders() -> None:
    """Each folder of the core has its tests under the same name, and there is no other folder."""
    subjects = {path.name for path in entries(ROOT / "dynhp") if path.is_dir()}
    tested = {path.name for path in entries(ROOT / "tests") if path.is_dir()}
    # Algorithm 1 has several files; the repository itself is a subject; the rest has no tests.
    assert tested == subjects | {"adapter", "repository", "support", "fixtures"}
    for name in subjects:
        assert list((ROOT / "tests" / name).rglob("test_*.py")), name


def classes() -> dict[str, list[str]]:
    places = defaultdict(list)
    for path in python_files(*TESTED):
        if path.stem.endswith("_plain"):
            continue  # the same script before and after dynhp was added to it
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(path.relative_to(ROOT).as_posix())
    return places


def test_one_class_name_has_one_meaning() -> None:
    several = {name: places for name, places in classes().items() if len(places) > 1}
    # The callback of each framework that owns its loop: one meaning, in a package each.
    callbacks = several.pop("Adapt", [])
    assert all(path.startswith("integrations/") for path in callbacks)
    assert several == {}


def names_in(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name


def test_names_say_what_they_hold() -> None:
    """A name that fits everything explains nothing: it is the noun that is meant."""
    words = {"found", "told"}
    places = [path for path in python_files(*TESTED) if not words.isdisjoint(names_in(path))]
    assert places == []
