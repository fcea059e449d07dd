"""Benchmarks and scripts import what is there: nobody runs them every day."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# The script that made the fixtures of old formats imports the modules of that time.
PROGRAMS = sorted(
    path.relative_to(ROOT).as_posix()
    for folder in ("benchmarks", "scripts", "examples")
    for path in (ROOT / folder).glob("*.py")
    if path.name != "make_format_fixtures.py"
)


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_imports_what_it_needs(program: str, tmp_path: Path) -> None:
    folder, file = (ROOT / program).parent, (ROOT / program).stem
    paths = [folder, ROOT, *ROOT.glob("integrations/*")]
    done = subprocess.run(
        [sys.executable, "-c", f"import {file}"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths))},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
