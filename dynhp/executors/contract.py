"""What an executor is asked for, what it gives, and its contract: the answer of ``Serial``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, runtime_checkable

from dynhp.best import BestEpoch
from dynhp.engine.commands import Beat, Job
from dynhp.records import Metrics
from dynhp.trainer import State, Trainer

__all__ = ["UNKNOWN_STATE", "Beat", "Closes", "CompletesAnyOrder", "Executor", "Job"]
__all__ += ["Outcome", "SendsJobs", "TryStates", "close", "states_of"]


@dataclass(slots=True)  # not frozen, because one is made for each try
class Outcome:
    """What came of a job: metrics per epoch, the epochs begun, and an error if it failed.

    ``reported`` says which epochs, from 1, the metrics belong to, if some were not measured.
    ``keep()`` hands out the state at the end; of a job with a tail, or one that has a state to
    ``hold``, it hands out ``TryStates``. Call it before the next outcome is asked for.
    ``in_place`` says that the main line's own trainer is in that state until then. ``elsewhere``
    says that the job was carried out in another process, into which nothing here can look; it only
    decides what the message of a failed check names as the likely cause. Threads leave it False:
    the globals that their trainers change are those of this process.

    >>> from dynhp import Serial
    >>> from dynhp.records import Candidate
    >>> from dynhp.testing import Quadratic
    >>> trainer = Quadratic()
    >>> job = Job(origin=trainer.get_state(), candidate=Candidate({"lr": 0.5}), epochs=2)
    >>> [outcome] = Serial().run(trainer, [job], at=UNKNOWN_STATE)
    >>> outcome.series, outcome.keep()
    (({'loss': 0.125}, {'loss': 0.03125}), 0.25)
    """

    series: tuple[Metrics, ...]
    epochs: int
    keep: Callable[[], State]
    error: str | None = None
    in_place: bool = False
    seconds: float = 0.0
    reported: tuple[int, ...] = ()
    elsewhere: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TryStates:
    """The states of a try that has several.

    Attributes:
        kept: the one that the main line would go on from: before the tail, if there is one.
        end: the one after the last epoch, if that is wanted too.
        inner: the best one inside of it, if that is wanted and is better than the end.

    >>> states_of("end").kept, states_of(TryStates(kept="before the tail", end="end")).end
    ('end', 'end')
    """

    kept: State
    end: State
    inner: BestEpoch | None = None


def states_of(handed_out: State) -> TryStates:
    """What ``keep()`` handed out, as the states of a try."""
    if isinstance(handed_out, TryStates):
        return handed_out
    return TryStates(kept=handed_out, end=handed_out)


class _UnknownState:
    """A state that no trainer is ever in."""

    def __repr__(self) -> str:
        return "UNKNOWN_STATE"


UNKNOWN_STATE: Final = _UnknownState()
"""What ``at`` is if it is not known which state a trainer is in."""


@runtime_checkable
class Executor(Protocol):
    """Carries out the jobs of a round. It sees candidates and opaque origins, never scores.

    >>> from dynhp import DynamicGridAdapter, Serial, lowest
    >>> from dynhp.testing import Quadratic
    >>> class Verbose:  # as Serial does, and prints
    ...     def run(self, trainer, jobs, *, at):
    ...         for job, outcome in zip(jobs, Serial().run(trainer, jobs, at=at)):
    ...             print(job.candidate, outcome.series)
    ...             yield outcome
    >>> adapter = DynamicGridAdapter(Quadratic(), {"lr": [0.5, 3.0]}, criterion=lowest("loss"),
    ...                              adapt_every=2, try_for=1, executor=Verbose(), check="off")
    >>> round_ = adapter.step()
    Candidate(lr=0.5) ({'loss': 0.125},)
    Candidate(lr=3.0) ({'loss': 2.0},)
    """

    def run(self, trainer: Trainer, jobs: Sequence[Job], *, at: State) -> Iterator[Outcome]:
        """Yield one outcome per job, in the order of the jobs.

        ``trainer`` is the main line's own and may be used; ``at`` is the state it is in. If an
        outcome says ``in_place``, the trainer is in its end state until the next is asked for.
        With trainers of your own, say ``in_place=False``, copy what ``keep`` will hand out before
        that trainer takes another job, and let ``beat`` of a job be called on this thread only:
        once after each epoch of the job, in order, or not at all if the epochs are elsewhere.
        If the iterator is closed early, as when a round is undone, nothing of its jobs goes on.

        What carries out jobs in threads must hold three things more, because threads share all that
        a process has. Each thread has a trainer of its own, and only one job at a time is on it.
        These trainers share nothing that training changes: no global generator, no module's
        variable, no data position; what the state has of them is put back under another thread's
        feet. And a thread cannot be ended from outside, so when the iterator is closed, or
        ``close`` is called, jobs that have not begun are cancelled and the others are waited for.
        """
        ...


@runtime_checkable
class CompletesAnyOrder(Protocol):
    """Optional: an executor that hands out outcomes as they end, which suits campaigns better."""

    def as_completed(self, jobs: Sequence[Job]) -> Iterator[tuple[int, Outcome]]:
        """Yield the place of each job and its outcome, the first to end first."""
        ...


@runtime_checkable
class SendsJobs(Protocol):
    """Optional: an executor whose workers are elsewhere, and to whom not everything can be sent."""

    def require_sendable(self, what: str, thing: object) -> None:
        """Refuse a part of a job that cannot be sent, in the words ``what`` for it."""
        ...


@runtime_checkable
class Closes(Protocol):
    """Optional: an executor with something to end, as after Ctrl-C; a wrapper passes it on."""

    def close(self) -> None:
        """End it; the next run starts again."""
        ...


def close(executor: Executor) -> None:
    """End what an executor has started, if it has anything to end.

    >>> from dynhp.executors import Serial
    >>> close(Serial())
    """
    if isinstance(executor, Closes):
        executor.close()
