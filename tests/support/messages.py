"""The texts of messages: ``messages.json`` in each folder ``tests`` has them, and only it does.

A test that provokes an error or a hint names its class alone. The whole text is compared with the
file, under the name of the test; a test may look at values in what it caught, as with pytest's own:

    with raises(SettingsError) as caught:
        Racing(keep=2)

``make messages`` writes the files anew: look at what has changed.
"""

from __future__ import annotations

import functools
import json
import os
import platform
import re
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias, TypeVar

import pytest

import dynhp.errors

ROOT = Path(__file__).resolve().parents[2]
MODE = os.environ.get("MESSAGES", "compare")
"""``write`` writes messages down instead. ``ignore`` compares classes alone: parts of some texts
are written by Python or a framework, and so depend on its version (see scripts/test_oldest.py)."""

Known: TypeAlias = dict[str, dict[str, str]]
E = TypeVar("E", bound=BaseException)


@contextmanager
def raises(
    error: type[E] | tuple[type[E], ...], *, name: str = ""
) -> Iterator[pytest.ExceptionInfo[E]]:
    """As ``pytest.raises``; what is raised has exactly the text that is known of it.

    Args:
        error: its class.
        name: what it is called in the file. Without a name, the messages of a test are numbered;
            one that comes from the same line again, as in a loop, is counted once.
    """
    line = _line()
    with pytest.raises(error) as caught:
        yield caught
    check(caught.value, name, line=line)


@contextmanager
def warns(kind: type[Warning], *, name: str = "") -> Iterator[pytest.WarningsRecorder]:
    """As ``pytest.warns``; the warnings of this kind have exactly the texts known of them.

    A hint is given once per process: here it is given again, whatever tests came before.
    """
    line = _line()
    dynhp.errors._given.clear()
    with pytest.warns(kind) as caught:
        yield caught
    for each in caught:
        if issubclass(each.category, kind):
            assert isinstance(each.message, Warning)
            check(each.message, name, line=line)


def check(message: BaseException, name: str = "", line: object = None) -> None:
    """Compare the text of an error or a warning with the one in the file, or write it there."""
    test = _running
    assert test is not None, "a message can be compared in a test only"
    text = f"{type(message).__name__}: {steady(str(message))}"
    if line and (line, text) in test.lines:
        return
    test.lines.add((line, text))
    if not name:
        test.unnamed += 1
    number = f" {test.unnamed}" if test.unnamed > 1 else ""
    key = f"{test.name}: {name}" if name else f"{test.name}{number}"
    assert test.seen.setdefault(key, text) == text, f"{key} has two texts; leave out name="
    path, tests = file_of(test.path)
    if MODE == "write":
        with _changed(path) as known:
            known.setdefault(tests, {})[key] = text
    elif MODE == "compare":
        wanted = _read(path).get(tests, {}).get(key)
        says = "has no message" if wanted is None else f"says\n{wanted}"
        assert text == wanted, (
            f"{path.relative_to(ROOT)} {says}\nfor {key}, got\n{text}\n"
            "If that is right: make messages, or MESSAGES=write pytest of this file"
        )


def _line() -> tuple[str, int]:
    """The line of the ``with`` that is entered."""
    frame = sys._getframe(3)  # behind the context manager's __enter__
    return frame.f_code.co_filename, frame.f_lineno


def file_of(path: Path) -> tuple[Path, str]:
    """The file with the messages of a test file, and how the latter is called in it.

    >>> path, name = file_of(ROOT / "integrations" / "ray" / "tests" / "test_ray.py")
    >>> path.relative_to(ROOT).as_posix(), name
    ('integrations/ray/tests/messages.json', 'test_ray.py')
    """
    parts = path.relative_to(ROOT).parts
    folder = ROOT.joinpath(*parts[: parts.index("tests") + 1])
    return folder / "messages.json", path.relative_to(folder).as_posix()


def steady(text: str) -> str:
    """A text without what differs from process to process or from machine to machine.

    >>> steady("got <function f at 0x7f8e2c3d4a60>")
    'got <function f at 0x...>'
    >>> steady(f"there is no file {tempfile.gettempdir()}/pytest-of-me/pytest-3/test_it0/a/b.json")
    'there is no file <tmp>/a/b.json'
    >>> steady("loss was 0.4817263915 with lr=0.001, of tensor([[-0.2723, 0.1]], device='cpu')")
    "loss was <number> with lr=0.001, of tensor(...device='cpu')"
    """
    for pattern, steadily in _UNSTEADY:
        text = pattern.sub(steadily, text)
    return text


_TMP = f"(?:{'|'.join(re.escape(f(tempfile.gettempdir())) for f in (str, os.path.realpath))})"
_UNSTEADY = [
    (re.compile(pattern), steadily)
    for pattern, steadily in (
        (r"\b0x[0-9a-fA-F]{5,}", "0x..."),
        (r"\b[0-9a-f]{32}\b", "<id>"),
        # What was computed depends on the processor: torch draws dropout by MKL on Intel's alone.
        (r"-?\d+\.\d{6,}(e[+-]?\d+)?", "<number>"),
        (r"(?<=tensor\()[\[-]*\d[-+\d.,e\s\[\]]*", "..."),
        (rf"{_TMP}/pytest-of-[^/]+/pytest-\d+(/popen-gw\d+)?/[^/'\"\s:;,)]*", "<tmp>"),
        (rf"{_TMP}/tmp\w+", "<tmp>"),
        (r"(?<=/run-)[a-z0-9_]{8}\b", "..."),  # a folder with a name of its own
        # How long a record is depends on its times, and on which frameworks are imported.
        (r"\b\d{2,}(?= (bytes|characters)\b)", "<n>"),
        (r"(?<=bytes where )\d+\b", "<n>"),
        (re.escape(sys.prefix), "<python>"),
        (re.escape(str(ROOT)), "<repository>"),
        (rf"(?<![\d.]){re.escape(platform.python_version())}(?![\d.]\d)", "<version of Python>"),
    )
]


class _Test:
    """The test that is running, and what was seen in it."""

    def __init__(self, item: pytest.Item) -> None:
        self.path, self.name = item.path, _name_of(item)
        self.unnamed = 0
        self.seen: dict[str, str] = {}
        self.lines: set[tuple[object, str]] = set()


_running: _Test | None = None


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Note which test is running."""
    global _running
    _running = _Test(item)


@pytest.hookimpl(tryfirst=True)  # before some of a file's tests are deselected
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Refuse messages of tests that no longer exist, in files whose tests are all collected."""
    if MODE == "ignore" or any("::" in argument for argument in config.args):
        return
    names: dict[Path, set[str]] = defaultdict(set)
    for item in items:
        if isinstance(item, pytest.Function):
            names[item.path].add(_name_of(item))
    for test_file, existing in names.items():
        path, tests = file_of(test_file)
        if gone := without_a_test(_read(path).get(tests, {}), existing):
            if MODE != "write":
                raise pytest.UsageError(
                    f"{path.relative_to(ROOT)} has messages of tests that {tests} no longer has: "
                    f"{'; '.join(gone)}. If that is right: make messages"
                )
            with _changed(path) as known:
                known[tests] = {
                    name: text for name, text in known.get(tests, {}).items() if name not in gone
                }


def without_a_test(messages: dict[str, str], tests: set[str]) -> list[str]:
    """The names of messages that belong to none of these tests.

    >>> without_a_test({"test_a": "", "test_a 2": "", "test_a: x": "", "test_b[1]": ""}, {"test_a"})
    ['test_b[1]']
    """
    return [
        name
        for name in messages
        if name not in tests
        and not any(name.startswith((f"{test} ", f"{test}: ")) for test in tests)
    ]


def _name_of(item: pytest.Item) -> str:
    return item.nodeid.partition("::")[2]


@functools.cache
def _read(path: Path) -> Known:
    return json.loads(path.read_text("utf-8")) if path.exists() else {}


@contextmanager
def _changed(path: Path) -> Iterator[Known]:
    """The messages of a file, which are written back: one process at a time changes them."""
    import fcntl  # not on Windows, where messages are compared but not written

    folder = os.open(path.parent, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        known = _read.__wrapped__(path)
        yield known
        text = json.dumps(known, indent=2, sort_keys=True, ensure_ascii=False)
        new = path.with_suffix(".new")
        new.write_text(text + "\n", "utf-8")
        new.replace(path)  # others may read it at any moment
    finally:
        os.close(folder)
