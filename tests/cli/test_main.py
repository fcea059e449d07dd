"""The command ``dynhp``: what it prints and how it ends, for good calls and bad ones."""

from __future__ import annotations

import runpy
import subprocess
import sys
import warnings
from collections.abc import Callable
from importlib import metadata
from typing import Any

import pytest

from dynhp.errors import Hint, SettingsError

Run = Callable[..., tuple[int, str, str]]


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


@pytest.mark.parametrize(
    ("given", "code", "printed"),
    [(None, 0, ""), (3, 3, ""), ("no such file", 1, "no such file\n")],
)
def test_a_command_may_end_with_sys_exit(
    run: Run, install: Callable[..., None], given: Any, code: int, printed: str
) -> None:
    def register(subparsers: Any) -> None:
        subparsers.add_parser("greet").set_defaults(func=lambda parsed: sys.exit(given))

    install("dynhp.commands", greet=register)
    assert run("greet") == (code, "", printed)


def test_a_hint_is_one_line_and_other_warnings_are_as_usual(
    run: Run, install: Callable[..., None]
) -> None:
    def register(subparsers: Any) -> None:
        def warns(parsed: object) -> None:
            for category in (Hint, UserWarning):
                print(warnings.formatwarning("mind this", category, "a.py", 3, "code()"), end="")

        subparsers.add_parser("greet").set_defaults(func=warns)

    install("dynhp.commands", greet=register)
    usual = warnings.formatwarning
    _, out, _ = run("greet")
    assert out == "hint: mind this\na.py:3: UserWarning: mind this\n  code()\n"
    assert warnings.formatwarning is usual


def test_hints_of_a_run_are_shown_so_from_outside() -> None:
    code = (
        "import warnings; from dynhp.cli import main; from dynhp.errors import Hint; "
        "main.check.register = lambda s: s.add_parser('check').set_defaults("
        "func=lambda parsed: warnings.warn('mind this', Hint)); main.main(['check'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr == "hint: mind this\n"


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
