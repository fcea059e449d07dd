"""Tries side by side on workers: one pool for all kinds of workers, and the seam of transports."""

from dynhp.executors.pool.executor import PooledExecutor, pickled_factory
from dynhp.executors.pool.packing import register_reducer
from dynhp.executors.pool.transport import (
    Answer,
    Channel,
    Forget,
    Lost,
    Pack,
    Raised,
    Ready,
    Request,
    Train,
    Transport,
)
from dynhp.executors.pool.worker import WorkerLoop, build_trainer

__all__ = [
    "PooledExecutor",
    "Transport",
    "Channel",
    # on the worker's side
    "WorkerLoop",
    "build_trainer",
    "pickled_factory",
    "register_reducer",
    # what is sent to a worker, and what comes back
    "Request",
    "Train",
    "Pack",
    "Forget",
    "Answer",
    "Ready",
    "Raised",
    "Lost",
]
