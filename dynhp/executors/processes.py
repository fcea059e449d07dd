"""Tries side by side in processes of their own, each result as ``Serial`` would give it."""

from __future__ import annotations

import math
import pickle
import weakref
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from dynhp.attempt import Job, Outcome
from dynhp.errors import ContractError, SettingsError
from dynhp.trainer import State, Trainer

if TYPE_CHECKING:  # multiprocessing takes a while to import: only when workers start
    from dynhp.executors._crew import Crew

__all__ = ["Processes"]


class Processes:
    """Carry out tries in ``workers`` processes, each with a trainer that ``make_trainer`` builds.

    It must build the same trainer as the main line's, but for the state: data, sizes, settings.
    The processes start with the first tries and stay until ``close()``, the end of a ``with``
    block or of the program. The main line stays on the adapter's own trainer; a state goes to a
    worker once per round and comes back only if its try leads.

    A worker that dies, or takes longer than ``time_limit`` seconds for a try, is replaced and the
    try repeated up to ``retries`` times; then it has failed. What the trainer raises fails the
    try at once, as in one process. Scripts need their code under ``if __name__ == "__main__":``.

    >>> from dynhp.testing import NoisyQuadratic
    >>> with Processes(NoisyQuadratic, workers=2, time_limit=60.0) as executor:
    ...     executor  # DynamicGridAdapter(NoisyQuadratic(), ..., executor=executor).run(100)
    Processes(NoisyQuadratic, workers=2, time_limit=60.0, retries=2)
    """

    def __init__(
        self,
        make_trainer: Callable[[], Trainer],
        *,
        workers: int = 2,
        time_limit: float | None = None,
        retries: int = 2,
    ) -> None:
        self.make_trainer = make_trainer
        self.workers = _whole("workers", workers, least=1)
        self.time_limit = None if time_limit is None else _seconds(time_limit)
        self.retries = _whole("retries", retries, least=0)
        self._factory = _pickled(make_trainer)
        self._crew: Crew | None = None
        self._runs = 0

    def run(self, trainer: Trainer, jobs: Sequence[Job], *, at: State) -> Iterator[Outcome]:
        """Yield the outcomes in order; up to ``workers`` tries are done before they are due."""
        from dynhp.executors._schedule import Schedule

        crew = self._started()
        crew.calm()  # whatever an earlier run left unfinished
        self._runs += 1
        mine = self._runs
        outcomes = Schedule(crew, jobs, retries=self.retries).outcomes() if jobs else iter(())
        del jobs  # as Serial does: no state is held for longer than its job
        try:
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
            if mine == self._runs:
                crew.calm()

    def _started(self) -> Crew:
        from dynhp.executors._crew import Crew

        if self._crew is None:
            self._crew = Crew(self._factory, workers=self.workers, time_limit=self.time_limit)
            weakref.finalize(self, self._crew.close).atexit = False  # the crew sees to that
        return self._crew

    def close(self) -> None:
        """End the workers; the next run starts new ones."""
        if self._crew is not None:
            self._crew.close()

    def __enter__(self) -> Processes:
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
        return (
            f"Processes({name}, workers={self.workers}, time_limit={self.time_limit}, "
            f"retries={self.retries})"
        )


def _whole(name: str, value: Any, *, least: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise SettingsError(
            f"Processes: {name} must be a whole number of {least} or more, got {value!r}"
        )
    return value


def _seconds(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        raise SettingsError(
            "Processes: time_limit must be a number of seconds above 0, or None for no limit, "
            f"got {value!r}"
        )
    return value


def _pickled(make_trainer: Any) -> bytes:
    if not callable(make_trainer):
        raise SettingsError(
            "Processes: make_trainer must be a function that builds a fresh trainer, "
            f"got {make_trainer!r}"
        )
    try:
        return pickle.dumps(make_trainer)
    except Exception as error:
        raise SettingsError(
            "Processes: make_trainer must be picklable, for the workers are other processes, got "
            f"{make_trainer!r} ({type(error).__name__}: {error}); use a function or class of a "
            "module, or functools.partial of one, instead of a lambda or a closure"
        ) from error
