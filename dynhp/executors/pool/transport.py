"""The seam of the pool: what an engine must supply so that workers can run on it.

The pool (``dynhp.executors.pool.workers.WorkerPool``) decides everything: which worker gets which
job, how far it runs ahead, what is repeated, what takes too long. A *transport* only starts workers
and carries messages and states; ``dynhp.executors.pool.process_transport`` is one for processes of
this machine, ``dynhp_ray`` has one for the actors of a Ray cluster. One of your own is used as
``PooledExecutor(make_transport, workers=4)``: ``make_transport`` is called when workers are needed
for the first time, and again after a ``close()``.

On the other side each worker builds its trainer once (``build_trainer``), sends ``Ready()``, or
``Raised.of(error)`` where that failed, and then sends for each request what the ``answers`` of its
``WorkerLoop`` yield, in order and each at once. Requests are never sent to a worker before it has
answered the last one, except ``Forget``, which is not answered.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Protocol, TypeVar

from dynhp.executors.pool.messages import Answer, Lost, Request
from dynhp.trainer import State

__all__ = ["Channel", "Transport"]


class Channel(Protocol):
    """The way to one worker.

    >>> import pickle
    >>> from collections import deque
    >>> from dynhp.executors.pool import Ready, WorkerLoop, build_trainer
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
        """Send a request without waiting; may raise ``OSError`` where the worker is gone.

        Where the transport is not ``remote``, the worker may still be building its trainer.
        """
        ...

    def receive(self) -> Answer | None:
        """The next answer, waiting for it if need be; None for a message of the transport's own.

        Better None than to wait where only a part has come: its worker may have stopped.

        Raises ``EOFError`` or ``OSError`` where the worker is gone and no answer is left.
        """
        ...

    def is_alive(self) -> bool:
        """Whether the worker may still answer; must not wait. True where that is not known."""
        ...

    def close(self) -> None:
        """Say that nothing more will be asked: a worker without work may end by itself."""
        ...

    def end(self, patience: float) -> Lost:
        """End the worker, by force if it has not ended after so many seconds, and say why.

        Called again, or for a worker that is gone already, it changes nothing.
        """
        ...


C = TypeVar("C", bound=Channel)


class Transport(Protocol[C]):
    """Starts workers, waits for their answers, and moves states to them and back.

    >>> import pickle
    >>> from dynhp import DynamicGridAdapter, lowest
    >>> from dynhp.executors.pool import PooledExecutor
    >>> from dynhp.executors.pool.process_transport import ProcessTransport
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
        """What to do where workers cannot start: the end of an error message."""
        ...

    @property
    def remote(self) -> bool:
        """Whether workers may be on other machines, and may have to wait for room there.

        Then jobs are sent only to workers that are ready, a start may take as long as it takes, a
        worker runs ahead at once, and one that is busy when a run ends has a moment to finish,
        because to start another would take longer.
        """
        ...

    def start(self) -> C:
        """Start a worker, without waiting for it."""
        ...

    def wait(self, channels: Sequence[C], seconds: float) -> Collection[C]:
        """Wait up to so many seconds; give the channels with something to receive, or gone."""
        ...

    def pack(self, state: State) -> Any:
        """Pack an origin: each worker that is sent the result can load it, also several of them."""
        ...

    def load(self, packed: Any) -> State:
        """The state that a worker has packed, as the caller's own: it may be written to."""
        ...

    def release(self, packed: Any) -> None:
        """Free what holds a packed state, of this side or of a worker's: it is not needed now."""
        ...

    def release_all(self) -> None:
        """Free all that was packed: the run is over."""
        ...

    def report_slow_start(self, seconds: float) -> None:
        """Warn that a worker has been starting for so many seconds; called once."""
        ...

    def close(self) -> None:
        """Free everything; the workers have ended."""
        ...
