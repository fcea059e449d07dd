"""Tries side by side on the actors of a Ray cluster, each result as ``Serial`` would give it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Any

import ray
from ray import cloudpickle

from dynhp.attempt import Job, Outcome
from dynhp.errors import ContractError, SettingsError
from dynhp.trainer import State, Trainer
from dynhp_ray import _cluster
from dynhp_ray._crew import Crew
from dynhp_ray._schedule import Schedule

__all__ = ["RayExecutor"]


class RayExecutor:
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
        self.actors = _whole("actors", actors, least=1)
        self.num_cpus = _number("num_cpus", num_cpus)
        self.num_gpus = _number("num_gpus", num_gpus)
        self.address = _reachable(address)
        self.retries = _whole("retries", retries, least=0)
        self.time_limit = None if time_limit is None else _seconds(time_limit)
        self._factory = _pickled(make_trainer)
        self._crew: Crew | None = None
        self._joined = ""
        self._runs = 0

    def run(self, trainer: Trainer, jobs: Sequence[Job], *, at: State) -> Iterator[Outcome]:
        """Yield the outcomes in order; some tries are done before they are due."""
        if not jobs:
            return
        self._runs += 1
        mine = self._runs
        try:
            crew = self._started()
            crew.calm()  # whatever an earlier run left unfinished
            outcomes = Schedule(crew, jobs, retries=self.retries).outcomes()
            del jobs  # as Serial does: no state is held for longer than its job
            for outcome in outcomes:
                yield outcome
                if mine != self._runs:
                    raise ContractError(
                        f"{self!r} carries out one run at a time, and another has begun"
                    )
        except KeyboardInterrupt:
            self.close()
            raise
        finally:
            if mine == self._runs and self._crew is not None:
                self._crew.calm()

    def _started(self) -> Crew:
        if self._crew is not None and not ray.is_initialized():
            self.close()  # somebody ended Ray: begin anew
        if self._crew is None:
            self._joined = _cluster.join(
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

    def close(self) -> None:
        """End the actors, and Ray if it was started here; the next run starts new ones."""
        crew, self._crew = self._crew, None
        if crew is not None:
            crew.close()
            _cluster.leave(self._joined)

    def __enter__(self) -> RayExecutor:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        name = getattr(self.make_trainer, "__qualname__", None) or repr(self.make_trainer)
        address = "" if self.address is None else f", address={self.address!r}"
        limit = "" if self.time_limit is None else f", time_limit={self.time_limit}"
        return (
            f"RayExecutor({name}, actors={self.actors}, num_cpus={self.num_cpus}, "
            f"num_gpus={self.num_gpus}{address}, retries={self.retries}{limit})"
        )


def _whole(name: str, value: Any, *, least: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise SettingsError(
            f"RayExecutor: {name} must be a whole number of {least} or more, got {value!r}"
        )
    return value


def _number(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise SettingsError(f"RayExecutor: {name} must be a number of 0 or more, got {value!r}")
    return value


def _seconds(value: Any) -> float:
    if not _number("time_limit", value):
        raise SettingsError(
            f"RayExecutor: time_limit must be above 0, or None for no limit, got {value!r}"
        )
    return float(value)


def _reachable(address: Any) -> str | None:
    if address is not None and (not isinstance(address, str) or address.startswith("ray://")):
        raise SettingsError(
            "RayExecutor: address must be 'auto' or 'host:port' of a cluster that this machine "
            f"belongs to, got {address!r}; from outside, submit the script with ray job submit"
        )
    return address


def _pickled(make_trainer: Any) -> bytes:
    if not callable(make_trainer):
        raise SettingsError(
            "RayExecutor: make_trainer must be a function that builds a fresh trainer, "
            f"got {make_trainer!r}"
        )
    try:
        return bytes(cloudpickle.dumps(make_trainer))
    except Exception as error:
        raise SettingsError(
            "RayExecutor: make_trainer must be picklable, for the actors are other processes, got "
            f"{make_trainer!r} ({type(error).__name__}: {error}); open files and connections "
            "inside of it"
        ) from error
