"""An executor with workers: one run at a time, and an orderly end, whatever the workers run on.

The way of a job: ``PooledExecutor.run`` hands it to the ``Dispatcher`` of the run, which decides
when it begins. ``WorkerPool.begin`` picks a worker and sends it a ``TrainRequest`` through its
``Channel``. On the other side ``WorkerLoop.answers`` trains and sends a ``TryReport``.
``WorkerPool.receive`` brings that to the dispatcher, which yields an ``Outcome``. Its ``keep()``
asks the worker for the end state in the same way, with a ``PackRequest``, which is answered with
``Packed``.
"""

from __future__ import annotations

import reprlib
import threading
import weakref
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Generic, TypeAlias, TypeVar, cast

from dynhp._checks import require_time_limit, require_whole
from dynhp.errors import ContractError, SettingsError
from dynhp.executors.contract import Job, Outcome
from dynhp.executors.factory import pickled_factory
from dynhp.executors.pool.dispatcher import Dispatcher
from dynhp.executors.pool.transport import Transport
from dynhp.executors.pool.workers import WorkerPool
from dynhp.trainer import State, Trainer

# The checks are here for executors outside of the core, which import nothing private.
__all__ = ["FixedSetting", "PooledExecutor", "name_of", "pickled_factory"]
__all__ += ["require_time_limit", "require_whole"]

T = TypeVar("T")

_Outcomes: TypeAlias = Generator[tuple[int, Outcome], None, None]

_beginning = threading.Lock()


@dataclass(frozen=True, slots=True, eq=False)
class _Run:
    """A run under way, and the thread that has begun it."""

    thread: threading.Thread = field(default_factory=threading.current_thread)


class FixedSetting(Generic[T]):
    """A setting of an executor: given when it is made; to assign it later is an error.

    >>> class Mine:
    ...     retries = FixedSetting[int]()
    ...     def __init__(self, retries):
    ...         self.retries = retries
    >>> Mine(2).retries
    2
    """

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, executor: object, owner: type) -> T:
        # The class itself has no value: there it is the setting, as help() expects.
        return cast(T, self if executor is None else vars(executor)[self._name])

    def __set__(self, executor: object, value: T) -> None:
        if self._name in vars(executor):
            kind = type(executor).__name__
            raise SettingsError(
                f"{kind}: {self._name} is given when it is made, and cannot be changed later, got "
                f"{reprlib.repr(value)}; make another: {kind}(..., {self._name}=...)"
            )
        vars(executor)[self._name] = value


class PooledExecutor:
    """Carry out tries on the workers of a transport, each result as ``Serial`` would give it.

    ``Processes`` and ``RayExecutor`` hold one and pass everything on to it; with a transport of
    your own (see ``dynhp.executors.pool.transport``) it is an executor by itself.

    Args:
        make_transport: opens a transport; called when workers are first needed, and again after
            ``close()``.
        workers: how many tries are carried out at once.
        retries: how often a try is repeated if its worker is lost, before it counts as failed.
        time_limit: the seconds that a try may take; its worker is replaced after that.
        shown_as: how error messages call the executor.

    >>> from functools import partial
    >>> from dynhp.executors.pool.processes import ProcessTransport
    >>> from dynhp.testing import NoisyQuadratic
    >>> make = partial(ProcessTransport, pickled_factory("Mine", NoisyQuadratic))
    >>> with PooledExecutor(make, workers=2, shown_as="Mine") as executor:
    ...     executor  # DynamicGridAdapter(NoisyQuadratic(), ..., executor=executor).run(100)
    Mine
    """

    workers = FixedSetting[int]()
    retries = FixedSetting[int]()
    time_limit = FixedSetting[float | None]()

    def __init__(
        self,
        make_transport: Callable[[], Transport[Any]],
        *,
        workers: int = 2,
        retries: int = 2,
        time_limit: float | None = None,
        shown_as: str = "PooledExecutor",
    ) -> None:
        self.workers = require_whole("PooledExecutor: workers", workers, least=1)
        self.retries = require_whole("PooledExecutor: retries", retries, least=0)
        self.time_limit = require_time_limit("PooledExecutor: time_limit", time_limit)
        self._make_transport = make_transport
        self._shown_as = shown_as
        self._run: _Run | None = None
        self._pool: WorkerPool | None = None
        self._finalizer: weakref.finalize[[], PooledExecutor] | None = None

    def close(self) -> None:
        """End the workers, and the run under way; the next run starts new ones."""
        self._run = None
        self._drop_pool()

    def run(self, trainer: Trainer, jobs: Sequence[Job], *, at: State) -> Iterator[Outcome]:
        """Yield the outcomes in order; some tries are done before it is their turn."""
        outcomes = self._outcomes(jobs, in_order=True)
        del jobs  # as Serial does: no state is held for longer than its job
        with closing(outcomes):
            for _, outcome in outcomes:
                yield outcome

    def as_completed(self, jobs: Sequence[Job]) -> Iterator[tuple[int, Outcome]]:
        """Yield the place of each job and its outcome, as they end."""
        return self._outcomes(jobs, in_order=False)

    def _outcomes(self, jobs: Sequence[Job], *, in_order: bool) -> _Outcomes:
        if not jobs:
            return
        mine = self._begin()
        try:
            pool = self._started_pool()
            dispatcher = Dispatcher(pool, jobs, retries=self.retries, in_order=in_order)
            del jobs
            for number, outcome in dispatcher.outcomes():
                yield number, replace(outcome, keep=partial(self._kept, mine, outcome.keep))
                if self._run is not mine:
                    raise ContractError(
                        f"{self!r} carries out one run at a time, and another has begun since "
                        "this one, or it was closed; use an executor for each"
                    )
        except KeyboardInterrupt:
            self.close()
            raise
        finally:
            self._end(mine)

    def _end(self, mine: _Run) -> None:
        """Let a run end, unless another one has begun since, or the executor was closed."""
        if self._run is mine:
            if self._pool is not None:
                self._pool.reset()
            self._run = None

    def _begin(self) -> _Run:
        """Let a run begin, unless another thread has one under way, which owns the workers."""
        mine = _Run()
        with _beginning:
            other = self._run
            if other and other.thread is not mine.thread and other.thread.is_alive():
                raise ContractError(
                    f"{self!r} carries out one run at a time, and that of {other.thread.name} is "
                    f"under way while {mine.thread.name} asks for another; make an executor for "
                    "each thread"
                )
            self._run = mine
        return mine

    def _kept(self, mine: _Run, keep: Callable[[], State]) -> State:
        if self._run is not mine:  # the number of its job may belong to another run now
            raise ContractError(
                "keep() must be called before the next outcome is asked for, and its run is over "
                "or another has begun"
            )
        try:
            return keep()
        except KeyboardInterrupt:  # an answer may be lost on its way: nothing can go on
            self.close()
            raise

    def _started_pool(self) -> WorkerPool:
        if self._pool is not None and self._pool.is_deserted():
            self._drop_pool()
        if self._pool is None:
            transport = self._make_transport()
            self._pool = WorkerPool(transport, size=self.workers, time_limit=self.time_limit)
            self._finalizer = weakref.finalize(self, self._pool.close)
            self._finalizer.atexit = False  # the pool sees to that
        return self._pool

    def _drop_pool(self) -> None:
        if self._pool is not None and self._finalizer is not None:
            self._pool.close()
            self._finalizer.detach()
            self._pool = self._finalizer = None

    def __enter__(self) -> PooledExecutor:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return self._shown_as


def name_of(make_trainer: Callable[[], object]) -> str:
    """The name of what builds a trainer, for messages.

    >>> from dynhp.testing import NoisyQuadratic
    >>> name_of(NoisyQuadratic)
    'NoisyQuadratic'
    """
    return getattr(make_trainer, "__qualname__", None) or repr(make_trainer)
