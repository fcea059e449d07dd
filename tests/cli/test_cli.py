"""The command ``dynhp``: what it prints and how it ends, for good calls and bad ones."""

from __future__ import annotations

import runpy
import subprocess
import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from dynhp.cli.main import main
from dynhp.errors import SettingsError
from dynhp.testing import LAWS
from dynhp.testing.toys.quadratic import example

TRAINERS = """
from dynhp.testing import Quadratic
from dynhp.testing.toys.doubles import BROKEN, SPACE

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

def one():
    return Quadratic

def four():
    return 1, 2, 3, 4

def no_space():
    return Quadratic, 0.1

def no_trainer():
    return dict, space
"""

Run = Callable[..., tuple[int, str, str]]


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


def point(name: str, group: str, value: object) -> metadata.EntryPoint:
    """An entry point that loads to this value, or raises it."""

    class Loaded(metadata.EntryPoint):
        def load(self) -> Any:
            if isinstance(value, Exception):
                raise value
            return value

    return Loaded(name, "somewhere:something", group)


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Pretend that packages with these entry points are installed."""

    def installs(group: str, **values: object) -> None:
        points = [point(name, group, value) for name, value in values.items()]

        def entry_points(**asked: str) -> list[metadata.EntryPoint]:
            return points if asked == {"group": group} else []

        monkeypatch.setattr(metadata, "entry_points", entry_points)

    return installs


# --- dynhp check module:factory


def test_a_line_for_each_law(run: Run) -> None:
    code, out, err = run("check", "mine:Nested.good", "--here")
    lines = out.splitlines()
    assert (code, err, lines[0]) == (0, "", "mine:Nested.good")
    assert [line.split()[:2] for line in lines[1:]] == [["ok", law] for law in LAWS]


def test_another_process_finds_the_current_directory(run: Run) -> None:
    code, out, _ = run("check", "mine:Nested.good")
    assert (code, out.splitlines()[1]) == (0, "  ok       restore")


def test_a_broken_law(run: Run) -> None:
    code, out, _ = run("check", "mine:Nested.good", "mine:lying", "--here", "--epochs", "1")
    assert code == 1
    (line,) = (line for line in out.splitlines() if "BROKEN" in line)
    assert line.startswith("  BROKEN   force: after train_k with {'lr': 0.05}, hyperparameters()")
    assert out.count("  ok ") == 2 * len(LAWS) - 1


def test_an_expected_failure(run: Run) -> None:
    code, out, _ = run("check", "mine:excused", "--here")
    assert code == 0
    assert "  expected force (it is a liar)\n" in out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["mine"], "a factory is named module:factory, got 'mine'"),
        (["mine:"], "a factory is named module:factory, got 'mine:'"),
        ([":lying"], "a factory is named module:factory, got ':lying'"),
        (
            ["yours:lying"],
            "cannot find 'yours:lying': ModuleNotFoundError: No module named 'yours'",
        ),
        (["wrong:f"], "cannot find 'wrong:f': SyntaxError: "),
        (["mine:truth"], "cannot find 'mine:truth': AttributeError: "),
        (["mine:number"], "mine:number must be a function without arguments, got 3"),
        (["mine:raising"], "mine:raising() raised OSError: no data"),
        (["mine:needing"], "mine:needing() needs a package that is missing: No module named 'a_"),
        (["mine:one"], "mine:one() must return (make, space) or (make, space, expected_failures)"),
        (["mine:four"], "got (1, 2, 3, 4)"),
        (["mine:no_space"], "a space is a mapping from hyperparameter names"),
        (["mine:no_trainer"], "lacks get_state, set_state, train_k, metrics"),
        (["mine:excused_for_nothing"], "no law 'ordre'; did you mean 'order'?"),
        (["mine:lying", "--epochs", "0"], "epochs must be a whole number above 0, got 0"),
        (["mine:lying", "--epochs", "x"], "argument --epochs: invalid int value: 'x'"),
        ([], "no installed package offers a trainer in the entry points 'dynhp.trainers'"),
    ],
)
def test_mistakes_are_told_without_a_traceback(
    run: Run, install: Callable[..., None], arguments: list[str], told: str
) -> None:
    install("dynhp.trainers")
    code, _, err = run("check", *arguments)
    assert code == 2
    assert told in err
    assert "error: " in err
    assert "Traceback" not in err


def test_the_path_is_put_back(run: Run, tmp_path: Path) -> None:
    before = list(sys.path)
    run("check", "mine:one")
    assert sys.path == before
    assert str(tmp_path) not in before


# --- dynhp check


def test_all_installed_trainers(run: Run, install: Callable[..., None]) -> None:
    missing = ImportError("No module named 'jax'; pip install 'dynhp[jax]'")
    install("dynhp.trainers", toy=example, jax=missing)
    code, out, _ = run("check", "--here")
    lines = out.splitlines()
    assert code == 0
    assert lines[:2] == ["jax", "  skipped  No module named 'jax'; pip install 'dynhp[jax]'"]
    assert lines[2] == "toy"
    assert len(lines) == 3 + len(LAWS)


def test_a_dependency_that_the_factory_misses(run: Run, install: Callable[..., None]) -> None:
    def needing() -> Any:
        raise ModuleNotFoundError("No module named 'jax'")

    install("dynhp.trainers", toy=example, jax=needing)
    code, out, _ = run("check", "--here")
    assert code == 0
    assert "jax\n  skipped  No module named 'jax'\n" in out


@pytest.mark.parametrize("amiss", [AttributeError("no 'example'"), lambda: 3, lambda: (dict, {})])
def test_one_that_is_amiss_does_not_hide_the_others(
    run: Run, install: Callable[..., None], amiss: Any
) -> None:
    install("dynhp.trainers", amiss=amiss, toy=example)
    code, out, _ = run("check", "--here")
    assert code == 1
    assert "  BROKEN   " in out
    assert out.count("  ok ") == len(LAWS)


def test_nothing_to_check_is_no_success(run: Run, install: Callable[..., None]) -> None:
    install("dynhp.trainers", jax=ImportError("no jax"))
    code, out, err = run("check")
    assert (code, out) == (2, "jax\n  skipped  no jax\n")
    assert "no installed package offers a trainer" in err


# --- commands of other packages


def greeting(code: object) -> Callable[[Any], None]:
    def register(subparsers: Any) -> None:
        parser = subparsers.add_parser("greet", help="say hello")
        parser.set_defaults(func=lambda parsed: code)

    return register


@pytest.mark.parametrize(("given", "code"), [(3, 3), (None, 0)])
def test_a_command_of_another_package(
    run: Run, install: Callable[..., None], given: object, code: int
) -> None:
    install("dynhp.commands", greet=greeting(given), other=ImportError("never loaded"))
    assert run("greet") == (code, "", "")


def test_help_lists_all_commands_that_can_be_loaded(run: Run, install: Callable[..., None]) -> None:
    install("dynhp.commands", greet=greeting(0), other=ImportError("no jax"))
    code, out, err = run("--help")
    assert (code, err) == (0, "")
    assert "greet" in out
    assert "say hello" in out
    assert "check" in out
    assert "other" not in out


def test_a_command_that_cannot_be_loaded_is_noted_when_asked_for(
    run: Run, install: Callable[..., None]
) -> None:
    install("dynhp.commands", greet=ImportError("no jax"))
    code, _, err = run("greet")
    assert code == 2
    assert err.startswith(
        "dynhp: note: the command 'greet' could not be loaded from 'somewhere:something': "
        "ImportError: no jax\n"
    )
    assert "note" not in run("chek")[2]


def test_own_commands_load_no_others(run: Run, install: Callable[..., None]) -> None:
    def never(subparsers: Any) -> None:
        raise KeyboardInterrupt

    install("dynhp.commands", greet=never)
    assert run("check", "mine")[0] == 2
    assert run("greet")[0] == 130  # a keyboard interrupt ends quietly, as a shell expects


def test_an_error_of_dynhp_is_one_line(run: Run, install: Callable[..., None]) -> None:
    def register(subparsers: Any) -> None:
        def fails(parsed: object) -> int:
            raise SettingsError("not like this")

        subparsers.add_parser("greet").set_defaults(func=fails)

    install("dynhp.commands", greet=register)
    assert run("greet") == (2, "", "dynhp: error: not like this\n")


# --- the command itself


def test_version(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "version", lambda name: f"1.2 of {name}")
    assert run("--version") == (0, "dynhp 1.2 of dynhp\n", "")

    def missing(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", missing)
    assert run("--version") == (0, "dynhp (not installed)\n", "")


def test_no_command_and_an_unknown_one(run: Run) -> None:
    assert "the following arguments are required: command" in run()[2]
    code, _, err = run("chek")
    assert code == 2
    assert "invalid choice: 'chek'" in err


def test_python_m(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["dynhp", "--version"])
    with pytest.raises(SystemExit) as end:
        runpy.run_module("dynhp", run_name="__main__")
    assert end.value.code == 0
    assert capsys.readouterr().out.startswith("dynhp ")


def test_importing_main_does_nothing() -> None:
    runpy.run_module("dynhp.__main__", run_name="imported")


def test_from_outside() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "dynhp", "check", "nowhere:nothing"],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": ":".join(filter(None, sys.path))},
    )
    assert done.returncode == 2
    assert done.stderr.startswith("dynhp: error: cannot find 'nowhere:nothing'")
