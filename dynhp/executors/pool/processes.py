"""Tries side by side in processes of their own, each result as ``Serial`` would give it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from dynhp._checks import require_time_limit, require_whole
from dynhp.executors.factory import pickled, pickled_factory
from dynhp.executors.pool.base import FixedSetting, PooledExecutor, name_of
from dynhp.rounds.jobs import Job, Outcome
from dynhp.trainer import State, Trainer

if TYPE_CHECKING:
    from dynhp.executors.pool.process_transport import ProcessTransport

__all__ = ["Processes"]


class Processes:
    """Carry out tries in ``workers`` processes, each with a trainer that ``make_trainer`` builds.

    The processes start with the first tries and stay until ``close()``, the end of a ``with``
    block or of the program. The main line stays on the adapter's own trainer; a state goes to a
    worker once per round and leaves it only if its try leads. Workers run ahead by up to twice
    their number of tries, and hold the states of those in their own memory until they are judged.
    What the trainer raises fails the try at once, as in one process. Scripts need their code under
    ``if __name__ == "__main__":``.

    Args:
        make_trainer: builds the same trainer as the main line's, except for the state: data,
            sizes, settings. A function or class of a module, or ``functools.partial`` of one.
        workers: how many processes, and so how many tries at once.
        time_limit: the seconds that a try may take; after that its worker counts as dead. A
            ``make_trainer`` that takes ten times as long, and over a minute, is an error; without
            a limit the logger reports it.
        retries: how often a try is repeated whose worker died, before it has failed.

    >>> from dynhp.testing import NoisyQuadratic
    >>> with Processes(NoisyQuadratic, workers=2, time_limit=60.0) as executor:
    ...     executor  # DynamicGridAdapter(NoisyQuadratic(), ..., executor=executor).run(100)
    Processes(NoisyQuadratic, workers=2, time_limit=60.0, retries=2)
    """

    make_trainer = FixedSetting[Callable[[], Trainer]]()
    workers = FixedSetting[int]()
    time_limit = FixedSetting[float | None]()
    retries = FixedSetting[int]()

    def __init__(
        self,
        make_trainer: Callable[[], Trainer],
        *,
        workers: int = 2,
        time_limit: float | None = None,
        retries: int = 2,
    ) -> None:
        self.make_trainer = make_trainer
        self.workers = require_whole("Processes: workers", workers, least=1)
        self.time_limit = require_time_limit("Processes: time_limit", time_limit)
        self.retries = require_whole("Processes: retries", retries, least=0)
        self._pooled = PooledExecutor(
            partial(_transport, pickled_factory("Processes", make_trainer)),
            workers=workers,
            retries=retries,
            time_limit=time_limit,
            shown_as=repr(self),
        )

    def run(self, trainer: Trainer, jobs: Sequence[Job], *, at: State) -> Iterator[Outcome]:
        """Yield the outcomes in order; some tries are done before it is their turn."""
        return self._pooled.run(trainer, jobs, at=at)

    def as_completed(self, jobs: Sequence[Job]) -> Iterator[tuple[int, Outcome]]:
        """Yield the place of each job and its outcome, as they end."""
        return self._pooled.as_completed(jobs)

    def require_sendable(self, what: str, thing: object) -> None:
        """Refuse what cannot be sent to a process."""
        pickled(f"Processes: {what}", thing)

    def close(self) -> None:
        """End the workers, and the run under way; the next run starts new ones."""
        self._pooled.close()

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return (
            f"Processes({name_of(self.make_trainer)}, workers={self.workers}, "
            f"time_limit={self.time_limit}, retries={self.retries})"
        )


def _transport(factory: bytes) -> ProcessTransport:
    # multiprocessing takes a while to import: only when workers start.
    from dynhp.executors.pool.process_transport import ProcessTransport

    return ProcessTransport(factory)
