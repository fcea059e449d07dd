"""Mutation testing: does a test notice when a line of the algorithm is changed?

mutmut changes ``adapter.py``, ``rounds/``, ``selection.py`` and ``planning/budget.py`` in a
temporary copy, one change at a time, and runs the fast tests of the core. What survives is printed
as a diff. The exit code is 1 where one survives that ``equivalent_mutants.toml`` does not list with
the reason why no test can notice it, and also where that list has an entry that is no longer
needed. Files named on the command line are mutated alone.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

if sys.version_info < (3, 11):
    sys.exit("scripts/mutants.py needs Python 3.11 or later")

import tomllib

ROOT = Path(__file__).resolve().parents[1]
MUTATED = (
    "dynhp/adapter.py",
    "dynhp/selection.py",
    "dynhp/planning/budget.py",
    *(
        path.relative_to(ROOT).as_posix()
        for path in sorted((ROOT / "dynhp" / "rounds").glob("*.py"))
        if path.name != "__init__.py"
    ),
)
TESTS = (
    "tests/adapter",
    "tests/criteria/test_bad_input_criteria.py",
    "tests/loops",
    "tests/planning",
    "tests/repository/test_mutants.py",
    "tests/rounds",
    "tests/test_advice.py",
    "tests/records/test_records.py",
    "tests/test_selection.py",
    "tests/wrappers",
)
CONFIGURATION = """
[tool.mutmut]
source_paths = ["dynhp"]
only_mutate = [{mutated}]
pytest_add_cli_args = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:randomly"]
pytest_add_cli_args_test_selection = [{tests}]
process_isolation = "forkserver"
"""
# mutmut 3.8 asks for an attribute that pytest 9.2 no longer has. A mutant that fills the memory in
# an endless loop must fail, not take the machine with it. Fewer examples: every mutant pays. Hints
# point at the line that called dynhp, so the frames that mutmut puts in between count as dynhp's.
SHIM = """

import resource

import mutmut.mutation.trampoline
import pytest

mutmut.mutation.trampoline.__name__ = "dynhp.trampoline"
resource.setrlimit(resource.RLIMIT_AS, (2 << 30, resource.getrlimit(resource.RLIMIT_AS)[1]))

if not hasattr(pytest.Item, "_nodeid"):
    pytest.Item._nodeid = property(lambda item: item.nodeid)


def pytest_collection_modifyitems(items):
    for item in items:  # as the root's conftest.py, which is not copied, lets hints pass
        item.add_marker(pytest.mark.filterwarnings("ignore::dynhp.errors.Hint"), append=False)


settings.register_profile("mutants", parent=settings.get_profile("dynhp"), max_examples=20)
settings.load_profile("mutants")
"""


@dataclass(frozen=True, slots=True, order=True)
class Mutant:
    """One change: where, what stood there, what stands there now."""

    function: str
    removed: str
    added: str


def main() -> int:
    """Mutate, test, and compare the survivors with the list."""
    mutated = tuple(sys.argv[1:]) or MUTATED
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        prepare(copy, mutated)
        if subprocess.run(
            [sys.executable, "-m", "pytest", "-x", "-q", *TESTS], cwd=copy, env=environment()
        ).returncode:
            print("the tests must pass on the code as it is before it is mutated")
            return 1
        if run(copy, "run", show=True).returncode:
            print("mutmut could not run")
            return 1
        status = dict(results(copy))
        survivors = {
            name: run(copy, "show", name).stdout
            for name, fate in status.items()
            if not noticed(fate)
        }
    print(", ".join(f"{count} {fate}" for fate, count in sorted(Counter(status.values()).items())))
    return judge(survivors, mutated)


def noticed(fate: str) -> bool:
    """A mutant that never ends, or that no longer imports, has been noticed too."""
    return fate in ("killed", "timeout", "segfault", "caught by type check")


def prepare(copy: Path, mutated: tuple[str, ...]) -> None:
    """Copy what is needed, and write mutmut's configuration into the copy."""
    for name in ("dynhp", "tests"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in mutated:
        path = copy / name
        path.write_text(open_properties(path.read_text("utf-8")), "utf-8")
    settings = (ROOT / "pyproject.toml").read_text("utf-8") + CONFIGURATION.format(
        mutated=", ".join(f'"{name}"' for name in mutated),
        tests=", ".join(f'"{name}"' for name in TESTS),
    )
    (copy / "pyproject.toml").write_text(settings, "utf-8")
    with (copy / "tests" / "conftest.py").open("a", encoding="utf-8") as conftest:
        conftest.write(SHIM)


def open_properties(source: str) -> str:
    """Write ``@property`` as ``name = property(_name)``: mutmut leaves decorated functions alone.

    >>> print(open_properties('class A:\\n    @property\\n    def b(self):\\n        return 1\\n'))
    class A:
        def b_(self):
            return 1
        b = property(b_)
    <BLANKLINE>
    """
    lines = source.splitlines(keepends=True)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef) and [ast.unparse(d) for d in node.decorator_list] == [
            "property"
        ]:
            first, end = node.lineno - 1, (node.end_lineno or 0) - 1
            lines[first - 1] = ""
            lines[first] = lines[first].replace(f"def {node.name}(", f"def {node.name}_(")
            indent = " " * node.col_offset
            lines[end] += f"{indent}{node.name} = property({node.name}_)\n"
    return "".join(lines)


def run(copy: Path, *arguments: str, show: bool = False) -> subprocess.CompletedProcess[str]:
    """Call mutmut in the copy."""
    return subprocess.run(
        [sys.executable, "-m", "mutmut", *arguments],
        cwd=copy,
        env={**environment(), "COLUMNS": "100"},
        text=True,
        stdout=None if show else subprocess.PIPE,
    )


def environment() -> dict[str, str]:
    """The variables of a process that must see the copy, and no other dynhp."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


def results(copy: Path) -> Iterator[tuple[str, str]]:
    """Every mutant's name and what became of it."""
    for line in run(copy, "results", "--all", "true").stdout.splitlines():
        if match := re.fullmatch(r"\s*(dynhp\S+): (.+)", line):
            yield match[1], match[2]


def judge(survivors: dict[str, str], mutated: tuple[str, ...]) -> int:
    """Print what survived, and say whether all of it is listed and all that is listed survived."""
    path = Path(__file__).with_name("equivalent_mutants.toml")
    listed = tomllib.loads(path.read_text("utf-8"))["equivalent"]
    modules = tuple(name.removesuffix("py").replace("/", ".") for name in mutated)
    known = {
        Mutant(item["function"], item["removed"], item["added"])
        for item in listed
        if item["function"].startswith(modules)
    }
    diffs = {parse(name, diff): diff for name, diff in survivors.items()}
    for mutant in sorted(diffs.keys() - known):
        print(f"\nSURVIVED in {mutant.function}\n{diffs[mutant].strip()}")
    for mutant in sorted(known - diffs.keys()):
        print(f"\nLISTED but did not survive: {mutant}")
    print(f"\n{len(diffs.keys() - known)} survived, {len(diffs.keys() & known)} are equivalent")
    return 1 if diffs.keys() ^ known else 0


def parse(name: str, diff: str) -> Mutant:
    """The change itself, which stays the same when other lines are added or renumbered."""
    module, _, rest = name.rpartition(".")
    function = re.sub(r"__mutmut_\d+$", "", rest).replace("xǁ", "").replace("ǁ", ".")
    changed = [line for line in diff.splitlines() if not line.startswith(("---", "+++"))]
    removed, added = (
        " ".join(line[1:].strip() for line in changed if line.startswith(sign)) for sign in "-+"
    )
    return Mutant(f"{module}.{re.sub('^x_', '', function)}", removed, added)


if __name__ == "__main__":
    sys.exit(main())
