"""Tries side by side on workers: one pool for all kinds of workers, and the seam of transports."""

from dynhp.executors.pool.base import PooledExecutor, pickled_factory
from dynhp.executors.pool.messages import (
    Answer,
    Forget,
    Lost,
    Pack,
    Raised,
    Ready,
    Request,
    Train,
)
from dynhp.executors.pool.transport import Channel, Transport
from dynhp.executors.pool.worker import WorkerLoop, build_trainer

__all__ = [
    "PooledExecutor",
    "Transport",
    "Channel",
    # on the worker's side
    "WorkerLoop",
    "build_trainer",
    "pickled_factory",
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
