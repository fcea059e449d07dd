"""What the pool needs of a backend, which starts workers and carries messages: a ``Transport``.

The pool (``dynhp.executors.pool.workers.WorkerPool``) decides everything: which worker gets which
job, how far it runs ahead, what is repeated, what takes too long. A *transport* only starts workers
and carries messages and states. ``dynhp.executors.pool.processes.ProcessTransport`` is the backend
for processes on this machine; an integration may have one for the machines of a cluster. Use your
own as ``PooledExecutor(make_transport, workers=4)``: ``make_transport`` is called when workers are
needed for the first time, and again after a ``close()``.

On the other side, each worker builds its trainer once (``build_trainer``) and sends ``Ready()``, or
``Raised.of(error)`` if that failed. Then, for each request, it sends what the ``answers`` of its
``WorkerLoop`` yield, in order and each at once. A worker is sent a request only when it has
answered the last one, except ``ForgetRequest``, which is not answered.
"""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar

from dynhp.errors import ContractError, DynhpError
from dynhp.executors.contract import Job, Outcome
from dynhp.records import Metrics
from dynhp.trainer import State


class TrainRequest(NamedTuple):
    """Carry out this job, from this origin or, if that is None, from the last one sent.

    ``wanted`` are the jobs whose end states may still be asked for: the others are dropped.
    """

    number: int
    job: Job  # without its origin
    origin: Any | None  # packed by the transport
    wanted: tuple[int, ...] = ()


class PackRequest(NamedTuple):
    """Send the state at the end of this job, after dropping those that are not ``wanted``."""

    number: int
    wanted: tuple[int, ...]


class ForgetRequest(NamedTuple):
    """Drop all states that were set aside; this is not answered.

    >>> from dynhp.executors.pool.worker import WorkerLoop
    >>> from dynhp.testing import Quadratic
    >>> list(WorkerLoop(Quadratic(), pack=pickle.dumps, load=pickle.loads).answers(ForgetRequest()))
    []
    """


class Ready(NamedTuple):
    """The trainer is built: the first answer of a worker.

    >>> Ready()
    Ready()
    """


class Began(NamedTuple):
    """This many epochs have begun; 0 says that the job has arrived."""

    epochs: int


class TryReport(NamedTuple):
    """An outcome without its state."""

    series: tuple[Metrics, ...]
    epochs: int
    error: str | None
    seconds: float

    @classmethod
    def of(cls, outcome: Outcome) -> TryReport:
        """The part of an outcome that is sent as soon as the job is done."""
        return cls(outcome.series, outcome.epochs, outcome.error, outcome.seconds)


class Packed(NamedTuple):
    """The state at the end of a job, packed as the transport does it."""

    state: Any


class WorkerTraceback(Exception):
    """The traceback in the worker: the cause of an exception that is raised again here."""


class Raised(NamedTuple):
    """An exception that would have ended a run without workers too.

    >>> raised = Raised.of(KeyError("lr"))
    >>> repr(raised.to_raise()), repr(raised.error.__cause__)[:15]
    ("KeyError('lr')", 'WorkerTraceback')
    """

    error: BaseException
    trace: str

    @classmethod
    def of(cls, error: BaseException) -> Raised:
        """The exception itself if it can be pickled, or the nearest of dynhp's with its text.

        >>> Raised.of(ValueError("too large")).error
        ValueError('too large')
        """
        trace = "".join(traceback.format_exception(type(error), error, error.__traceback__))
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:
            # Those of dynhp.errors are all made from a text, and known everywhere.
            ours = (
                kind
                for kind in type(error).__mro__[1:]
                if issubclass(kind, DynhpError) and kind.__module__ == DynhpError.__module__
            )
            nearest = next(ours, ContractError)
            error = nearest(f"{type(error).__name__}: {error}")
        return cls(error, trace)

    def to_raise(self) -> BaseException:
        """The exception, to be raised in this process."""
        self.error.__cause__ = WorkerTraceback(f"in a worker:\n{self.trace}")
        return self.error


class Lost(NamedTuple):
    """The worker is gone; no worker sends this, the main process makes it.

    >>> Lost("it was killed by SIGKILL", epochs=1).by_itself
    False
    """

    why: str
    epochs: int | None = None  # that its job had begun; None: the job never arrived
    by_itself: bool = False  # it ended of its own accord, and was not killed


Request: TypeAlias = TrainRequest | PackRequest | ForgetRequest
"""What a worker can be asked for."""

Answer: TypeAlias = Ready | Began | TryReport | Packed | Raised
"""What a worker can answer."""

JobResult: TypeAlias = TryReport | Raised | Packed | Lost
"""What came of a request about a job, as the dispatcher is told."""


class Channel(Protocol):
    """The way to one worker.

    >>> from collections import deque
    >>> from dynhp.executors.pool import Ready, WorkerLoop
    >>> from dynhp.executors.pool.worker import build_trainer
    >>> from dynhp.testing import Quadratic
    >>> class Local:  # the "worker" is an object of this process
    ...     def __init__(self, factory):
    ...         trainer = build_trainer(factory)
    ...         self.loop = WorkerLoop(trainer, pack=pickle.dumps, load=pickle.loads)
    ...         self.answers = deque([Ready()])
    ...     def send(self, request): self.answers.extend(self.loop.answers(request))
    ...     def receive(self): return self.answers.popleft()
    ...     def is_alive(self): return True
    ...     def close(self): pass
    ...     def end(self, patience): return Lost("it was ended")
    >>> Local(pickle.dumps(Quadratic)).receive()
    Ready()
    """

    def send(self, request: Request) -> None:
        """Send a request without waiting; may raise ``OSError`` if the worker is gone.

        Unless the transport is ``remote``, the worker may still be building its trainer.
        """
        ...

    def receive(self) -> Answer | None:
        """The next answer, waiting for it if need be; None if a message meant only the transport.

        If only a part of an answer has come, give None rather than wait: the worker may be stuck.

        Raises ``EOFError`` or ``OSError`` if the worker is gone and no answer is left.
        """
        ...

    def is_alive(self) -> bool:
        """Say, without waiting, whether the worker may still answer; True if that is not known."""
        ...

    def close(self) -> None:
        """Say that nothing more will be asked, so that a worker without work may end by itself."""
        ...

    def end(self, patience: float) -> Lost:
        """End the worker, by force if it has not ended after ``patience`` seconds, and say why.

        Called again, or for a worker that is gone already, it changes nothing.
        """
        ...


C = TypeVar("C", bound=Channel)


class Transport(Protocol[C]):
    """Starts workers, waits for their answers, and moves states to them and back.

    >>> from dynhp import DynamicGridAdapter, lowest
    >>> from dynhp.executors.pool import PooledExecutor
    >>> from dynhp.executors.pool.processes import ProcessTransport
    >>> from dynhp.testing import Quadratic
    >>> class Counted:  # the processes of this machine, and how many were started
    ...     name, start_hint, remote, started = "Counted", "see above", False, 0
    ...     def __init__(self, factory):
    ...         self.processes = ProcessTransport(factory)
    ...     def start(self):
    ...         Counted.started += 1
    ...         return self.processes.start()
    ...     def __getattr__(self, name): return getattr(self.processes, name)  # all the rest
    >>> with PooledExecutor(lambda: Counted(pickle.dumps(Quadratic)), workers=1) as executor:
    ...     adapter = DynamicGridAdapter(Quadratic(), {"lr": [0.1, 0.5]}, criterion=lowest("loss"),
    ...                                  adapt_every=2, try_for=1, executor=executor)
    ...     adapter.run(4)[-1].candidate, Counted.started
    (Candidate(lr=0.5), 1)
    """

    @property
    def name(self) -> str:
        """The executor's name, with which its errors begin."""
        ...

    @property
    def start_hint(self) -> str:
        """What to do if workers cannot start: the end of an error message."""
        ...

    @property
    def remote(self) -> bool:
        """True if workers may be on other machines, and may have to wait for room there.

        Then jobs are sent only to workers that are ready, there is no limit on the time to start, a
        worker runs ahead at once, and one that is busy when a run ends has a moment to finish,
        because starting another would take longer.
        """
        ...

    def start(self) -> C:
        """Start a worker, without waiting for it."""
        ...

    def wait(self, channels: Sequence[C], seconds: float) -> Collection[C]:
        """Wait up to ``seconds``; give the channels that have something to receive, or are gone."""
        ...

    def pack(self, state: State) -> Any:
        """Pack an origin so that any number of workers can load what they are sent."""
        ...

    def load(self, packed: Any) -> State:
        """The state that a worker has packed; it belongs to the caller, who may write to it."""
        ...

    def release(self, packed: Any) -> None:
        """Free what holds a packed state, from this side or a worker's: it is no longer needed."""
        ...

    def release_all(self) -> None:
        """Free everything that was packed: the run is over."""
        ...

    def report_slow_start(self, seconds: float) -> None:
        """Warn that a worker has been starting for this many seconds; called once."""
        ...

    def close(self) -> None:
        """Free everything; the workers have ended."""
        ...
