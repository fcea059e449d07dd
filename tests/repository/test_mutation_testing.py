"""The mutation testing itself: what it calls noticed was noticed, and nothing is left out."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

if sys.version_info < (3, 11):
    pytest.skip("scripts/mutants.py needs Python 3.11", allow_module_level=True)

sys.path.append(str(Path(__file__).resolve().parents[2] / "scripts"))

import mutants
import tomllib

SOURCE = """
import functools


def noticed(x):
    return x * 2


def called(x):
    return x + 1


def unused(x):
    return x - 1


@functools.lru_cache(
    maxsize=8,
)
def decorated(x):
    return x - 1


def at_import(x):
    return x + 3


VALUE = at_import(1)


def seldom(x):
    if x == 7:
        return x + 5
    return 0
"""
TESTS = """
from dynhp import thing

before = []


def test_it():
    before.append(1)
    assert thing.noticed(3) == 6
    assert thing.decorated(3) == 2
    assert thing.VALUE == 4
    assert thing.seldom(1) == 0


def test_that_calls_and_leans_on_the_one_before():
    thing.called(1)
    assert before


def test_that_calls():
    thing.called(2)


def test_of_the_seldom_case():
    assert thing.seldom(7) == 12


def test_that_is_long():
    assert sum(range(10**6)) and thing.noticed(4) == 8
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with one module, which is to be mutated."""
    pytest.importorskip("mutmut")
    ours = Path(__file__).parents[1]
    files = {
        "dynhp/__init__.py": "",
        "dynhp/errors.py": "class Hint(UserWarning): ...",
        "dynhp/thing.py": SOURCE,
        "tests/conftest.py": "import tests.support.examples",
        "tests/support/examples.py": (ours / "support" / "examples.py").read_text("utf-8"),
        "tests/test_thing.py": TESTS,
        "pyproject.toml": '[tool.pytest.ini_options]\naddopts = "--import-mode=importlib"\n',
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(text, "utf-8")
    monkeypatch.setattr(mutants, "ROOT", tmp_path)
    monkeypatch.setattr(mutants, "TESTS", ("tests",))
    monkeypatch.setattr(sys, "argv", ["mutants.py", "dynhp/thing.py", "--workers", "2"])
    return tmp_path


def judged(lines: list[str]) -> dict[str, set[str]]:
    """What was printed about the mutants of each function."""
    fates: dict[str, set[str]] = {}
    for line in lines:
        if line.startswith("mutant "):
            name, _, fate = line.removeprefix("mutant dynhp.thing.x_").split(" ", 2)
            fates.setdefault(name.split("__")[0], set()).add(fate)
    return fates


def counts(lines: list[str]) -> str:
    return next(line for line in lines if line.startswith("dynhp/thing.py: "))


@pytest.mark.usefixtures("project")
def test_of_a_whole_run(capfd: pytest.CaptureFixture[str]) -> None:
    assert mutants.main() == 1
    lines = capfd.readouterr().out.splitlines()
    first = "tests/test_thing.py::test_it"
    assert judged(lines) == {
        "noticed": {f"killed: {first}"},
        "called": {"survived: "},  # the test that leans on another fails alone, mutant or not
        "unused": {"no tests: "},
        "decorated": {f"killed: {first}"},
        "at_import": {"killed: "},
        "seldom": {f"killed: {first}", "killed: tests/test_thing.py::test_of_the_seldom_case"},
    }
    assert counts(lines).endswith(" killed, 2 no tests, 2 survived")
    assert "4 survived, 0 are equivalent" in lines
    assert "+    return x - 1" in lines
    assert "SURVIVED in dynhp.thing.called" in lines


def test_a_run_goes_on_where_it_was_and_after_a_change_begins_anew(
    project: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file, long = project / "out" / "fates.jsonl", "tests/test_thing.py::test_that_is_long"
    sys.argv += ["--fates", str(file)]
    assert mutants.main() == 1
    whole = capfd.readouterr().out.splitlines()
    fates = [json.loads(line) for line in file.read_text("utf-8").splitlines()]

    def write(kept: list[list[str]], end: str = "") -> None:
        file.write_text("".join(json.dumps(each) + "\n" for each in kept) + end, "utf-8")

    write(fates[:5], end=json.dumps(fates[5])[:-9])  # killed while it wrote
    assert mutants.main() == 1
    rest = capfd.readouterr().out.splitlines()
    assert f"5 of {len(fates)} mutants were judged before" in rest
    assert sum(line.startswith("mutant ") for line in rest) == len(fates) - 5
    assert mutants.main() == 1
    nothing = capfd.readouterr().out.splitlines()
    assert f"{len(fates)} of {len(fates)} mutants were judged before" in nothing
    assert not judged(nothing)
    answers = [lines[lines.index(counts(lines)) :] for lines in (whole, rest, nothing)]
    assert answers[0] == answers[1] == answers[2]
    # The test that noticed a mutant is asked first in the next run, which believes nothing.
    write([[*each[:4], long] if ".x_noticed" in each[1] else each for each in fates])
    with (project / "tests" / "test_thing.py").open("a", encoding="utf-8") as tests:
        tests.write("def test_called():\n    assert (thing.called(1), thing.unused(2)) == (2, 1)\n")
    assert mutants.main() == 0
    anew = capfd.readouterr().out.splitlines()
    assert f"0 of {len(fates)} mutants were judged before" in anew
    assert judged(anew)["noticed"] == {f"killed: {long}"}
    assert judged(anew)["called"] == {"killed: tests/test_thing.py::test_called"}


def test_decorators_are_opened_from_the_inside() -> None:
    source = """
def twice(function):
    return lambda *given: function(function(*given))
def made(step):
    @twice
    @twice
    def inner(x):
        return x + step
    return inner
class Kept:
    @property
    def value(self):
        return 5
    @twice
    def more(self):
        return self
"""
    opened = mutants.open_decorators(source)
    assert "@" not in opened
    names: dict[str, object] = {}
    exec(opened, names)
    made, kept = names["made"], names["Kept"]
    assert made(3)(1) == 13  # type: ignore[operator]
    assert kept().value == 5  # type: ignore[operator]


def test_a_statement_with_a_body_is_its_head() -> None:
    source = """def f(
    x=1,
):
    if (
        x
    ):
        return [
            x,
        ]
    try:
        g()
    except (
        KeyError
    ):
        pass"""
    spans = mutants.statements(source)
    assert spans == sorted(spans, key=lambda span: span[1] - span[0])
    assert set(spans) == {(3, 5), (6, 8), (9, 9), (10, 10), (11, 13), (14, 14)}


def test_what_is_mutated_and_the_tests_that_are_asked_are_there() -> None:
    files = [*mutants.MUTATED, *mutants.TESTS]
    assert [name for name in files if not (mutants.ROOT / name).exists()] == []
    path = mutants.ROOT / "scripts" / "equivalent_mutants.toml"
    modules = tuple(map(mutants.prefix, mutants.MUTATED))
    listed = tomllib.loads(path.read_text("utf-8"))["equivalent"]
    assert [each["function"] for each in listed if not each["function"].startswith(modules)] == []
