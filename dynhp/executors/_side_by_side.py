"""What all executors with workers have in common: one run at a time, and an orderly end."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from types import TracebackType
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from dynhp.attempt import Job, Outcome
from dynhp.errors import ContractError
from dynhp.trainer import State, Trainer

if TYPE_CHECKING:
    from dynhp.executors._schedule import Workers

__all__ = ["SideBySide"]

_Outcomes: TypeAlias = Generator[tuple[int, Outcome], None, None]
_Self = TypeVar("_Self", bound="SideBySide")


class SideBySide(ABC):
    """Carries out jobs on workers, which whoever inherits from it starts, calms and ends."""

    retries: int
    _runs = 0

    @abstractmethod
    def _shift(self, jobs: Sequence[Job]) -> Workers:
        """The workers for these jobs, with nothing left of an earlier run."""
        ...

    @abstractmethod
    def _calm(self) -> None:
        """Let no worker do or hold anything."""
        ...

    @abstractmethod
    def close(self) -> None:
        """End the workers; the next run starts new ones."""
        ...

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
        from dynhp.executors._schedule import Schedule  # multiprocessing takes long to import

        self._runs += 1
        mine = self._runs
        try:
            schedule = Schedule(self._shift(jobs), jobs, retries=self.retries, in_order=in_order)
            del jobs
            for found in schedule.outcomes():
                yield found
                if mine != self._runs:
                    raise ContractError(
                        f"{self!r} carries out one run at a time, and another has begun"
                    )
        except KeyboardInterrupt:
            self.close()
            raise
        finally:
            if mine == self._runs:
                self._calm()

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
