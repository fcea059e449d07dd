"""ARCHITECTURE.md describes the tree as it is."""

from __future__ import annotations

import ast
import re
import sys
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
    return {
        name.strip(): len(listed) - place
        for place, row in enumerate(listed)
        for name in row.split(":")
    }


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
def test_every_package_says_in_its_first_sentence_what_belongs_there(package: Path) -> None:
    first, *_ = docstring(package).splitlines()
    assert first.endswith("."), package


def test_tests_mirror_the_folders() -> None:
    """Each folder of the core has its tests under the same name, and there is no other folder."""
    subjects = {path.name for path in entries(ROOT / "dynhp") if path.is_dir()}
    tested = {path.name for path in entries(ROOT / "tests") if path.is_dir()}
    # Algorithm 1 has several files; the repository itself is a subject; the rest has no tests.
    assert tested == subjects | {"adapter", "repository", "support", "fixtures"}
    for name in subjects:
        assert list((ROOT / "tests" / name).rglob("test_*.py")), name
