"""Tries in processes of this machine: messages through pipes, large states in shared memory."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from functools import partial
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any, NamedTuple

from dynhp._checks import require_time_limit, require_whole
from dynhp._log import logger
from dynhp.executors.contract import Job, Outcome
from dynhp.executors.factory import pickled, pickled_factory
from dynhp.executors.pool import shared_memory
from dynhp.executors.pool.executor import FixedSetting, PooledExecutor, name_of
from dynhp.executors.pool.pipes import PipeEnd, near_end, wait_for
from dynhp.executors.pool.shared_memory import (
    PackedState,
    Segments,
    WorkerSegments,
    remove_leftovers,
)
from dynhp.executors.pool.transport import Answer, Lost, Packed, Raised, Ready, Request
from dynhp.executors.pool.worker import WorkerLoop, build_trainer
from dynhp.trainer import State, Trainer

LOOK_UP = 1.0  # seconds between two looks whether the main process is still there


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
        retries: how often a try is repeated if its worker dies, before it counts as failed.

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
            partial(ProcessTransport, pickled_factory("Processes", make_trainer)),
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


class Weighed(NamedTuple):
    """A worker's state has pieces of these sizes: which segment do they go into?"""

    sizes: tuple[int, ...]


class Fill(NamedTuple):
    """The segment for the state that was weighed; None: there is no room, so send it in a message.

    Only the main process makes segments, so a worker that is killed leaves none behind.
    """

    segment: str | None


class ProcessChannel:
    """A process, the pipe to it, and the segment that it is filling, if it is."""

    def __init__(self, process: BaseProcess, connection: PipeEnd, segments: Segments) -> None:
        self.process = process
        self.connection = connection
        self._segments = segments
        self._segment: str | None = None

    def send(self, request: Request) -> None:
        """Send a request; what the pipe cannot hold is sent later, while answers are waited for."""
        self.connection.send(request)

    def receive(self) -> Answer | None:
        """The next answer; None: a part of one, or a worker asked for a segment and was sent it."""
        answer: Answer | Weighed | None = self.connection.recv()
        if answer is None:
            return None
        if isinstance(answer, Weighed):
            self._segment = self._segments.make(answer.sizes)
            self.connection.send(Fill(self._segment))
            return None
        if not isinstance(answer, Packed):  # else the segment goes with the state
            self._segments.release(self._segment)
        self._segment = None
        return answer

    def is_alive(self) -> bool:
        """Whether the process is there."""
        return self.process.is_alive()

    def close(self) -> None:
        """Close the pipe: a worker that waits for a request ends."""
        self.connection.close()

    def end(self, patience: float) -> Lost:
        """End the process, by force if it does not end by itself, and say how it ended."""
        self.connection.close()
        self._segments.release(self._segment)
        self.process.join(patience)
        self.process.kill()
        self.process.join()
        code = self.process.exitcode
        return Lost(in_words(code), by_itself=code is None or code >= 0)


class ProcessTransport:
    """Starts a process for each worker, all with a trainer that the pickled factory builds."""

    name = "Processes"
    start_hint = (
        "its own message is above. A script that starts workers needs its code under "
        "if __name__ == '__main__':"
    )
    remote = False

    def __init__(self, factory: bytes) -> None:
        self._factory = factory
        self.segments = Segments()
        remove_leftovers()

    def start(self) -> ProcessChannel:
        """Start a process; it may be sent a request at once."""
        context = multiprocessing.get_context("spawn")
        near, far = context.Pipe()
        # No daemon: a trainer may have processes of its own, for its data.
        process = context.Process(target=work, args=(far, self._factory), name="dynhp-worker")
        process.start()
        far.close()
        return ProcessChannel(process, near_end(near), self.segments)

    def wait(self, channels: Sequence[ProcessChannel], seconds: float) -> list[ProcessChannel]:
        """The channels with something to receive."""
        readable = wait_for([channel.connection for channel in channels], seconds)
        return [channel for channel in channels if channel.connection in readable]

    def pack(self, state: State) -> PackedState:
        """Pack a state, a large one into shared memory."""
        return shared_memory.pack(state, self.segments)

    def load(self, packed: PackedState) -> State:
        """Load a state from copies."""
        return shared_memory.load(packed, self.segments)

    def release(self, packed: PackedState) -> None:
        """Let the memory of a state serve again."""
        self.segments.release(packed.segment)

    def release_all(self) -> None:
        """Let all memory serve again."""
        self.segments.release_all()

    def report_slow_start(self, seconds: float) -> None:
        """Warn through the logger."""
        logger.warning(
            "Processes: make_trainer has been building a trainer in a worker for %g s, and may "
            "take for ever; with time_limit= that would be an error",
            seconds,
        )

    def close(self) -> None:
        """Remove the shared memory."""
        self.segments.clear()


def in_words(code: int | None) -> str:
    """An exit code in words.

    >>> in_words(-9), in_words(3)
    ('it was killed by SIGKILL', 'it ended with exit code 3')
    """
    if code is None or code >= 0:
        return f"it ended with exit code {code}"
    with suppress(ValueError):
        return f"it was killed by {signal.Signals(-code).name}"
    return f"it was killed by signal {-code}"


def work(connection: Connection[Any, Any], factory: bytes) -> None:
    """The main function of a worker's process."""
    # Ctrl-C goes to all processes at the terminal; the main one decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):  # it was held back while this process started
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    # A thread, because a try may take hours, and no one is left to wait for it.
    parent = multiprocessing.parent_process()
    threading.Thread(target=leave_after, args=(parent,), daemon=True).start()
    serve(connection, factory)


def serve(connection: Connection[Any, Any], factory: bytes) -> None:
    """Build the trainer, then answer requests until the other end is closed."""

    def ask_for_segment(sizes: Sequence[int]) -> str | None:
        connection.send(Weighed(tuple(sizes)))
        segment: str | None = connection.recv().segment
        return segment

    segments = WorkerSegments(ask_for_segment)
    with suppress(EOFError, BrokenPipeError, ConnectionResetError), closing(segments):
        try:
            loop = WorkerLoop(
                build_trainer(factory),
                pack=lambda state: shared_memory.pack(state, segments),
                load=lambda packed: shared_memory.load(packed, segments),
                lend=lambda packed, use: shared_memory.lend(packed, segments, use),
            )
        except Exception as error:
            connection.send(Raised.of(error))
            return
        connection.send(Ready())
        while True:
            for answer in loop.answers(connection.recv()):
                connection.send(answer)


def leave_after(
    parent: Any,
    *,
    leave: Callable[[int], object] = os._exit,
    pid: Callable[[], int] = os.getppid,
) -> None:
    """End this process once the main one is gone, whatever it is doing."""
    born_to = pid()
    while parent.is_alive() and pid() == born_to:
        parent.join(LOOK_UP)
    leave(1)
