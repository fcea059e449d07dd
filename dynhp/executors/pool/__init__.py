"""Tries side by side on workers: one pool for all kinds of workers, and the seam of transports."""

from dynhp.executors.pool.executor import PooledExecutor
from dynhp.executors.pool.packing import register_reducer
from dynhp.executors.pool.transport import Channel, Lost, Raised, Ready, Transport
from dynhp.executors.pool.worker import WorkerLoop

__all__ = [
    "PooledExecutor",
    "Transport",
    "Channel",
    # on the worker's side
    "WorkerLoop",
    "register_reducer",
    # what comes back from it
    "Ready",
    "Raised",
    "Lost",
]
