"""Workers as processes of this machine: messages through pipes, large states in shared memory."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from functools import partial
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any, NamedTuple

from dynhp.executors.pool.messages import Answer, Lost, Packed, Raised, Ready, Request
from dynhp.executors.pool.packing import PackedState, fill, is_small, lend, load, pack, pieces_of
from dynhp.executors.pool.pipes import PipeEnd, near_end, wait_for
from dynhp.executors.pool.segments import Openings, Segments, remove_leftovers
from dynhp.executors.pool.worker import WorkerLoop, build_trainer
from dynhp.trainer import State

__all__ = ["ProcessChannel", "ProcessTransport", "serve", "work"]

LOOK_UP = 1.0  # seconds between two looks whether the main process is still there


class Weighed(NamedTuple):
    """A worker's state has pieces of these sizes: which segment do they go into?"""

    sizes: tuple[int, ...]


class Fill(NamedTuple):
    """The segment for the state that was weighed; None: there is no room, so send it in a message.

    Only the main process makes segments, so that none is left behind when a worker is killed.
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
        return pack(state, self.segments)

    def load(self, packed: PackedState) -> State:
        """Load a state from copies."""
        return load(packed, self.segments.buffer)

    def release(self, packed: PackedState) -> None:
        """Let the memory of a state serve again."""
        self.segments.release(packed.segment)

    def release_all(self) -> None:
        """Let all memory serve again."""
        self.segments.release_all()

    def report_slow_start(self, seconds: float) -> None:
        """Warn through the logger."""
        logging.getLogger("dynhp").warning(
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
    ignore_interrupts()
    # A thread, because a try may take hours, and nothing is left to wait for it.
    parent = multiprocessing.parent_process()
    threading.Thread(target=leave_after, args=(parent,), daemon=True).start()
    serve(connection, factory)


def serve(connection: Connection[Any, Any], factory: bytes) -> None:
    """Build the trainer, then answer requests until the other end is closed."""
    openings = Openings()
    with suppress(EOFError, BrokenPipeError, ConnectionResetError), closing(openings):
        try:
            loop = WorkerLoop(
                build_trainer(factory),
                pack=partial(_pack, connection, openings),
                load=partial(load, buffer=openings.buffer),
                lend=lambda packed, use: lend(packed, openings.buffer, use),
            )
        except Exception as error:
            connection.send(Raised.of(error))
            return
        connection.send(Ready())
        while True:
            for answer in loop.answers(connection.recv()):
                connection.send(answer)


def _pack(connection: Connection[Any, Any], openings: Openings, state: State) -> PackedState:
    """Pack a state: a small one into the message, a large one where the main process says."""
    pieces = pieces_of(state)
    segment = None
    if not is_small(pieces):
        connection.send(Weighed(tuple(piece.nbytes for piece in pieces)))
        segment = connection.recv().segment
    return fill(pieces, segment, openings.buffer)


def ignore_interrupts() -> None:
    """Ctrl-C goes to all processes at the terminal; the main one decides what it means."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):  # it was held back while this process started
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def leave_after(
    parent: Any,
    *,
    leave: Callable[[int], object] = os._exit,
    pid: Callable[[], int] = os.getppid,
    look_up: float = LOOK_UP,
) -> None:
    """End this process once the main one is gone, whatever it is doing."""
    born_to = pid()
    while parent.is_alive() and pid() == born_to:
        parent.join(look_up)
    leave(1)
