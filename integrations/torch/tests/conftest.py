"""One thread here and in processes started from here, so that sums are the same; two ranks."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import dynhp
import dynhp_torch

os.environ["OMP_NUM_THREADS"] = "1"
torch.set_num_threads(1)

# Scripts that every rank runs; they are no modules.
collect_ignore = ["two_ranks.py", "killed_ranks.py", "sharded_ranks.py"]


@pytest.fixture(scope="session")
def two() -> Callable[..., list[tuple[str, str]]]:
    """Runs a script on two ranks, and gives what each has printed and written as errors."""
    return _two


def _two(script: str, *arguments: Any) -> list[tuple[str, str]]:
    """What two ranks print; a deadlock is ended after a while, and fails."""
    packages = [str(Path(each.__file__ or "").parent.parent) for each in (dynhp, dynhp_torch)]
    environment = {**os.environ, "GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"}
    environment["PYTHONPATH"] = os.pathsep.join(packages)
    started = [
        subprocess.Popen(
            [sys.executable, str(Path(__file__).parent / script), str(rank), *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        for rank in range(2)
    ]
    try:
        return [process.communicate(timeout=200) for process in started]
    finally:
        for process in started:
            process.kill()
