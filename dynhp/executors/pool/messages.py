"""What the main process asks of a worker, and what it receives."""

from __future__ import annotations

import pickle
import traceback
from typing import Any, NamedTuple, TypeAlias

from dynhp.errors import ContractError, DynhpError
from dynhp.records import Metrics
from dynhp.rounds.jobs import Job, Outcome

__all__ = ["Answer", "Began", "Forget", "Lost", "News", "Pack", "Packed", "Raised", "Ready"]
__all__ += ["Request", "Train", "TryReport", "WorkerTraceback"]


class Train(NamedTuple):
    """Carry out this job, from this origin or, where that is None, from the last one sent.

    ``wanted`` are the jobs whose end states may still be asked for: the others are dropped.

    >>> from dynhp.records import Candidate
    >>> job = Job(origin=None, candidate=Candidate({"lr": 0.1}), epochs=2)
    >>> Train(number=3, job=job, origin=b"packed").wanted
    ()
    """

    number: int
    job: Job  # without its origin
    origin: Any | None  # packed by the transport
    wanted: tuple[int, ...] = ()


class Pack(NamedTuple):
    """Hand out the state at the end of this job; those not ``wanted`` are dropped before.

    >>> Pack(number=3, wanted=(3,))
    Pack(number=3, wanted=(3,))
    """

    number: int
    wanted: tuple[int, ...]


class Forget(NamedTuple):
    """Drop all states that were set aside; this is not answered.

    >>> from dynhp.executors.pool.worker import WorkerLoop
    >>> from dynhp.testing import Quadratic
    >>> list(WorkerLoop(Quadratic(), pack=pickle.dumps, load=pickle.loads).answers(Forget()))
    []
    """


class Ready(NamedTuple):
    """The trainer is built: the first answer of a worker.

    >>> Ready()
    Ready()
    """


class Began(NamedTuple):
    """So many epochs have begun; 0 says that the job has arrived."""

    epochs: int


class TryReport(NamedTuple):
    """An outcome without its state."""

    series: tuple[Metrics, ...]
    epochs: int
    error: str | None
    seconds: float

    @classmethod
    def of(cls, outcome: Outcome) -> TryReport:
        """The part of an outcome that is sent at once."""
        return cls(outcome.series, outcome.epochs, outcome.error, outcome.seconds)


class Packed(NamedTuple):
    """The state at the end of a job, packed as the transport does it."""

    state: Any


class WorkerTraceback(Exception):
    """The traceback in another process, as the cause of what is raised in this one."""


class Raised(NamedTuple):
    """An exception that would have ended the run in one process too.

    >>> raised = Raised.of(KeyError("lr"))
    >>> repr(raised.again()), repr(raised.error.__cause__)[:15]
    ("KeyError('lr')", 'WorkerTraceback')
    """

    error: BaseException
    trace: str

    @classmethod
    def of(cls, error: BaseException) -> Raised:
        """The exception itself where it can be pickled, else the nearest of dynhp's, with its text.

        >>> Raised.of(ValueError("too large")).error
        ValueError('too large')
        """
        trace = "".join(traceback.format_exception(type(error), error, error.__traceback__))
        return cls(error if _travels(error) else _like(error), trace)

    def again(self) -> BaseException:
        """The exception, to be raised in this process."""
        self.error.__cause__ = WorkerTraceback(f"in a worker:\n{self.trace}")
        return self.error


class Lost(NamedTuple):
    """The worker is gone; no worker sends this, the main process makes it.

    >>> Lost("it was killed by SIGKILL", epochs=1).by_itself
    False
    """

    why: str
    epochs: int | None = None  # begun of its job; None: that never arrived
    by_itself: bool = False  # it ended, and was not killed from outside


def _travels(error: BaseException) -> bool:
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return False
    return True


def _like(error: BaseException) -> BaseException:
    """One that can travel: of the nearest base class that is dynhp's own, or a ContractError."""
    text = f"{type(error).__name__}: {error}"
    for kind in type(error).__mro__[1:]:
        # Only those of dynhp.errors: all of them are made from a text, and known everywhere.
        if issubclass(kind, DynhpError) and kind.__module__ == DynhpError.__module__:
            return kind(text)
    return ContractError(text)


Request: TypeAlias = Train | Pack | Forget
"""What a worker can be asked for."""

Answer: TypeAlias = Ready | Began | TryReport | Packed | Raised
"""What a worker can answer."""

News: TypeAlias = TryReport | Raised | Packed | Lost
"""What a dispatcher wants to know of a job."""
