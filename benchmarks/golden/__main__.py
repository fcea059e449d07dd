"""Golden runs: the same runs with this version and with a commit before, compared to the bit.

Each run is carried out in a process of its own. What must be equal: the history without times, the
cost, the events, the end state of the trainer, the generators, the classes of errors and warnings.
Calls of the trainer may become fewer, not more; the words of messages are only counted.
``expected.toml`` lists the runs that may differ, with the reason; one that does not is an error.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from compare import Comparison, compared, read_expected, table, unexpected, without_difference

BASE = "ed94b69"
"""The commit that runs are compared with, where no other is named."""

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def main() -> int:
    """Run both versions, print how they compare, and fail where that is not as expected."""
    parser = argparse.ArgumentParser(prog="golden", description=__doc__)
    parser.add_argument("--base", default=BASE, help="the commit to compare with")
    parser.add_argument("--against", type=Path, help="in its place, a folder with another version")
    parser.add_argument("--only", action="append", metavar="KIND", help="these kinds alone")
    parser.add_argument("--workers", type=int, default=2, help="how many processes at once")
    parser.add_argument("--out", type=Path, help="a file for all records, a line of JSON each")
    arguments = parser.parse_args()
    kinds = _listed_kinds()
    if unknown := set(arguments.only or ()).difference(kinds):
        parser.error(f"no such kind: {', '.join(sorted(unknown))}; there are {', '.join(kinds)}")
    began = time.perf_counter()
    with _version(arguments.base, arguments.against) as before:
        same = _code(before) == _code(ROOT)
        chosen = [kind for kind in kinds if not arguments.only or kind in arguments.only]
        records = _carry_out(chosen, {"before": before, "now": ROOT}, arguments.workers)
    comparisons = [compared(name, **both) for name, both in records.items()]
    if arguments.out is not None:
        _write(arguments.out, comparisons, records)
    expected = [] if same else read_expected(HERE / "expected.toml")
    wrong = unexpected(comparisons, expected)
    idle = without_difference(comparisons, expected)
    for comparison in wrong:
        print(f"{comparison.name}: {comparison.first or 'more calls: ' + comparison.rose}")
    for entry in idle:
        print(f"expected.toml lists {entry.runs!r}, but no such run differs: take it out")
    print(table(comparisons, wrong))
    print(f"{time.perf_counter() - began:.0f} s" + ", both versions are the same code" * same)
    return 1 if wrong or idle else 0


@contextmanager
def _version(base: str, against: Path | None) -> Iterator[Path]:
    """The folder of the other version: a work tree of its commit, removed at the end."""
    if against is not None:
        yield against.resolve()
        return
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder).resolve() / "before"
        _git("worktree", "add", "--detach", str(tree), base)
        try:
            yield tree
        finally:
            _git("worktree", "remove", "--force", str(tree))


def _git(*arguments: str) -> None:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"git {arguments[0]} {arguments[1]} failed: {done.stderr.strip()}")


def _code(tree: Path) -> dict[str, bytes]:
    """All that decides a run, to see whether two versions are the same."""
    files = [path for part in ("dynhp", "integrations") for path in (tree / part).rglob("*.py")]
    return {path.relative_to(tree).as_posix(): path.read_bytes() for path in files}


def _carry_out(kinds: list[str], trees: dict[str, Path], workers: int) -> dict[str, dict[str, Any]]:
    """The records of both versions, by the names of their runs."""
    records: dict[str, dict[str, Any]] = {}
    # The last kinds take longest, so they begin first.
    jobs = [(kind, version) for kind in reversed(kinds) for version in trees]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(workers) as pool:

        def carry_out(kind: str, version: str) -> Path:
            out = Path(folder, f"{kind}-{version}.jsonl")
            _worker(trees[version], kind, "--out", str(out))
            print(f"done: {kind}, {version}", file=sys.stderr, flush=True)
            return out

        futures = [pool.submit(carry_out, *job) for job in jobs]
        done = {job: future.result() for job, future in zip(jobs, futures, strict=True)}
        for kind in kinds:
            for version in trees:
                for line in done[kind, version].read_text("utf-8").splitlines():
                    known = json.loads(line)
                    both = records.setdefault(known["name"], dict.fromkeys(trees))
                    both[version] = known["record"]
    return records


def _listed_kinds() -> list[str]:
    return _worker(ROOT, "--list").split()


def _worker(tree: Path, *arguments: str) -> str:
    """Let a process with this version carry out the runs of a kind."""
    sources = [tree, *sorted(tree.glob("integrations/*"))]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(map(str, sources)),
        "PYTHONHASHSEED": "0",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    command = [sys.executable, str(HERE / "worker.py"), "--tree", str(tree), *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(arguments)} with {tree} failed:\n{done.stderr[-3000:]}")
    return done.stdout


def _write(path: Path, comparisons: list[Comparison], records: dict[str, dict[str, Any]]) -> None:
    with open(path, "w", encoding="utf-8") as out:
        for comparison in comparisons:
            line = {
                "name": comparison.name,
                "sections": comparison.sections,
                "first": comparison.first,
                "rose": comparison.rose,
                **records[comparison.name],
            }
            out.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    sys.exit(main())
