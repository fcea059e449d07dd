"""The command run in a folder of its own, with packages that are not installed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from dynhp.cli.main import main

Run = Callable[..., tuple[int, str, str]]


TRAINERS = """
from dynhp.testing import Quadratic
from tests.support.doubles import BROKEN, SPACE

space = {"lr": [0.1, 0.5]}
number = 3

class Nested:
    @staticmethod
    def good():
        return Quadratic, space

def lying():
    return BROKEN["lies in hyperparameters()"][0], SPACE

def excused():
    return *lying(), {"force": "it is a liar"}

def excused_for_nothing():
    return Quadratic, space, {"ordre": "?"}

def raising():
    raise OSError("no data")

def needing():
    import a_package_that_is_not_there

def no_pair():
    return Quadratic

def four():
    return 1, 2, 3, 4

def no_space():
    return Quadratic, 0.1

def no_trainer():
    return dict, space
"""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the command in a folder with a module ``mine``: exit code, output, errors."""
    (tmp_path / "mine.py").write_text(TRAINERS)
    (tmp_path / "wrong.py").write_text("def f(:\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def runs(*arguments: str) -> tuple[int, str, str]:
        code = main(arguments)
        sys.modules.pop("mine", None)
        return code, *capsys.readouterr()

    return runs


def package(folder: Path, name: str, *extras: str) -> metadata.Distribution:
    """A package as pip leaves it in a folder, so that tests need none to be installed."""
    info = folder / f"{name}-1.2.dist-info"
    info.mkdir()
    lines = ["Metadata-Version: 2.1", f"Name: {name}", "Version: 1.2"]
    lines += [f"Provides-Extra: {extra}" for extra in extras]
    (info / "METADATA").write_text("\n".join(lines) + "\n", "utf-8")
    return metadata.Distribution.at(info)


def point(
    name: str, group: str, value: object, distribution: metadata.Distribution | None = None
) -> metadata.EntryPoint:
    """An entry point that loads to this value, or raises it, of this package."""

    class Loaded(metadata.EntryPoint):
        dist = distribution

        def load(self) -> Any:
            if isinstance(value, Exception):
                raise value
            return value

    return Loaded(name, "somewhere:something", group)


@pytest.fixture
def install(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., None]:
    """Pretend that a package with these entry points is installed; its name, and its extras."""

    def installs(group: str, *named: str, **values: object) -> None:
        made = package(tmp_path_factory.mktemp("packages"), *named) if named else None
        points = [point(name, group, value, made) for name, value in values.items()]

        def entry_points(**asked: str) -> list[metadata.EntryPoint]:
            return points if asked == {"group": group} else []

        monkeypatch.setattr(metadata, "entry_points", entry_points)

    return installs
