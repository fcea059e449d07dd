"""What all executors with workers have in common: one run at a time, and an orderly end."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from dynhp.errors import ContractError
from dynhp.rounds.jobs import Job, Outcome
from dynhp.trainer import State, Trainer

if TYPE_CHECKING:
    from dynhp.executors.pool.dispatcher import Workers

__all__ = ["PooledExecutor"]

_Outcomes: TypeAlias = Generator[tuple[int, Outcome], None, None]
_Self = TypeVar("_Self", bound="PooledExecutor")

_beginning = threading.Lock()


@dataclass(frozen=True, slots=True, eq=False)
class _Run:
    """A run under way, and who has begun it."""

    thread: threading.Thread = field(default_factory=threading.current_thread)


class PooledExecutor(ABC):
    """Carries out jobs on workers, which whoever inherits from it starts, calms and ends."""

    retries: int
    _run: _Run | None = None

    @abstractmethod
    def _shift(self, jobs: Sequence[Job]) -> Workers:
        """The workers for these jobs, with nothing left of an earlier run."""
        ...

    @abstractmethod
    def _calm(self) -> None:
        """Let no worker do or hold anything."""
        ...

    @abstractmethod
    def _end(self) -> None:
        """End the workers, if there are any."""
        ...

    def close(self) -> None:
        """End the workers, and the run under way; the next run starts new ones."""
        self._run = None
        self._end()

    def run(self, trainer: Trainer, jobs: Sequence[Job], *, at: State) -> Iterator[Outcome]:
        """Yield the outcomes in order; some tries are done before they are due."""
        found = self._outcomes(jobs, in_order=True)
        del jobs  # as Serial does: no state is held for longer than its job
        with closing(found):
            for _, outcome in found:
                yield outcome

    def as_completed(self, jobs: Sequence[Job]) -> Iterator[tuple[int, Outcome]]:
        """Yield the place of each job and its outcome, as they end."""
        return self._outcomes(jobs, in_order=False)

    def _outcomes(self, jobs: Sequence[Job], *, in_order: bool) -> _Outcomes:
        if not jobs:
            return
        from dynhp.executors.pool.dispatcher import (
            Dispatcher,  # multiprocessing takes long to import
        )

        mine = self._begin()
        try:
            schedule = Dispatcher(self._shift(jobs), jobs, retries=self.retries, in_order=in_order)
            del jobs
            for number, outcome in schedule.outcomes():
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
            self._finish(mine)

    def _begin(self) -> _Run:
        """Let a run begin, unless that of another thread is under way: the workers are its."""
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

    def _finish(self, mine: _Run) -> None:
        if self._run is mine:
            self._calm()
            self._run = None

    def _kept(self, mine: _Run, keep: Callable[[], State]) -> State:
        if self._run is not mine:  # its number may mean the job of another run
            raise ContractError(
                "keep() must be called before the next outcome is asked for, and its run is over "
                "or another has begun"
            )
        return keep()

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
