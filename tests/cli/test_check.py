"""``dynhp check``: what it prints and how it ends, for good calls and bad ones."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dynhp.testing import LAWS
from dynhp.testing.toys.quadratic import example

Run = Callable[..., tuple[int, str, str]]


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
    ("arguments", "message"),
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
        (
            ["mine:no_pair"],
            "mine:no_pair() must return (make, space) or (make, space, expected_failures)",
        ),
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
    run: Run, install: Callable[..., None], arguments: list[str], message: str
) -> None:
    install("dynhp.trainers")
    code, _, err = run("check", *arguments)
    assert code == 2
    assert message in err
    assert "error: " in err
    assert "Traceback" not in err


def test_the_path_is_put_back(run: Run, tmp_path: Path) -> None:
    before = list(sys.path)
    run("check", "mine:no_pair")
    assert sys.path == before
    assert str(tmp_path) not in before


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


@pytest.mark.parametrize("broken", [AttributeError("no 'example'"), lambda: 3, lambda: (dict, {})])
def test_one_that_is_amiss_does_not_hide_the_others(
    run: Run, install: Callable[..., None], broken: Any
) -> None:
    install("dynhp.trainers", amiss=broken, toy=example)
    code, out, _ = run("check", "--here")
    assert code == 1
    assert "  BROKEN   " in out
    assert out.count("  ok ") == len(LAWS)


def test_nothing_to_check_is_no_success(run: Run, install: Callable[..., None]) -> None:
    install("dynhp.trainers", jax=ImportError("no jax"))
    code, out, err = run("check")
    assert (code, out) == (2, "jax\n  skipped  no jax\n")
    assert "no installed package offers a trainer" in err
