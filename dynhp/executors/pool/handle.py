"""One worker as the main process sees it: started, asked, listened to, ended."""

from __future__ import annotations

import multiprocessing
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

from dynhp.executors.pool.messages import Answer, Began, Forget, Lost, Pack, Ready, Request, Train
from dynhp.executors.pool.worker import work
from dynhp.rounds.jobs import UNKNOWN_STATE
from dynhp.trainer import State

__all__ = ["PATIENCE", "Lane", "interrupts_held", "start"]

PATIENCE = 5.0
"""The seconds that a worker with nothing to do has to end by itself."""


@dataclass(slots=True, eq=False)
class Lane:
    """A worker, what it was asked last, and what is known of it."""

    process: BaseProcess
    connection: Connection[Request, Answer]
    ready: bool = False
    asked: Request | None = None  # not answered yet
    number: int | None = None  # the job that it carries out, or whose end state was asked for
    epochs: int | None = None  # begun of the job sent last; None: that has not arrived yet
    holds: set[int] = field(default_factory=set)  # jobs whose end states are with it
    aside: bool = False  # some of them outside of its trainer, known here or not any longer
    origin: State = UNKNOWN_STATE  # what it was sent last
    segment: str | None = None  # made for what it was asked
    since: float = field(default_factory=time.monotonic)

    def ask(self, request: Request) -> None:
        """Ask; that nobody is there shows when one listens."""
        self.asked = request
        self.since = time.monotonic()
        if isinstance(request, Train | Pack):
            self.number = request.number
        if isinstance(request, Train):
            self.epochs, self.aside = None, bool(request.wanted)
        self._send(request)

    def forget(self) -> None:
        """None of the states it holds is wanted any longer; no answer is waited for."""
        self.number = None
        self.holds.clear()
        if self.aside:
            self.aside = False
            self._send(Forget())

    def _send(self, request: Request) -> None:
        with suppress(OSError):
            self.connection.send(request)

    def hear(self) -> Answer | Lost:
        """The next answer; wait until there is one."""
        try:
            answer = self.connection.recv()
        except (EOFError, OSError):
            return Lost(self.end(PATIENCE), self.epochs)
        if isinstance(answer, Ready):
            self.ready = True
            self.since = time.monotonic()  # starting is no part of a try
        elif isinstance(answer, Began):
            self.epochs = answer.epochs
        return answer

    def overdue(self, limit: float | None) -> Lost | None:
        """Whether it takes too long, or has died without closing its end (a child may hold it)."""
        if not self.process.is_alive():
            return Lost(self.end(0), self.epochs)
        left = self.left(limit)
        if left is None or left > 0:
            return None
        self.end(0)
        return Lost(f"it took longer than time_limit={limit} s", self.epochs)

    def left(self, limit: float | None) -> float | None:
        """The seconds it still has for what it was asked, None where there is no limit."""
        if limit is None or not self.ready:
            return None
        return self.since + limit - time.monotonic()

    def end(self, patience: float) -> str:
        """End it, by force if it does not end by itself, and tell how it ended."""
        self.connection.close()
        self.process.join(patience)
        self.process.kill()
        self.process.join()
        return told(self.process.exitcode)


def start(factory: bytes) -> Lane:
    """Start a worker; it may be asked at once, and answers when its trainer is built."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    # No daemon: a trainer may have processes of its own, for its data.
    process = context.Process(target=work, args=(theirs, factory), name="dynhp-worker")
    process.start()
    theirs.close()
    return Lane(process, ours)


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Hold Ctrl-C back: a process just started is to be known before anything is broken off."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def told(code: int | None) -> str:
    """An exit code in words.

    >>> told(-9), told(3)
    ('it was killed by SIGKILL', 'it ended with exit code 3')
    """
    if code is None or code >= 0:
        return f"it ended with exit code {code}"
    with suppress(ValueError):
        return f"it was killed by {signal.Signals(-code).name}"
    return f"it was killed by signal {-code}"
