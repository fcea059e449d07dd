"""Whole programs that are broken off: they end, and leave no process and no memory behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from dynhp.executors import Processes
from dynhp.testing import NoisyQuadratic
from tests.support.processes import children_of, segments, wait_until_gone
from tests.support.puppets import job

ROOT = Path(__file__).resolve().parents[2]

SCRIPT = """
import os, time
from dynhp import DynamicGridAdapter, lowest
from dynhp.executors import Processes
from dynhp.testing import NoisyQuadratic

class Slow(NoisyQuadratic):
    def __init__(self):
        super().__init__(dimensions=100_000)
    def train_k(self, k, hyperparameters):
        super().train_k(k, hyperparameters)
        if hyperparameters["lr"] > 0.1:
            os.write(1, b"slow\\n")  # at one go: two workers share the pipe
            while True:
                time.sleep(3600)

if __name__ == "__main__":
    executor = Processes(Slow, workers=2)
    adapter = DynamicGridAdapter(
        Slow(), {"lr": [0.01, 0.1, 0.2, 0.3]}, criterion=lowest("loss"), adapt_every=1, try_for=1,
        executor=executor, initial={"lr": 0.01})
    try:
        adapter.run(2)
    except KeyboardInterrupt:
        print("interrupted", executor._pooled._pool, flush=True)
        raise
"""


linux = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="looks at processes in /proc"
)


@contextmanager
def program(script: str, folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A script that runs, in a group of its own, so that a blow hits all of it as Ctrl-C does."""
    (folder / "script.py").write_text(script)
    (folder / "tmp").mkdir()
    running = subprocess.Popen(
        [sys.executable, "script.py"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(folder / "tmp")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        yield running
    finally:  # also where the test has failed
        with suppress(ProcessLookupError):
            os.killpg(running.pid, signal.SIGKILL)
        running.communicate()


def until_slow(running: subprocess.Popen[str]) -> set[int]:
    """Wait until both workers carry out a try; the processes that the program has started."""
    assert running.stdout is not None
    assert [running.stdout.readline() for _ in range(2)] == ["slow\n"] * 2
    children = children_of(running.pid)
    assert len(children) == 3  # two workers, and the tracker of shared memory
    assert len(segments(running.pid)) > 0
    return children


@linux
@pytest.mark.parametrize("blow", [signal.SIGINT, signal.SIGKILL])
def test_a_program_that_is_broken_off_leaves_nothing(tmp_path: Path, blow: int) -> None:
    with program(SCRIPT, tmp_path) as running:
        children = until_slow(running)
        if blow == signal.SIGINT:
            os.killpg(running.pid, blow)
        else:
            running.send_signal(blow)
        out, err = running.communicate()
        wait_until_gone(children)
    assert segments(running.pid) == set()
    assert list((tmp_path / "tmp").iterdir()) == []
    if blow == signal.SIGINT:
        assert out == "interrupted None\n"  # no pool, and so no worker
        assert err.splitlines()[-1] == "KeyboardInterrupt"
        assert "dynhp-worker" not in err  # the workers have nothing to say about it


@linux
def test_what_a_killed_group_has_left_is_removed_when_the_next_pool_starts(tmp_path: Path) -> None:
    """As a machine without memory, Slurm or docker kill: nobody is left to clean up."""
    with program(SCRIPT, tmp_path) as running:
        children = until_slow(running)
        os.killpg(running.pid, signal.SIGKILL)
        running.communicate()
        wait_until_gone(children)
    with Processes(NoisyQuadratic, workers=1) as executor:
        origin = NoisyQuadratic().get_state()
        assert len(list(executor.run(NoisyQuadratic(), [job(origin)], at=origin))) == 1
    assert segments(running.pid) == set()


TWICE = """
import atexit, signal, _thread
from dynhp.executors import Processes
from dynhp.executors.pool.processes import ProcessChannel
from dynhp.testing import NoisyQuadratic
from tests.support.puppets import job

def interrupted_again(self):
    ProcessChannel.close = close
    signal.raise_signal(signal.SIGINT)
    self.close()

if __name__ == "__main__":
    executor = Processes(NoisyQuadratic, workers=2)  # never closed
    origin = NoisyQuadratic(dimensions=100_000).get_state()
    jobs = [job(origin), job(origin)]
    list(executor.run(NoisyQuadratic(), jobs, at=origin))
    print(*(each.channel.process.pid for each in executor._pooled._pool.workers), flush=True)
    if WHERE == "before":  # it is pending when the workers begin to be closed
        atexit.register(_thread.interrupt_main)
    else:
        close, ProcessChannel.close = ProcessChannel.close, interrupted_again
    signal.raise_signal(signal.SIGINT)
"""


@linux
@pytest.mark.parametrize("where", ["before", "amid"])
def test_a_second_interrupt_while_workers_are_closed_at_exit(tmp_path: Path, where: str) -> None:
    """It must not break that off: multiprocessing would wait for the workers for ever."""
    with program(TWICE.replace("WHERE", repr(where)), tmp_path) as running:
        out, err = running.communicate()
        wait_until_gone({int(pid) for pid in out.split()})
    assert len(out.split()) == 2
    assert "KeyboardInterrupt" in err
    assert segments(running.pid) == set()


def test_a_worker_that_cannot_start_says_why(tmp_path: Path) -> None:
    script = SCRIPT.replace('if __name__ == "__main__":', "if True:")
    (tmp_path / "unguarded.py").write_text(script)
    done = subprocess.run(
        [sys.executable, "unguarded.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith(
        "dynhp.errors.SettingsError: Processes: a worker must be able to start, but it ended with "
        "exit code 1"
    )
    assert last.endswith("if __name__ == '__main__':")
