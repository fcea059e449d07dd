"""``make count-code`` counts what it says: each figure on a few lines of source."""

from __future__ import annotations

import functools
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.messages import raises

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))

import _crossed_by_a_round as rounds
import _source_counts as source
import count_code
from _versions import checked_out

POLICY = """
class Most(TypedDict, total=False):
    when: int
    tail: int

class Fields(Most):
    seed: int
"""


def module(text: str, name: str = "house.room") -> source.SourceFile:
    return source.SourceFile(name, text)


@pytest.mark.parametrize(
    ("text", "lines", "statements"),
    [
        ("", 0, 0),
        ('"""What it\n\nis for."""\n\n\nx = 1  # why\n# where\n', 1, 1),
        ("def f():\n    'Says.'\n    return (\n        1,\n    )\n", 4, 2),
        ("x = 1\n'''What x is.'''\ny = '''a\nb'''\n", 3, 2),
        ("x = 1; y = 2\n", 1, 2),
    ],
)
def test_code_is_what_is_neither_blank_nor_comment_nor_docstring(
    text: str, lines: int, statements: int
) -> None:
    assert source.code_lines(text) == lines
    assert source.statements(text) == statements


@pytest.mark.parametrize(
    ("signature", "expected"),
    [
        ("a, *, b=1", (2, 2)),
        ("a, /, b, *rest, c", (4, 4)),
        ("a, **options: Unpack[Fields]", (2, 4)),
        ("a, **options: typing.Unpack[policies.Fields]", (2, 4)),
        ("a, **options: int", (2, 2)),
    ],
)
def test_keywords_count_as_one_argument_and_as_the_fields_that_they_accept(
    signature: str, expected: tuple[int, int]
) -> None:
    function = module(f"def adapt(old): ...\ndef adapt({signature}):\n    return 1\n")
    assert source.arguments([module(POLICY), function], "adapt") == expected
    own = f"self, {signature}"
    method = module(f"class Adapter:\n    def __init__({own}):\n        pass\n")
    assert source.arguments([module(POLICY), method], "Adapter.__init__") == expected


def test_a_function_that_is_not_there_has_no_arguments() -> None:
    with pytest.raises(LookupError, match="adapt"):
        source.arguments([module("x = 1")], "adapt")


TAKERS = """
def reads_two(given: DynamicGridAdapter, times: int) -> int:
    given.seed = times
    return given.epochs + given.seed

class Kept:
    def __init__(self, adapter):
        self.adapter = adapter

    def reads(self, policy: "Policy | None") -> int:
        def inner() -> int:
            return policy.a + policy.b + policy.c + policy.d
        return inner()

    def needs(self, view: AdapterView) -> int:
        ...

def no_whole(options: LoopOptions, adapters: int) -> None:
    options.adapter.seed
"""


def test_whole_objects_are_found_by_their_types_and_names() -> None:
    counted = {taker.where: taker for taker in source.takers([module(TAKERS)])}
    first, kept, reads = (
        counted.pop(f"house.room.{name}") for name in ("reads_two", "Kept.__init__", "Kept.reads")
    )
    assert not counted
    assert (first.kind, first.read, first.is_handed_on) == ("adapter", ("epochs", "seed"), False)
    assert (kept.kind, kept.read, kept.is_handed_on) == ("adapter", (), True)
    assert (reads.kind, reads.read, reads.is_handed_on) == ("policy", tuple("abcd"), False)
    assert str(kept) == "house.room.Kept.__init__(adapter) reads nothing, and uses it whole"


def test_private_functions_are_counted_by_their_uses_outside_of_themselves() -> None:
    text = """
def _once(): return _once
def _twice(): return _once()
def __getattr__(name): return _twice() + _twice()
class A:
    def _text(self): ...
class B:
    def _text(self): return A()._text() + self._elsewhere() + self._text()
    def _elsewhere(self): ...
"""
    other = module("from house.room import _twice\nb._elsewhere", "house.other")
    assert source.private_functions([module(text), other]) == {
        "house.room._once": 1,
        "house.room._twice": 3,
        "house.room.A._text": 0,
        "house.room.B._text": 0,
        "house.room.B._elsewhere": 1,
    }


def test_cycles_are_between_packages_and_apart_for_types() -> None:
    house = [
        module("from house.b.deep import f\nimport numpy", "house.a"),
        module("", "house.b"),
        module("try:\n    from house import c\nexcept ImportError: ...", "house.b.deep"),
        module("def late():\n    from house import a\nclass C:\n    import house.b", "house.c"),
        module("if TYPE_CHECKING:\n    from house import e\nelse:\n    import house.a", "house.d"),
        module("from house.d import x", "house.e"),
    ]
    imports = functools.partial(source.imports, house, count_code.part_of)
    assert imports(for_types=False) == {
        "house.a": {"house.b"},
        "house.b": {"house.c"},
        "house.c": {"house.b"},
        "house.d": {"house.a"},
        "house.e": {"house.d"},
    }
    assert source.cycles(imports(for_types=False)) == [["house.b", "house.c"]]
    assert source.cycles(imports(for_types=True)) == [
        ["house.b", "house.c"],
        ["house.d", "house.e"],
    ]


def test_names_are_those_of_all_and_of_the_page() -> None:
    text = '__all__ = [\n    "a",\n    # more\n    "b",\n]\n__all__ += ["c"]\nother = ["d"]\n'
    assert source.declared_names(module(text)) == ["a", "b", "c"]
    page = (
        "| `no` |\n## `dynhp`\n| name | is |\n|---|---|\n| `a` | x |\n| `b` | y |\n## `dynhp.c`\n"
    )
    assert source.listed_names(page) == {"": 1, "dynhp": 2}


def test_modules_are_named_as_they_are_imported(tmp_path: Path) -> None:
    (tmp_path / "house" / "room").mkdir(parents=True)
    for path in ("house/__init__.py", "house/room/__init__.py", "house/room/chair.py"):
        (tmp_path / path).write_text("x = 1\n", "utf-8")
    counted = source.modules(tmp_path / "house")
    assert [(each.name, each.is_package) for each in counted] == [
        ("house", True),
        ("house.room", True),
        ("house.room.chair", False),
    ]


def test_a_recorder_counts_functions_and_resumed_generators_once(tmp_path: Path) -> None:
    text = """
def both():
    return [once() for _ in range(3)]
def once():
    return 1
def many():
    yield from map(lambda x: x, (1, 2, 3))
"""
    path = tmp_path / "room.py"
    names: dict[str, Any] = {}
    exec(compile(text, str(path), "exec"), names)
    running = names["many"]()
    next(running)
    recorder = rounds.CallRecorder({"house": tmp_path, "other": tmp_path / "not"})
    recorder.at_epoch(0)
    names["once"]()
    assert not recorder.calls
    try:
        recorder.start()
        names["both"]()
        next(running)
    finally:
        recorder.stop()
    names["many"]()
    counted = {(file, name.rpartition(".")[2]) for file, name in recorder.calls}
    assert counted == {("house/room.py", name) for name in ("both", "once", "many", "<lambda>")}


def test_a_round_of_a_trainer_crosses_the_adapter_and_no_construction() -> None:
    core = Path(sys.modules["dynhp"].__file__ or "").parent
    recorder = rounds.CallRecorder({"dynhp": core})
    rounds._trainer(recorder, "off")
    names = {name for _, name in recorder.calls}
    assert "DynamicGridAdapter.step" in names
    assert "DynamicGridAdapter.__init__" not in names
    assert {file.partition("/")[0] for file, _ in recorder.calls} == {"dynhp"}


def test_a_loop_is_looked_at_for_one_whole_cycle() -> None:
    core = Path(sys.modules["dynhp"].__file__ or "").parent
    counted = []
    for check in ("off", "every"):
        recorder = rounds.CallRecorder({"dynhp": core})
        rounds._numpy_loop(recorder, check)
        counted.append(recorder.calls)
    without, with_ = counted
    assert without < with_, "the check is in every round"
    assert sys.getprofile() is None


def test_the_table_has_a_dash_for_what_a_version_lacks() -> None:
    count = count_code.Count
    columns = {
        "before": [count("files", "236"), count("cycles", "1")],
        "now": [count("files", "90")],
    }
    assert count_code.table(columns).splitlines() == [
        "        before  now",
        "files      236   90",
        "cycles       1    -",
    ]


def test_this_version_has_all_figures_of_the_source() -> None:
    figures = count_code.source_figures(count_code.ROOT)
    assert len({figure.what for figure in figures}) == len(figures) > 15
    for figure in figures:
        if figure.counted:
            assert figure.value.split(" / ")[0] == str(len(figure.counted))


def test_a_revision_that_is_not_there_is_named() -> None:
    with raises(SystemExit), checked_out("no-such-revision"):
        pass
