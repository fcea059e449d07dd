"""Benchmarks and scripts import what is there: nobody runs them every day."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted(ROOT.glob("integrations/*"))
PROGRAMS = sorted(
    path.relative_to(ROOT).as_posix()
    for folder in ("benchmarks", "scripts", "examples")
    for path in (ROOT / folder).glob("*.py")
)


# The frameworks once, for a process that forks one for each program.
CODE = """
import os, sys, traceback
import numpy, torch, torch_geometric
bad = []
for folder, name in {programs!r}:
    child = os.fork()
    if child == 0:
        sys.path.insert(0, folder)
        try:
            __import__(name)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        bad.append(name)
print(*bad)
"""


def test_every_program_imports_what_it_needs(tmp_path: Path) -> None:
    assert len(PROGRAMS) > 10
    (tmp_path / "benchmark_that_fails.py").write_text("import no_such_module")
    programs = [(str((ROOT / each).parent), Path(each).stem) for each in PROGRAMS]
    programs.append((str(tmp_path), "benchmark_that_fails"))
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", CODE.format(programs=programs)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, [ROOT, *SOURCES]))},
        capture_output=True,
        text=True,
    )
    assert done.stdout.split() == ["benchmark_that_fails"], done.stderr
