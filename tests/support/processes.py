"""The workers of ``Processes`` and what they leave behind, as tests look at them from outside."""

from __future__ import annotations

from collections.abc import Iterable
from multiprocessing.process import BaseProcess
from pathlib import Path

from dynhp.executors import Processes
from dynhp.executors.pool.processes import ProcessChannel
from dynhp.executors.pool.workers import WorkerHandle
from tests.support.waiting import wait_until


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


def wait_until_gone(pids: Iterable[int]) -> None:
    """Wait until processes have ended, on Linux."""
    wait_until(lambda: not any(map(is_alive, pids)))


def is_alive(pid: int) -> bool:
    """Whether a process is there, and not only its exit code, on Linux."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
