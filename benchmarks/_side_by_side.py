"""This version beside another one: the same measurements in processes that take turns."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from _facts import ROOT
from _versions import checked_out, environment
from _weight import import_seconds

__all__ = ["BothVersions", "compare", "pair_table"]

NO_MORE = 1.1
"""What "no more" means for a ratio of times: two runs of one version differ by up to a tenth."""

_TURNS = 5
_FEW_TURNS = 2
_INTERPRETERS = 20
_MARKS = (100, 1_000, 10_000)
_NUMPY = "import numpy"
_IMPORTS = {
    "import dynhp": "import numpy, dynhp",
    "import dynhp and make an adapter's class ready": (
        "import numpy; from dynhp import DynamicGridAdapter, lowest"
    ),
    "import dynhp and make adapt ready": "import numpy; from dynhp import adapt",
    "import all names of the front door": "import numpy; from dynhp import *",
}

Trees = Mapping[str, Path]


@dataclass(frozen=True, slots=True)
class BothVersions:
    """One figure of both versions, and what is asked of it."""

    what: str
    before: float
    now: float
    unit: str = ""
    at_most: float | None = None  # of the figure itself
    ratio_at_most: float | None = None  # of this version's figure to the other's

    @property
    def ratio(self) -> float:
        """This version's figure as a multiple of the other's."""
        return self.now / self.before

    @property
    def verdict(self) -> str:
        """PASS, FAIL, or nothing if nothing is asked; what is not a number fails."""
        if self.at_most is None and self.ratio_at_most is None:
            return ""
        kept = self.at_most is None or self.now <= self.at_most
        no_more = self.ratio_at_most is None or self.ratio <= self.ratio_at_most
        return "PASS" if kept and no_more else "FAIL"


def pair_table(base: str, pairs: Sequence[BothVersions]) -> str:
    """The figures under each other."""
    rows = [("", base, "now", "ratio", "", "", "")]
    for pair in pairs:
        limits = [] if pair.at_most is None else [f"<= {pair.at_most:g}"]
        limits += [] if pair.ratio_at_most is None else [f"ratio <= {pair.ratio_at_most:g}"]
        numbers = (f"{number:.2f}" for number in (pair.before, pair.now, pair.ratio))
        rows.append((pair.what, *numbers, pair.unit, ", ".join(limits), pair.verdict))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [
            cell.rjust(width) if 0 < place < 4 else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def compare(base: str, *, rounds: int = _MARKS[-1]) -> Iterator[BothVersions]:
    """Measure both versions; ``rounds`` is how long the longest runs are."""
    with ExitStack() as stack:
        trees = {"before": stack.enter_context(checked_out(base)), "now": ROOT}
        yield from _overhead(trees)
        yield from _imports(trees)
        yield from _long_runs(trees, [mark for mark in _MARKS if mark <= rounds], rounds)


def _overhead(trees: Trees) -> Iterator[BothVersions]:
    fastest = _in_turns(trees, _TURNS, "rounds")
    lines = {name: _line(times) for name, times in fastest.items()}
    tries, rounds = zip(lines["before"], lines["now"], strict=True)
    yield BothVersions("a try", *tries, "µs", ratio_at_most=NO_MORE)
    # No round is without tries: this is where the line through the others ends, for information.
    yield BothVersions("a round, without its tries", *rounds, "µs")
    for size in fastest["now"]:
        yield BothVersions(f"a round of {size}", *_both(fastest, size), "µs", ratio_at_most=NO_MORE)
    steps = _in_turns(trees, _TURNS, "step")
    yield BothVersions("a step of a loop", *_both(steps, "step"), "µs", ratio_at_most=NO_MORE)
    states = _in_turns(trees, 1, "states")
    yield BothVersions("states alive at most", *_both(states, "states"), "states", at_most=3.005)


def _line(times: Mapping[str, float]) -> tuple[float, float]:
    """What a try and a round cost: the line through the fastest rounds by their tries."""
    # Relative errors count, or the largest round would decide alone.
    weights = [1 / time for time in times.values()]
    per_try, per_round = np.polyfit([int(size) for size in times], [*times.values()], 1, w=weights)
    return float(per_try), float(per_round)


def _imports(trees: Trees) -> Iterator[BothVersions]:
    """What an import takes beside numpy's own, as a share of numpy's."""
    fastest: dict[tuple[str, str], float] = {}
    with tempfile.TemporaryDirectory() as bytecode:
        for turn in range(_INTERPRETERS + 1):
            for name, tree in trees.items():
                for statement in (_NUMPY, *_IMPORTS.values()):
                    _, work = import_seconds(statement, str(Path(bytecode, name)), tree)
                    if turn:  # the first compiles, as pip does when it installs
                        key = (name, statement)
                        fastest[key] = min(work, fastest.get(key, work))
    own = [fastest[name, _NUMPY] for name in trees]
    yield BothVersions("import numpy", *(seconds * 1e3 for seconds in own), "ms")
    for what, statement in _IMPORTS.items():
        more = [fastest[name, statement] - fastest[name, _NUMPY] for name in trees]
        shares = [extra / numpy for extra, numpy in zip(more, own, strict=True)]
        limit = None if statement.endswith("import *") else 0.5  # each way in, by itself
        yield BothVersions(f"{what} / import numpy", *shares, "", at_most=limit)


def _long_runs(trees: Trees, marks: Sequence[int], rounds: int) -> Iterator[BothVersions]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        costs: dict[str, dict[str, float]] = {}
        for turn in range(_FEW_TURNS):
            for version, tree in trees.items():
                saved = folder / f"{version}-{turn}"
                _keep_least(costs, version, _measure(tree, "checkpoints", saved, *marks))
        for mark in map(str, marks):
            # What is asked of these is that they stay the same as a run grows, below.
            what = f"a round with a checkpoint, about round {int(mark):,}"
            yield BothVersions(what, *_both(costs, mark), "ms")
        growth = [each[str(marks[-1])] / each[str(marks[0])] for each in costs.values()]
        what = f"a round with a checkpoint, round {marks[-1]:,} / round {marks[0]}"
        yield BothVersions(what, *growth, at_most=1.2)
        yield from _resumed(trees, folder, rounds)


def _resumed(trees: Trees, folder: Path, rounds: int) -> Iterator[BothVersions]:
    names = {version: _measure(tree, "names") for version, tree in trees.items()}
    for proposer in names["now"]:
        seconds: dict[str, dict[str, float]] = {}
        having = {version: tree for version, tree in trees.items() if proposer in names[version]}
        for version, tree in having.items():
            _measure(tree, "save", folder / version / proposer, proposer, rounds)
        for _ in range(_FEW_TURNS):
            for version, tree in having.items():
                copy = folder / version / "copy"
                shutil.copytree(folder / version / proposer, copy)
                _keep_least(seconds, version, _measure(tree, "resume", copy, proposer, rounds))
                shutil.rmtree(copy)
        seconds.setdefault("before", {"seconds": float("nan")})
        what = f"resume after {rounds:,} rounds, {proposer}"
        yield BothVersions(what, *_both(seconds, "seconds"), "s", at_most=3.0)


def _in_turns(trees: Trees, turns: int, *arguments: object) -> dict[str, dict[str, float]]:
    """The least of each figure, by version; the versions take turns."""
    least: dict[str, dict[str, float]] = {}
    for _ in range(turns):
        for version, tree in trees.items():
            _keep_least(least, version, _measure(tree, *arguments))
    return least


def _keep_least(
    least: dict[str, dict[str, float]], version: str, figures: Mapping[str, float]
) -> None:
    known = least.setdefault(version, dict(figures))
    for name, figure in figures.items():
        known[name] = min(known[name], figure)


def _both(figures: Mapping[str, Mapping[str, float]], name: str) -> tuple[float, float]:
    return figures["before"][name], figures["now"][name]


def _measure(tree: Path, *arguments: object) -> Any:
    program = Path(__file__).with_name("_one_version.py")
    done = subprocess.run(
        [sys.executable, str(program), *map(str, arguments)],
        cwd=tree,
        env=environment(tree),
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, arguments))} in {tree}:\n{done.stderr}")
    return json.loads(done.stdout)
