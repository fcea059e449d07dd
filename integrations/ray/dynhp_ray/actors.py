"""Workers as actors of a Ray cluster: a transport of the pool, with states in the object store."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import ray
from ray import cloudpickle
from ray.exceptions import RayError

from dynhp.executors.pool.packing import pieces_of
from dynhp.executors.pool.transport import (
    Answer,
    Began,
    Lost,
    PackRequest,
    Raised,
    Ready,
    Request,
    TrainRequest,
)
from dynhp.executors.pool.worker import WorkerLoop, build_trainer
from dynhp.trainer import State
from dynhp_ray import cluster

__all__ = ["ActorChannel", "RayTransport", "TrainerActor", "borrow", "own", "pack"]

PackedState: TypeAlias = list[Any]
"""A pickle, then the buffers that it leaves out, in order, each an array that Ray does not copy."""


def pack(state: State) -> PackedState:
    """Take a state apart; classes of the user's script travel along.

    >>> [piece.nbytes for piece in pack(np.zeros(10_000))][1:]
    [80000]
    """
    return [np.frombuffer(piece, np.uint8) for piece in pieces_of(state, cloudpickle.Pickler)]


def own(packed: PackedState) -> State:
    """The state, made of copies: it outlives Ray, and may be written to.

    >>> own(pack({"weights": [1.0, 2.0]}))
    {'weights': [1.0, 2.0]}
    """
    return pickle.loads(packed[0], buffers=[piece.copy() for piece in packed[1:]])


def borrow(packed: PackedState) -> State:
    """The state, its large arrays read-only and where Ray has put them.

    >>> borrow([piece.copy() for piece in pack(np.arange(10_000))])[-1]
    np.int64(9999)
    """
    return pickle.loads(packed[0], buffers=packed[1:])


class TrainerActor:
    """What runs in an actor: the loop of a worker, with a method for each kind of request."""

    _loop: WorkerLoop

    def __init__(self, factory: bytes) -> None:
        self._factory = factory

    def ready(self) -> Answer:
        """Build the trainer."""
        try:
            self._loop = WorkerLoop(build_trainer(self._factory), pack=pack, load=borrow)
        except Exception as error:
            return Raised.of(error)
        return Ready()

    def train(self, request: TrainRequest, origin: PackedState | None) -> Iterator[Answer]:
        """Carry out a job; the origin is an argument of its own, so that Ray fetches it."""
        yield from self._loop.answers(request._replace(origin=origin))

    def hand_out(self, request: PackRequest) -> Answer:
        """Give the state at the end of a job."""
        (answer,) = self._loop.answers(request)
        return answer


class ActorChannel:
    """An actor, and the answer that is expected of it: a reference, or a stream of them."""

    def __init__(self, actor: Any) -> None:
        self.actor = actor
        self.expected: Any = actor.ready.remote()
        self._why = "it was ended"

    def send(self, request: Request) -> None:
        """Call the method for this request."""
        if isinstance(request, TrainRequest):
            bare = request._replace(origin=None)
            self.expected = self.actor.train.remote(bare, request.origin)
        elif isinstance(request, PackRequest):
            self.expected = self.actor.hand_out.remote(request)
        # A ForgetRequest saves its call: an actor drops what is not wanted with its next job.

    def receive(self) -> Answer:
        """The next answer."""
        stream = isinstance(self.expected, ray.ObjectRefGenerator)
        try:
            answer: Answer = ray.get(next(self.expected) if stream else self.expected)
        except (RayError, StopIteration) as error:
            self._why = in_one_line(error)
            raise EOFError from error
        if not isinstance(answer, Began):
            self.expected = None  # the last one: the store may free what it holds
        return answer

    def is_alive(self) -> bool:
        """Whether Ray is there; that an actor is dead shows when it is asked."""
        return bool(ray.is_initialized())

    def close(self) -> None:
        """Kill the actor: it has nothing to end in an orderly way."""
        if ray.is_initialized():  # else Ray would be started just for this call
            with suppress(Exception):  # it may be dead already
                ray.kill(self.actor)

    def end(self, patience: float) -> Lost:
        """Kill the actor, and say what Ray said when it was lost."""
        self.close()
        return Lost(self._why)


class RayTransport:
    """Starts an actor for each worker, all with a trainer that the pickled factory builds."""

    name = "RayExecutor"
    start_hint = "install dynhp[ray] and the trainer's modules on every node"
    remote = True

    def __init__(
        self, factory: bytes, *, address: str | None, actors: int, num_cpus: float, num_gpus: float
    ) -> None:
        self._factory = factory
        self._needs = f"num_cpus={num_cpus:g}, num_gpus={num_gpus:g}"
        self._join = partial(cluster.join, address, cpus=actors * num_cpus, gpus=actors * num_gpus)
        self._joined = self._join()
        actor: Any = ray.remote(TrainerActor)
        self._actor = actor.options(
            num_cpus=num_cpus,
            num_gpus=num_gpus,
            max_restarts=0,  # its states would be lost anyway: the pool starts a new one
            scheduling_strategy="SPREAD",
        )

    def start(self) -> ActorChannel:
        """Start an actor; Ray may have no room for it yet."""
        if not ray.is_initialized():  # it was shut down while there was no actor
            self.close()
            self._joined = self._join()
        return ActorChannel(self._actor.remote(self._factory))

    def wait(self, channels: Sequence[ActorChannel], seconds: float) -> list[ActorChannel]:
        """The channels with something to receive."""
        expected = [channel.expected for channel in channels]
        ray.wait(expected, timeout=seconds, fetch_local=False)
        there, _ = ray.wait(expected, num_returns=len(expected), timeout=0, fetch_local=False)
        return [channel for channel in channels if channel.expected in there]

    def pack(self, state: State) -> Any:
        """Put a state into the object store; every node fetches it once."""
        return ray.put(pack(state))

    def load(self, packed: PackedState) -> State:
        """Load a state from copies."""
        return own(packed)

    def release(self, packed: Any) -> None:
        """Nothing: the store counts references."""

    def release_all(self) -> None:
        """Nothing: the store counts references."""

    def report_slow_start(self, seconds: float) -> None:
        """Warn that Ray has given no actor for long: perhaps it never will."""
        everything: Any = ray.cluster_resources()
        warnings.warn(
            f"RayExecutor: no actor with {self._needs} has started for {seconds:g} s; the "
            f"cluster has {everything}. It waits on: where that can never be, ask for less",
            RuntimeWarning,
            stacklevel=2,
        )

    def close(self) -> None:
        """Leave the cluster, and end Ray if it was started here."""
        joined, self._joined = self._joined, ""
        cluster.leave(joined)


def in_one_line(error: Exception) -> str:
    """What Ray says, in one line.

    >>> in_one_line(RuntimeError("The actor died.\\n  Out of memory."))
    'RuntimeError: The actor died. Out of memory.'
    """
    return f"{type(error).__name__}: {' '.join(str(error).split())}"
