"""Tries side by side on the actors of a Ray cluster, each result as ``Serial`` would give it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from ray import cloudpickle

from dynhp.errors import SettingsError
from dynhp.executors.contract import Job, Outcome
from dynhp.executors.pool.executor import (
    FixedSetting,
    PooledExecutor,
    name_of,
    pickled_factory,
    require_time_limit,
    require_whole,
)
from dynhp.trainer import State, Trainer
from dynhp_ray.actors import RayTransport

__all__ = ["RayExecutor"]


class RayExecutor:
    """Carry out tries on ``actors`` Ray actors, each with a trainer that ``make_trainer`` builds.

    Actors start with the first tries and stay until ``close()``, the end of a ``with`` block or of
    the program, or until the executor is dropped; that also ends a Ray that was started here, and
    no other. What the trainer raises fails the try at once, as in one process. A Ray listens on all
    addresses of its machine, and asks for a token; ``docs/security.md`` says what that means.

    Args:
        make_trainer: builds the same trainer as the main line's, except for the state; it may
            come from a script or a notebook.
        actors: how many tries at once.
        num_cpus: what each actor takes of the cluster; a fraction is allowed.
        num_gpus: the same for GPUs.
        address: ``"auto"`` for the cluster that this machine belongs to, or its ``host:port``;
            without it, the Ray that this process is connected to, or else one started here.
        retries: how often a try is repeated whose actor died, with its node or alone, before it
            has failed.
        time_limit: the seconds that a try may take; after that its actor counts as dead.

    >>> from dynhp.testing import NoisyQuadratic
    >>> with RayExecutor(NoisyQuadratic, actors=4, num_gpus=0.5) as executor:
    ...     executor  # DynamicGridAdapter(NoisyQuadratic(), ..., executor=executor).run(100)
    RayExecutor(NoisyQuadratic, actors=4, num_cpus=1, num_gpus=0.5, retries=2)
    """

    make_trainer = FixedSetting[Callable[[], Trainer]]()
    actors = FixedSetting[int]()
    num_cpus = FixedSetting[float]()
    num_gpus = FixedSetting[float]()
    address = FixedSetting[str | None]()
    retries = FixedSetting[int]()
    time_limit = FixedSetting[float | None]()

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
        self.actors = require_whole("RayExecutor: actors", actors, least=1)
        self.num_cpus = _number("num_cpus", num_cpus)
        self.num_gpus = _number("num_gpus", num_gpus)
        self.address = _reachable(address)
        self.retries = require_whole("RayExecutor: retries", retries, least=0)
        self.time_limit = require_time_limit("RayExecutor: time_limit", time_limit)
        factory = pickled_factory(
            "RayExecutor",
            make_trainer,
            dumps=cloudpickle.dumps,
            way_out="open files and connections inside of it",
        )
        self._pooled = PooledExecutor(
            partial(
                RayTransport,
                factory,
                address=address,
                actors=actors,
                num_cpus=num_cpus,
                num_gpus=num_gpus,
            ),
            workers=actors,
            retries=retries,
            time_limit=time_limit,
            shown_as=repr(self),
        )

    def run(self, trainer: Trainer, jobs: Sequence[Job], *, at: State) -> Iterator[Outcome]:
        """Yield the outcomes in order; some tries are done before it is their turn."""
        return self._pooled.run(trainer, jobs, at=at)

    def as_completed(self, jobs: Sequence[Job]) -> Iterator[tuple[int, Outcome]]:
        """Yield the place of each job and its outcome, as they end."""
        return self._pooled.as_completed(jobs)

    def close(self) -> None:
        """End the actors, and Ray if it was started here; the next run starts new ones."""
        self._pooled.close()

    def __enter__(self) -> RayExecutor:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        address = "" if self.address is None else f", address={self.address!r}"
        limit = "" if self.time_limit is None else f", time_limit={self.time_limit}"
        return (
            f"RayExecutor({name_of(self.make_trainer)}, actors={self.actors}, "
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
