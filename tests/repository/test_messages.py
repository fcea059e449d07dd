"""The files of messages: another text is noticed, and so is a message without a test."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from dynhp.errors import Hint, advise
from tests.support import messages
from tests.support.messages import ROOT, check, raises, steady, warns

FILES = sorted(ROOT.glob("**/tests/messages.json"))


def test_every_group_of_messages_is_of_tests_that_exist() -> None:
    groups = [(path.parent, name) for path in FILES for name in json.loads(path.read_text("utf-8"))]
    assert len(groups) > 5 or messages.MODE == "write"  # which begins with no file
    assert [name for folder, name in groups if not (folder / name).exists()] == []


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., None]:
    """Sets what the file says of the test that runs."""

    def set_to(**texts: str) -> None:
        file = tmp_path / "messages.json"
        file.write_text(json.dumps({"test.py": texts}))
        monkeypatch.setattr(messages, "ROOT", tmp_path)
        monkeypatch.setattr(messages, "file_of", lambda path: (file, "test.py"))
        messages._read.cache_clear()

    monkeypatch.setattr(messages, "MODE", "compare")
    return set_to


def test_another_text_and_another_class_are_noticed(known: Callable[..., None]) -> None:
    name = "test_another_text_and_another_class_are_noticed"
    known(**{name: "ValueError: 1", f"{name} 2": "ValueError: 2", f"{name}: x": "Hint: 3"})
    with raises(ValueError) as caught:
        raise ValueError(1)
    assert caught.value.args == (1,)
    with pytest.raises(AssertionError, match=r"(?s)says.*ValueError: 2.*noticed 2, got"):
        check(KeyError(2))
    check(Hint(3), "x")
    check(Hint(3), "x")  # as often as it comes
    with pytest.raises(AssertionError, match="has two texts"):
        check(Hint(4), "x")
    with pytest.raises(AssertionError, match=r"(?s)has no message.*make messages"):
        check(ValueError(2), "new")


def test_in_a_loop_a_message_counts_once(known: Callable[..., None]) -> None:
    name = "test_in_a_loop_a_message_counts_once"
    known(**{name: "ValueError: 1", f"{name} 2": "ValueError: 2", f"{name} 3": "ValueError: 1"})
    for number in (1, 1, 2, 1):
        with raises(ValueError):
            raise ValueError(number)
    with raises(ValueError):
        raise ValueError(1)


def test_what_raises_nothing_is_noticed(known: Callable[..., None]) -> None:
    known()
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"), raises(ValueError):
        pass
    with pytest.raises(pytest.fail.Exception, match="DID NOT WARN"), warns(Hint):
        pass


def test_hints_are_given_again_and_all_compared(known: Callable[..., None]) -> None:
    name = "test_hints_are_given_again_and_all_compared"
    known(**{name: "Hint: a", f"{name} 2": "Hint: b", f"{name} 3": "Hint: a"})
    with warns(Hint) as caught:
        advise("a")
        advise("b")
        advise("a")
    assert len(caught) == 2
    with warns(Hint):
        advise("a")
    with (
        pytest.raises(AssertionError, match="make messages"),
        warnings.catch_warnings(),
        warns(Hint),
    ):
        advise("c")


def test_what_differs_from_machine_to_machine_is_left_out(tmp_path: Path) -> None:
    assert steady(f"'{tmp_path}'; {tmp_path}/a.txt") == "'<tmp>'; <tmp>/a.txt"
    assert steady(f"{tmp_path}/run-cv8qt0in 0.76455587 1.5") == "<tmp>/run-... <number> 1.5"
    assert steady(f"{ROOT}/dynhp/units.py and {sys.prefix}/lib") == (
        "<repository>/dynhp/units.py and <python>/lib"
    )


TESTS = """
import pytest
from tests.support.messages import raises

@pytest.mark.parametrize("settings", [{"a": 1}, {"a": 2}])
def test_one(settings):
    with raises(ValueError):
        raise ValueError(settings["a"])
    with raises(KeyError, name="second"):
        raise KeyError(f"at {id(settings):#x}")
"""


def test_messages_are_written_and_those_of_tests_that_are_gone_are_refused(tmp_path: Path) -> None:
    (tmp_path / "tests" / "support").mkdir(parents=True)
    for name in ("ids.py", "messages.py"):
        shutil.copy(ROOT / "tests" / "support" / name, tmp_path / "tests" / "support")
    plugins = 'pytest_plugins = ["tests.support.ids", "tests.support.messages"]'
    (tmp_path / "conftest.py").write_text(plugins)
    (tmp_path / "pytest.ini").write_text("[pytest]\npythonpath = .\n")
    test = tmp_path / "tests" / "test_it.py"

    def run(text: str, mode: str) -> str:
        test.write_text(text)
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "MESSAGES": mode},
            capture_output=True,
            text=True,
        )
        return done.stdout + done.stderr

    assert "If that is right: make messages" in run(TESTS, "compare")
    assert "2 passed" in run(TESTS, "ignore")
    assert "2 passed" in run(TESTS, "write")
    file = tmp_path / "tests" / "messages.json"
    assert json.loads(file.read_text()) == {
        "test_it.py": {
            "test_one[a=1]": "ValueError: 1",
            "test_one[a=1]: second": "KeyError: 'at 0x...'",
            "test_one[a=2]": "ValueError: 2",
            "test_one[a=2]: second": "KeyError: 'at 0x...'",
        }
    }
    assert "2 passed" in run(TESTS, "compare")
    fewer = TESTS.replace(', {"a": 2}', "")
    assert "test_it.py no longer has: test_one[a=2]; test_one[a=2]: second." in run(
        fewer, "compare"
    )
    assert "1 passed" in run(fewer, "write")
    assert "1 passed" in run(fewer, "compare")
    assert [*json.loads(file.read_text())["test_it.py"]] == [
        "test_one[a=1]",
        "test_one[a=1]: second",
    ]
