"""Tries side by side in processes of their own, each result as ``Serial`` would give it."""

from __future__ import annotations

import pickle
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from dynhp.executors.pool.arguments import named, pickled, seconds, whole
from dynhp.executors.pool.base import PooledExecutor
from dynhp.rounds.jobs import Job
from dynhp.trainer import Trainer

if TYPE_CHECKING:  # multiprocessing takes a while to import: only when workers start
    from dynhp.executors.pool.crew import Crew
    from dynhp.executors.pool.shift import Shift

__all__ = ["Processes"]

_WAY_OUT = (
    "use a function or class of a module, or functools.partial of one, instead of a lambda or a "
    "closure"
)


class Processes(PooledExecutor):
    """Carry out tries in ``workers`` processes, each with a trainer that ``make_trainer`` builds.

    It must build the same trainer as the main line's, but for the state: data, sizes, settings.
    The processes start with the first tries and stay until ``close()``, the end of a ``with``
    block or of the program. The main line stays on the adapter's own trainer; a state goes to a
    worker once per round and leaves it only if its try leads. Workers run ahead by up to twice
    their number of tries, and hold the states of those in their own memory until they are judged.

    A worker that dies, or takes longer than ``time_limit`` seconds for a try, is replaced and the
    try repeated up to ``retries`` times; then it has failed. A ``make_trainer`` that takes ten
    times that long, and over a minute, is an error; without a limit it is told by the logger. What
    the trainer raises fails the try at once, as in one process. Scripts need their code under
    ``if __name__ == "__main__":``.

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
        self.workers = whole("Processes", "workers", workers, least=1)
        self.time_limit = seconds("Processes", time_limit)
        self.retries = whole("Processes", "retries", retries, least=0)
        self._factory = pickled("Processes", make_trainer, dumps=pickle.dumps, way_out=_WAY_OUT)
        self._crew: Crew | None = None

    def _shift(self, jobs: Sequence[Job]) -> Shift:
        from dynhp.executors.pool.shift import Shift

        crew = self._started()
        crew.calm()  # whatever an earlier run left unfinished
        return Shift(crew, jobs)

    def _started(self) -> Crew:
        from dynhp.executors.pool.crew import Crew

        if self._crew is None:
            self._crew = Crew(self._factory, workers=self.workers, time_limit=self.time_limit)
            weakref.finalize(self, self._crew.close).atexit = False  # the crew sees to that
        return self._crew

    def _calm(self) -> None:
        self._started().calm()

    def _end(self) -> None:
        if self._crew is not None:
            self._crew.close()

    def __repr__(self) -> str:
        return (
            f"Processes({named(self.make_trainer)}, workers={self.workers}, "
            f"time_limit={self.time_limit}, retries={self.retries})"
        )
