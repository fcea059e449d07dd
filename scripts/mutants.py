"""Mutation testing: does a test notice when a line of the algorithm is changed?

mutmut changes the policy, the engine, the drivers, loops, tails, the search for a rate, what a try
and a saved run are made of, ``selection.py`` and the costs of ``planning/`` in a temporary copy,
one change at a time, and ``mutant_tests.py`` runs the fast tests of the core that run the changed
statement. What survives is printed as a diff. The exit code is 1 where one survives that
``equivalent_mutants.toml`` does not list with the reason why no test can notice it, and also where
that list has an entry that is no longer needed. Files named on the command line are mutated alone.
With ``--fates FILE`` a run that was interrupted goes on where it was, and one after a change first
asks the tests that noticed the mutants before: see ``mutant_fates.py``.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import difflib
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import textwrap
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if sys.version_info < (3, 11):
    sys.exit("scripts/mutants.py needs Python 3.11 or later")

import tomllib
from mutant_fates import Fate, Fates, code_of

if TYPE_CHECKING:
    from mutmut.mutation.file_mutation import MutatedFile  # there for ``make mutants`` only

ROOT = Path(__file__).resolve().parents[1]
MUTATED = (
    "dynhp/adapter.py",
    "dynhp/policy.py",
    "dynhp/read_back.py",
    "dynhp/saved.py",
    "dynhp/selection.py",
    "dynhp/start.py",
    "dynhp/turns.py",
    "dynhp/executors/attempt.py",
    "dynhp/executors/contract.py",
    "dynhp/planning/budget.py",
    "dynhp/planning/presets.py",
    "dynhp/planning/rates.py",
    "dynhp/proposers/climb.py",
    "dynhp/records/plain.py",
    "dynhp/spaces/around.py",
    *(
        path.relative_to(ROOT).as_posix()
        for folder in ("engine", "drivers", "tails", "loops")
        for path in sorted((ROOT / "dynhp" / folder).glob("*.py"))
        if path.name != "__init__.py"
    ),
)
TESTS = (
    "tests/adapter",
    "tests/criteria",
    "tests/drivers",
    "tests/engine",
    "tests/executors/test_attempt.py",
    "tests/executors/test_attempt_outcome.py",
    "tests/executors/test_jobs.py",
    "tests/executors/test_put_in_force.py",
    "tests/loops",
    "tests/middleware",
    "tests/planning",
    "tests/proposers",
    "tests/records/test_records.py",
    "tests/repository/test_mutants.py",
    "tests/spaces",
    "tests/tails",
    "tests/test_advice.py",
    "tests/test_plain_counts.py",
    "tests/test_policy.py",
    "tests/test_read_back.py",
    "tests/test_saved.py",
    "tests/test_saved_held.py",
    "tests/test_selection.py",
    "tests/test_start.py",
    "tests/test_start_value.py",
    "tests/test_texts.py",
    "tests/test_turns.py",
    "tests/test_units.py",
    "tests/wrappers",
)
CONFIGURATION = """
[tool.mutmut]
source_paths = ["dynhp"]
"""
# Fewer examples, and none made smaller once it fails: every mutant pays. Hints pass, as the root's
# conftest.py, which is not copied, lets them.
SHIM = """

import pytest
from hypothesis import Phase, settings


def pytest_collection_modifyitems(items):
    for item in items:
        item.add_marker(pytest.mark.filterwarnings("ignore::dynhp.errors.Hint"), append=False)


settings.register_profile(
    "mutants",
    parent=settings.get_profile("dynhp"),
    max_examples=20,
    phases=[Phase.explicit, Phase.generate],
)
settings.load_profile("mutants")
"""


@dataclass(frozen=True, slots=True, order=True)
class Mutant:
    """One change: where, what stood there, what stands there now."""

    function: str
    removed: str
    added: str


class MutantPlace(NamedTuple):
    """Where a mutant is: its file, the lines of the statement in the copy, and what is changed."""

    file: str
    first: int
    last: int
    change: str


def main() -> int:
    """Mutate, test, and compare the survivors with the list."""
    from mutmut.mutation.diff_apply import get_diff_for_mutant

    given = options()
    mutated = tuple(given.files) or MUTATED
    fates = Fates(given.fates, code_of(ROOT))
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        places = prepare(copy, mutated)
        waiting = {name: place for name, place in places.items() if name not in fates.known}
        print(f"{len(places) - len(waiting)} of {len(places)} mutants were judged before")
        for name, fate in asked(copy, waiting, fates.noticed_by, given.workers):
            fates.add(name, places[name].change, fate)
        judged = {name: fates.known[name].fate for name in places if name in fates.known}
        survivors: dict[str, str] = {}
        for name, became in judged.items():
            if not noticed(became):
                file = places[name].file
                code = (copy / file).read_text("utf-8")
                survivors[name] = get_diff_for_mutant(name, source=code, path=file)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{used.ru_utime + used.ru_stime:.0f} seconds of processor time in tests")
    for module in mutated:
        counted = Counter(fate for name, fate in judged.items() if places[name].file == module)
        print(f"{module}: " + ", ".join(f"{n} {fate}" for fate, n in sorted(counted.items())))
    if judged.keys() != places.keys():
        print(f"{len(judged)} of {len(places)} mutants were judged")
        return 1
    return judge(survivors, mutated)


def options() -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("files", nargs="*", help="mutate these alone")
    parser.add_argument("--fates", type=Path, help="a file that keeps what became of each mutant")
    cores = len(os.sched_getaffinity(0))
    parser.add_argument("--workers", type=int, default=cores, help="processes at a time")
    return parser.parse_args()


def noticed(fate: str) -> bool:
    """A mutant that never ends, or that no longer imports, has been noticed too."""
    return fate in ("killed", "timeout", "segfault", "caught by type check")


def prepare(copy: Path, mutated: tuple[str, ...]) -> dict[str, MutantPlace]:
    """Copy what is needed, with the mutated files; every mutant's name and its place."""
    from mutmut.mutation.file_mutation import mutate_file_contents

    for name in ("dynhp", "tests"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    settings = (ROOT / "pyproject.toml").read_text("utf-8") + CONFIGURATION
    (copy / "pyproject.toml").write_text(settings, "utf-8")
    shutil.copy(Path(__file__).with_name("mutant_tests.py"), copy)
    places: dict[str, MutantPlace] = {}
    for file in mutated:
        source = open_decorators((copy / file).read_text("utf-8"))
        with contextlib.chdir(copy):  # where mutmut looks for its settings
            result = mutate_file_contents(file, source)
        (copy / file).write_text(result.code, "utf-8")
        for name in result.mutant_names:
            places[prefix(file) + name] = place_of(name, file, result)
    with (copy / "tests" / "conftest.py").open("a", encoding="utf-8") as conftest:
        conftest.write(SHIM)
    return places


def place_of(mutant: str, file: str, result: MutatedFile) -> MutantPlace:
    """The first and last line, in the mutated file, of the statement that a mutant changes.

    They are those of the original function, which is there too. A change in the head of a function,
    or one that cannot be placed, is one of the whole function.
    """
    spans, lines = result.line_span_by_function_name, result.code.splitlines()
    span = spans[re.sub(r"\d+$", "orig", mutant)]
    before, after = (
        [re.sub(r"__mutmut_\w+", "", line) for line in lines[each.start - 1 : each.end]]
        for each in (span, spans[mutant])
    )
    codes = difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    changed = [each[1:] for each in codes if each[0] != "equal"]
    texts = [re.sub(r"\d+$", "", prefix(file) + mutant)]
    for i, j, k, m in changed:
        texts += [f"-{line.strip()}" for line in before[i:j]]
        texts += [f"+{line.strip()}" for line in after[k:m]]
    first, last, change = changed[0][0], changed[-1][1] - 1, "\n".join(texts)
    for begin, end in statements("\n".join(before)):
        if begin <= first and last <= end:
            return MutantPlace(file, span.start + begin, span.start + end, change)
    return MutantPlace(file, span.start, span.end, change)


def statements(source: str) -> list[tuple[int, int]]:
    """The lines, from 0, of every statement in a function; of one with a body, only its head.

    >>> statements("def f():\\n    while (\\n        g()\\n    ):\\n        h()")
    [(4, 4), (1, 3)]
    """
    tree = ast.parse(textwrap.dedent(source))
    spans = []
    for node in ast.walk(tree.body[0]):
        if isinstance(node, ast.stmt | ast.ExceptHandler) and node is not tree.body[0]:
            body = getattr(node, "body", None)
            end = body[0].lineno - 1 if body else node.end_lineno or node.lineno
            spans.append((node.lineno - 1, max(node.lineno, end) - 1))
    return sorted(spans, key=lambda span: span[1] - span[0])


def prefix(file: str) -> str:
    """How the names of a file's mutants begin.

    >>> prefix("dynhp/engine/round.py")
    'dynhp.engine.round.'
    """
    return file.removesuffix("py").replace("/", ".")


def open_decorators(source: str) -> str:
    """Write ``@made`` as ``name = made(name_)``: mutmut leaves decorated functions alone.

    >>> print(open_decorators('class A:\\n    @property\\n    def b(self):\\n        return 1\\n'))
    class A:
        def b_(self):
            return 1
        b = property(b_)
    <BLANKLINE>
    """
    lines = source.splitlines(keepends=True)
    functions = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)]
    for node in sorted(functions, key=lambda node: -node.lineno):  # inner ones first
        made = f"{node.name}_"
        for decorator in reversed(node.decorator_list):
            made = f"{ast.unparse(decorator)}({made})"
            for line in range(decorator.lineno - 1, decorator.end_lineno or 0):
                lines[line] = ""
        if node.decorator_list:
            first, end = node.lineno - 1, (node.end_lineno or 0) - 1
            lines[first] = lines[first].replace(f"def {node.name}(", f"def {node.name}_(")
            lines[end] += f"{' ' * node.col_offset}{node.name} = {made}\n"
    return "".join(lines)


def asked(
    copy: Path, mutants: dict[str, MutantPlace], noticed_by: dict[str, str], workers: int
) -> Iterator[tuple[str, Fate]]:
    """Every mutant's name and what became of it, as soon as it is known."""
    if not mutants:
        return
    listed = {
        name: (str(copy / place.file), place.first, place.last, noticed_by.get(place.change, ""))
        for name, place in mutants.items()
    }
    (copy / "mutants.json").write_text(json.dumps(listed), "utf-8")
    (copy / "tmp").mkdir()
    # Nothing but the copy may be seen, and what the tests write is thrown away with it.
    variables = {**os.environ, "TMPDIR": str(copy / "tmp")}
    variables.pop("PYTHONPATH", None)
    with subprocess.Popen(
        [sys.executable, "mutant_tests.py", "mutants.json", str(workers), *TESTS],
        cwd=copy,
        env=variables,
        text=True,
        stdout=subprocess.PIPE,
    ) as tests:
        assert tests.stdout is not None
        for line in tests.stdout:
            print(line, end="", flush=True)
            if match := re.fullmatch(r"mutant (\S+) \S+ ([a-z ]+): (.*)\n", line):
                yield match[1], Fate(match[2], match[3])


def judge(survivors: dict[str, str], mutated: tuple[str, ...]) -> int:
    """Print what survived, and say whether all of it is listed and all that is listed survived."""
    path = Path(__file__).with_name("equivalent_mutants.toml")
    listed = tomllib.loads(path.read_text("utf-8"))["equivalent"]
    modules = tuple(map(prefix, mutated))
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
