"""Tries side by side on the actors of a Ray cluster, each result as ``Serial`` would give it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import ray
from ray import cloudpickle

from dynhp.errors import SettingsError
from dynhp.executors.pool.arguments import named, pickled, seconds, whole
from dynhp.executors.pool.base import PooledExecutor
from dynhp.rounds.jobs import Job
from dynhp.trainer import Trainer
from dynhp_ray import cluster
from dynhp_ray.crew import Crew
from dynhp_ray.shift import Shift

__all__ = ["RayExecutor"]

_WAY_OUT = "open files and connections inside of it"


class RayExecutor(PooledExecutor):
    """Carry out tries on ``actors`` Ray actors, each with a trainer that ``make_trainer`` builds.

    Each actor takes ``num_cpus`` and ``num_gpus`` of the cluster at ``address`` (``"auto"``: the
    one this machine belongs to); without an address, of the Ray that this process is connected to
    or else of one started here. Actors start with the first tries and stay until ``close()`` or
    the end of a ``with`` block, which also ends a Ray that was started here, and no other.

    An actor that dies, with its node or alone, or takes longer than ``time_limit`` seconds for a
    try, is replaced and the try repeated up to ``retries`` times; then it has failed. What the
    trainer raises fails the try at once, as in one process.

    >>> from dynhp.testing import NoisyQuadratic
    >>> with RayExecutor(NoisyQuadratic, actors=4, num_gpus=0.5) as executor:
    ...     executor  # DynamicGridAdapter(NoisyQuadratic(), ..., executor=executor).run(100)
    RayExecutor(NoisyQuadratic, actors=4, num_cpus=1, num_gpus=0.5, retries=2)
    """

    def __init__(
        self,
        make_trainer: Callable[[], Trainer],
        *,
        actors: int = 2,
        num_cpus: float = 1,
        num_gpus: float = 0,
        address: str | None = None,
        retries: int = 2,
        time_limit: float | None = None,
    ) -> None:
        self.make_trainer = make_trainer
        self.actors = whole("RayExecutor", "actors", actors, least=1)
        self.num_cpus = _number("num_cpus", num_cpus)
        self.num_gpus = _number("num_gpus", num_gpus)
        self.address = _reachable(address)
        self.retries = whole("RayExecutor", "retries", retries, least=0)
        self.time_limit = seconds("RayExecutor", time_limit)
        self._factory = pickled(
            "RayExecutor", make_trainer, dumps=cloudpickle.dumps, way_out=_WAY_OUT
        )
        self._crew: Crew | None = None
        self._joined = ""

    def _shift(self, jobs: Sequence[Job]) -> Shift:
        crew = self._started()
        crew.calm()  # whatever an earlier run left unfinished
        return Shift(crew, jobs)

    def _started(self) -> Crew:
        if self._crew is not None and not ray.is_initialized():
            self._end()  # somebody ended Ray: begin anew
        if self._crew is None:
            self._joined = cluster.join(
                self.address, cpus=self.actors * self.num_cpus, gpus=self.actors * self.num_gpus
            )
            self._crew = Crew(
                self._factory,
                actors=self.actors,
                num_cpus=self.num_cpus,
                num_gpus=self.num_gpus,
                time_limit=self.time_limit,
            )
        return self._crew

    def _calm(self) -> None:
        if self._crew is not None:
            self._crew.calm()

    def _end(self) -> None:
        """End the actors, and Ray if it was started here."""
        crew, self._crew = self._crew, None
        if crew is not None:
            crew.close()
            cluster.leave(self._joined)

    def __repr__(self) -> str:
        address = "" if self.address is None else f", address={self.address!r}"
        limit = "" if self.time_limit is None else f", time_limit={self.time_limit}"
        return (
            f"RayExecutor({named(self.make_trainer)}, actors={self.actors}, "
            f"num_cpus={self.num_cpus}, num_gpus={self.num_gpus}{address}, "
            f"retries={self.retries}{limit})"
        )


def _number(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise SettingsError(f"RayExecutor: {name} must be a number of 0 or more, got {value!r}")
    return value


def _reachable(address: Any) -> str | None:
    if address is not None and (not isinstance(address, str) or address.startswith("ray://")):
        raise SettingsError(
            "RayExecutor: address must be 'auto' or 'host:port' of a cluster that this machine "
            f"belongs to, got {address!r}; from outside, submit the script with ray job submit"
        )
    return address
