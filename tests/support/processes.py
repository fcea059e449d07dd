"""The workers of ``Processes``, as tests look at them from outside."""

from __future__ import annotations

from multiprocessing.process import BaseProcess

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
