"""``make bench-executors``: the limits of Processes and of Ray are both measured by it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

PYTHON = """#!/bin/sh
echo "$@" >> {folder}/log
case "$1" in *{failing}.py) exit 3;; esac
"""


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
@pytest.mark.parametrize("failing", ["bench_executors", "bench_executors_ray", "neither"])
def test_both_are_measured_and_either_may_fail(tmp_path: Path, failing: str) -> None:
    (tmp_path / "bin").mkdir()
    python = tmp_path / "bin" / "python"
    python.write_text(PYTHON.format(folder=tmp_path, failing=failing))
    python.chmod(0o755)
    (tmp_path / ".ready").touch()
    done = subprocess.run(
        ["make", f"VENV={tmp_path}", "bench-executors"], cwd=ROOT, capture_output=True
    )
    lines = (tmp_path / "log").read_text().splitlines()
    scripts = [line for line in lines if line.startswith("benchmarks/")]
    assert scripts == ["benchmarks/bench_executors.py", "benchmarks/bench_executors_ray.py"]
    assert (done.returncode == 0) == (failing == "neither")
