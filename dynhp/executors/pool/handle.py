"""One worker as the main process sees it: what it was asked, and what is known of it."""

from __future__ import annotations

import atexit
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from dynhp.executors.pool.messages import Answer, Began, Forget, Lost, Pack, Ready, Request, Train
from dynhp.executors.pool.transport import Channel
from dynhp.rounds.jobs import UNKNOWN_STATE
from dynhp.trainer import State

__all__ = ["PATIENCE", "WorkerHandle", "call_at_exit", "interrupts_held"]

PATIENCE = 5.0
"""The seconds that a worker with nothing to do has to end by itself."""


@dataclass(slots=True, eq=False)
class WorkerHandle:
    """A worker, the request that it has not answered yet, and the states that are with it."""

    channel: Channel
    ready: bool = False
    request: Request | None = None  # not answered yet
    number: int | None = None  # the job that it carries out, or whose end state was asked for
    epochs: int | None = None  # begun of the job sent last; None: that has not arrived yet
    states: set[int] = field(default_factory=set)  # the jobs whose end states are with it
    sets_aside: bool = False  # some of them outside of its trainer, known here or not any longer
    origin: State = UNKNOWN_STATE  # what it was sent last
    lent: Any | None = None  # an origin that was packed for the job under way alone
    since: float = field(default_factory=time.monotonic)

    def ask(self, request: Train | Pack) -> None:
        """Send a request; that the worker is gone shows when its answer is received."""
        self.request = request
        self.number = request.number
        self.since = time.monotonic()
        if isinstance(request, Train):
            self.epochs, self.sets_aside = None, bool(request.wanted)
        self._send(request)

    def forget(self) -> None:
        """None of its states is wanted any longer; no answer is waited for."""
        self.number = None
        self.states.clear()
        if self.sets_aside:
            self.sets_aside = False
            self._send(Forget())

    def _send(self, request: Request) -> None:
        with suppress(OSError):
            self.channel.send(request)

    def receive(self) -> Answer | Lost | None:
        """The next answer; None for a message that is the transport's own."""
        try:
            answer = self.channel.receive()
        except (EOFError, OSError):
            return self.end(PATIENCE)
        if isinstance(answer, Ready):
            self.ready = True
            self.since = time.monotonic()  # starting is no part of a try
        elif isinstance(answer, Began):
            self.epochs = answer.epochs
        return answer

    def overdue(self, limit: float | None) -> Lost | None:
        """Whether it takes too long, or has died without a sign (a child may hold its pipe)."""
        if not self.channel.is_alive():
            return self.end(0)
        left = self.seconds_left(limit)
        if left is None or left > 0:
            return None
        self.end(0)
        return Lost(f"it took longer than time_limit={limit} s", self.epochs)

    def seconds_left(self, limit: float | None) -> float | None:
        """The seconds it still has for what it was asked, None where there is no limit."""
        if limit is None or not self.ready:
            return None
        return self.since + limit - time.monotonic()

    def end(self, patience: float) -> Lost:
        """End it, by force if it does not end by itself, and say how it ended."""
        return self.channel.end(patience)._replace(epochs=self.epochs)


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Hold Ctrl-C back: a worker just started must be known before anything is interrupted."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def call_at_exit(close: Callable[[], None], *, wanted: bool = True) -> None:
    """Have this called at the end of the program, whatever is interrupted there, or not any more.

    Registered twice, because Ctrl-C may break off the first call before it can ignore that.
    """
    atexit.unregister(_Uninterrupted(close))
    for _ in range(2 if wanted else 0):
        atexit.register(_Uninterrupted(close))


@dataclass(frozen=True, slots=True)
class _Uninterrupted:
    """Calls a function and ignores Ctrl-C meanwhile; it must end by itself."""

    function: Callable[[], None]

    def __call__(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            self.function()  # Ctrl-C goes to the main thread, and only that may ignore it
            return
        # For all threads: a mask would be this one's, and any other might take the signal.
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            self.function()
        finally:
            signal.signal(signal.SIGINT, before or signal.SIG_DFL)  # None: not set by Python
