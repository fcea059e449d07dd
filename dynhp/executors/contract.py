"""The executor's contract: carry out jobs, each result equal to what ``Serial`` would give."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol, runtime_checkable

from dynhp.attempt import Job, Outcome
from dynhp.trainer import State, Trainer

__all__ = ["Closes", "CompletesAnyOrder", "Executor", "close"]


@runtime_checkable
class Executor(Protocol):
    """Carries out the jobs of a round. It sees candidates and opaque origins, never scores."""

    def run(self, trainer: Trainer, jobs: Sequence[Job], *, at: State) -> Iterator[Outcome]:
        """Yield one outcome per job, in the order of the jobs.

        ``trainer`` is the main line's own and may be used; ``at`` is the state it is in. Where an
        outcome says ``in_place``, the trainer is in its end state until the next is asked for.
        """
        ...


@runtime_checkable
class CompletesAnyOrder(Protocol):
    """Optional: an executor that hands out outcomes as they end, which campaigns like better."""

    def as_completed(self, jobs: Sequence[Job]) -> Iterator[tuple[int, Outcome]]:
        """Yield the place of each job and its outcome, the first to end first."""
        ...


@runtime_checkable
class Closes(Protocol):
    """Optional: an executor with something to end, as after Ctrl-C; one around it passes it on."""

    def close(self) -> None:
        """End it; the next run starts anew."""
        ...


def close(executor: Executor) -> None:
    """End what an executor has started, where it has anything to end.

    >>> from dynhp.executors import Serial
    >>> close(Serial())
    """
    if isinstance(executor, Closes):
        executor.close()
