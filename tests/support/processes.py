"""The workers of ``Processes`` and what they leave behind, as tests look at them from outside."""

from __future__ import annotations

import time
from multiprocessing.process import BaseProcess
from pathlib import Path

from dynhp.executors import Processes
from dynhp.executors.pool.handle import WorkerHandle
from dynhp.executors.pool.process_transport import ProcessChannel


def workers_of(executor: Processes) -> list[WorkerHandle]:
    """The workers that an executor has; none where it is closed."""
    pool = executor._pooled._pool
    return [] if pool is None else list(pool.workers)


def pids_of(executor: Processes) -> list[int]:
    """The process ids of its workers."""
    return [process_of(worker).pid or 0 for worker in workers_of(executor)]


def process_of(worker: WorkerHandle) -> BaseProcess:
    """The process of a worker."""
    assert isinstance(worker.channel, ProcessChannel)
    return worker.channel.process


SHARED = Path("/dev/shm")


def segments(pid: int) -> set[str]:
    """The shared memory that a process has made, on Linux."""
    return {path.name for path in SHARED.glob(f"dynhp-{pid}-*")} if SHARED.exists() else set()


def children_of(pid: int) -> set[int]:
    """The processes that a process has started, on Linux."""
    children = set()
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid:
            children.add(int(entry.parent.name))
    return children


def gone(pids: set[int], seconds: float = 60.0) -> bool:
    """Whether the processes have ended, or end soon."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if not any(Path(f"/proc/{pid}").exists() for pid in pids):
            return True
        time.sleep(0.02)
    return False
