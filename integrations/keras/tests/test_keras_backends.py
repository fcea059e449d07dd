"""Every scenario on every backend, each in a process of its own: Keras takes its backend once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
SCENARIOS = ["keras_averages.py", "keras_fits.py", "keras_rates.py", "keras_traps.py"]


@pytest.mark.parametrize("backend", ["torch", "jax"])
def test_the_scenarios(backend: str) -> None:
    files = [str(Path(__file__).parent / "scenarios" / name) for name in SCENARIOS]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *files],
        cwd=ROOT,
        env={**os.environ, "KERAS_BACKEND": backend, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert " passed" in done.stdout
