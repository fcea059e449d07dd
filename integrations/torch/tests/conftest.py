"""One thread here and in processes started from here, so that sums are the same; two ranks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import dynhp
import dynhp_torch

os.environ["OMP_NUM_THREADS"] = "1"
torch.set_num_threads(1)

HERE = Path(__file__).parent

# Scripts that every rank runs; they are no modules.
collect_ignore = ["two_ranks.py", "killed_ranks.py", "sharded_ranks.py", "start_ranks.py"]


@pytest.fixture(scope="session")
def two(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Callable[..., list[tuple[str, str]]]]:
    """Runs a script on two ranks, and gives what each has printed and written as errors."""
    packages = [str(Path(each.__file__ or "").parent.parent) for each in (dynhp, dynhp_torch)]
    environment = {**os.environ, "GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"}
    environment["PYTHONPATH"] = os.pathsep.join(packages)
    starter = subprocess.Popen(
        [sys.executable, str(HERE / "start_ranks.py")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
        start_new_session=True,
    )
    assert starter.stdin
    assert starter.stdout

    def run(script: str, *arguments: Any) -> list[tuple[str, str]]:
        folder = tmp_path_factory.mktemp("printed")
        files = [(folder / f"out{rank}", folder / f"err{rank}") for rank in range(2)]
        order = [str(HERE / script), list(map(str, arguments)), [list(map(str, f)) for f in files]]
        print(json.dumps(order), file=starter.stdin, flush=True)
        assert starter.stdout.readline() == "ended\n", f"{script} was killed"
        return [(out.read_text(), err.read_text()) for out, err in files]

    yield run
    starter.stdin.close()
    starter.stdout.close()
    starter.wait()
