"""What the main process asks of a worker, and what it hears."""

from __future__ import annotations

import pickle
import traceback
from typing import Any, NamedTuple, TypeAlias

from dynhp.errors import ContractError, DynhpError
from dynhp.executors.pool.packing import PackedState
from dynhp.records import Metrics
from dynhp.rounds.jobs import Job, Outcome

__all__ = ["Answer", "Began", "Fill", "Forget", "Heard", "Lost", "Pack", "Packed", "Raised"]
__all__ += ["Ready", "Report", "Request", "Train", "Weighed"]


class Train(NamedTuple):
    """Carry out this job, from this origin or, where that is None, from the last one sent.

    ``wanted`` are the jobs whose end states may be asked for yet: the others are let go.
    """

    number: int
    job: Job  # without its origin
    origin: PackedState | None
    wanted: tuple[int, ...] = ()


class Pack(NamedTuple):
    """Take apart the state at the end of this job; a small one comes back at once."""

    number: int


class Forget(NamedTuple):
    """Let go of all states put aside; this is not answered."""


class Fill(NamedTuple):
    """Put the state taken out into this segment, or into the answer."""

    segment: str | None


class Ready(NamedTuple):
    """The trainer is built."""


class Began(NamedTuple):
    """So many epochs have begun; 0 tells that the job has arrived."""

    epochs: int


class Report(NamedTuple):
    """An outcome without its state."""

    series: tuple[Metrics, ...]
    epochs: int
    error: str | None
    seconds: float

    @classmethod
    def of(cls, outcome: Outcome) -> Report:
        """What of an outcome is sent at once."""
        return cls(outcome.series, outcome.epochs, outcome.error, outcome.seconds)


class Weighed(NamedTuple):
    """The state taken out has pieces of these sizes: where shall they be put?"""

    sizes: tuple[int, ...]


class Packed(NamedTuple):
    """The state at the end of a job, packed as the executor does."""

    parcel: Any


class Elsewhere(Exception):
    """The traceback in another process, as the cause of what is raised in this one."""


class Raised(NamedTuple):
    """An exception that would have ended the run in one process too."""

    error: BaseException
    trace: str

    @classmethod
    def of(cls, error: BaseException) -> Raised:
        """The exception itself where it can travel, else the nearest of ours, with its text."""
        trace = "".join(traceback.format_exception(type(error), error, error.__traceback__))
        return cls(error if _travels(error) else _like(error), trace)

    def again(self) -> BaseException:
        """The exception, to be raised in this process."""
        self.error.__cause__ = Elsewhere(f"in a worker:\n{self.trace}")
        return self.error


class Lost(NamedTuple):
    """The worker is no more; made up by the main process."""

    why: str
    epochs: int | None = None  # begun of its job; None: that never arrived


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


Request: TypeAlias = Train | Pack | Fill | Forget
Answer: TypeAlias = Ready | Began | Report | Weighed | Packed | Raised
Heard: TypeAlias = Report | Raised | Packed | Lost
"""What a schedule wants to know of a job."""
