"""Tests that compute for ever are stopped by the processor time that they use."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("resource")
ROOT = Path(__file__).resolve().parents[2]

ENDLESS = """
import signal, subprocess, sys
import pytest

@pytest.fixture
def endless():
    while True:
        pass

def test_loop():
    for number in range(sys.maxsize):
        try:
            sum(range(1000))
        except Exception:  # as of a try that fails
            pass

def test_fixture(endless):
    pass

def test_process():
    done = subprocess.run([sys.executable, "-c", "while True: pass"])
    assert done.returncode == -signal.SIGXCPU

def test_as_usual():
    pass
"""


def test_a_test_that_computes_for_ever_is_stopped_and_the_others_go_on(tmp_path: Path) -> None:
    (tmp_path / "test_endless.py").write_text(ENDLESS)
    command = [sys.executable, "-m", "pytest", "-p", "tests.support.processor_time", "-q"]
    done = subprocess.run(
        [*command, "-p", "no:cacheprovider", "--processor-seconds", "1", "--rootdir", "."],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert "1 failed, 2 passed, 1 error" in done.stdout, done.stdout
    assert done.stdout.count("used more than 1 s of processor time (--processor-seconds)") >= 2
    assert "sum(range(1000))" in done.stdout  # where it was
