"""``dynhp check``: what it prints and how it ends, for good calls and bad ones."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dynhp.testing import LAWS, Quadratic
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
        (
            ["mine"],
            "a factory is named module:factory, and an installed integration by its name, got "
            "'mine'; Known: none",
        ),
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
        ([], "no installed package offers a usable trainer in the entry points 'dynhp.trainers'"),
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


def test_all_installed_trainers_with_a_table_at_the_end(
    run: Run, install: Callable[..., None]
) -> None:
    missing = ImportError("No module named 'jax'; pip install 'dynhp[jax]'")
    install("dynhp.trainers", toy=example, jax=missing)
    code, out, _ = run("check", "--here")
    lines = out.splitlines()
    assert code == 0
    assert lines[:2] == ["jax", "  skipped  No module named 'jax'; pip install 'dynhp[jax]'"]
    assert lines[2] == "toy"
    assert [line.split() for line in lines[3 + len(LAWS) :]] == [
        [],
        [*LAWS],
        ["jax:", "skipped", *["-"] * len(LAWS)],
        ["toy", *["ok"] * len(LAWS)],
    ]


def test_an_installed_trainer_by_its_name(run: Run, install: Callable[..., None]) -> None:
    install("dynhp.trainers", toy=example, jax=ImportError("pip install 'dynhp[jax]'"))
    code, out, _ = run("check", "toy", "mine:Nested.good", "--here")
    assert code == 0
    assert out.startswith("toy\n  ok       restore")
    assert out.count("  ok ") == 2 * len(LAWS)
    code, out, err = run("check", "jax")
    assert (code, out) == (2, "")
    assert err == "dynhp: error: jax cannot be checked: pip install 'dynhp[jax]'\n"
    assert "got 'toi'; did you mean 'toy'?" in run("check", "toi")[2]


def laws_kept(out: str) -> int:
    return sum(line.startswith("  ok ") for line in out.splitlines())


def needing(name: str) -> Callable[[], Any]:
    def needs() -> Any:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    return needs


def test_a_dependency_that_the_factory_misses(run: Run, install: Callable[..., None]) -> None:
    install("dynhp.trainers", toy=example, jax=needing("jax"))
    code, out, _ = run("check", "--here")
    assert code == 0
    assert "jax\n  skipped  No module named 'jax'\n" in out


@pytest.mark.parametrize(
    ("named", "way_out"),
    [(("dynhp", "jax", "torch"), "'dynhp[torch]'"), (("other", "jax"), "'other'")],
)
def test_the_way_out_of_a_missing_dependency_is_the_extra_of_its_package(
    run: Run, install: Callable[..., None], named: tuple[str, ...], way_out: str
) -> None:
    install("dynhp.trainers", *named, toy=example, torch=needing("torch"))
    _, out, _ = run("check", "--here")
    assert f"  skipped  No module named 'torch': pip install {way_out}\n" in out


def test_the_way_out_of_a_plug_in_is_its_own_distribution(
    run: Run, install: Callable[..., None]
) -> None:
    install("dynhp.trainers", "other", toy=example)
    _, out, _ = run("check", "--here")
    assert out.startswith("toy (other 1.2)\n  ok ")


def ends_the_program() -> Any:
    raise SystemExit("no licence")


def a_maker_that_raises() -> Any:
    def make() -> Any:
        raise RuntimeError("no data here")

    return make, {"lr": [0.1, 0.5]}


def a_maker_that_exits() -> Any:
    def make() -> Any:
        raise SystemExit

    return make, {"lr": [0.1, 0.5]}


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        (AttributeError("no 'example'"), "AttributeError: no 'example'"),
        (SyntaxError("invalid syntax"), "somewhere:something: SyntaxError: invalid syntax"),
        (RuntimeError("no GPU"), "RuntimeError: no GPU"),
        # Not a package that is missing: one of the wrong version, and a module of its own.
        (ImportError("cannot import name 'x' from 'jax'"), "ImportError: cannot import name 'x'"),
        (needing("somewhere.exmaple"), "ModuleNotFoundError: No module named 'somewhere.exmaple'"),
        (ends_the_program, "SystemExit: no licence"),
        (lambda: 3, "must return (make, space)"),
        (lambda: (dict, {}), "a space needs at least one hyperparameter"),
        (a_maker_that_raises, "no data here"),
        (a_maker_that_exits, "SystemExit"),
    ],
)
def test_one_that_is_amiss_does_not_hide_the_others(
    run: Run, install: Callable[..., None], broken: Any, reason: str
) -> None:
    install("dynhp.trainers", amiss=broken, toy=example)
    code, out, _ = run("check", "--here")
    assert code == 1
    assert out.startswith("amiss\n  BROKEN   ")
    assert reason in out.splitlines()[1]
    assert laws_kept(out) == len(LAWS)
    assert out.splitlines()[-2].split() == ["amiss:", "BROKEN", *["-"] * len(LAWS)]


def a_maker_that_exits_later() -> Any:
    made = []

    def make() -> Any:
        made.append(Quadratic())
        if len(made) > 40:
            raise SystemExit("out of licences")
        return made[-1]

    return make, {"lr": [0.1, 0.5]}


def test_one_that_ends_in_a_law_keeps_the_verdicts_before(
    run: Run, install: Callable[..., None]
) -> None:
    install("dynhp.trainers", amiss=a_maker_that_exits_later, toy=example)
    code, out, _ = run("check", "--here")
    ok = out.splitlines()[-2].split().count("ok")
    assert code == 1
    assert 0 < ok < len(LAWS)
    assert "  BROKEN   out of licences\n" in out
    row = ["amiss:", "BROKEN", *["ok"] * ok, *["-"] * (len(LAWS) - ok)]
    assert out.splitlines()[-2].split() == row


def test_nothing_to_check_is_no_success(run: Run, install: Callable[..., None]) -> None:
    install("dynhp.trainers", jax=needing("jax"))
    code, out, err = run("check")
    assert (code, out) == (2, "jax\n  skipped  No module named 'jax'\n")
    assert "no installed package offers a usable trainer" in err
